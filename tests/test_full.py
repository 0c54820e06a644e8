"""What runs the suites at full size: nothing that changed is skipped, nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import full

SLOW = """
import time
from pathlib import Path

def test_slow():
    Path("started").write_text("x")
    time.sleep(600)
"""


def git(folder: Path, *arguments: str) -> None:
    own = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *own, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a module and two files of tests."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "m.py").write_text("x = 1\n")
    (tmp_path / "tests").mkdir()
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / "tests" / name).write_text("def test_it():\n    pass\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    monkeypatch.setattr(full, "ROOT", tmp_path)
    monkeypatch.setattr(full, "RESULTS", tmp_path / "results" / "test-full.json")
    return tmp_path


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are run, in order; all pass."""
    seen: list[str] = []

    def run(name: str) -> dict[str, object]:
        seen.append(name)
        return {"ok": True, "passed": 1, "summary": "1 passed", "seconds": 0.5}

    monkeypatch.setattr(full, "_run", run)
    return seen


def test_what_changed_again_is_run_again(project: Path, runs: list[str]) -> None:
    module = project / "src" / "m.py"
    both = ["tests/test_a.py", "tests/test_b.py"]

    def ran() -> list[str]:
        runs.clear()
        assert full.main([]) == 0
        return list(runs)

    assert ran() == both and ran() == []
    module.write_text("x = 2\n")
    assert ran() == both and ran() == []
    module.write_text("x = 3\n")  # dirty before and after: only what is in the file tells
    assert ran() == both and ran() == []
    (project / "src" / "new.py").write_text("y = 1\n")
    assert ran() == both and ran() == []
    (project / "src" / "new.py").write_text("y = 2\n")
    assert ran() == both and ran() == []
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "second")
    assert ran() == both and ran() == []


def test_a_failure_is_run_again_and_the_rest_is_kept(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def run(name: str) -> dict[str, object]:
        seen.append(name)
        if name.endswith("a.py") and len(seen) == 2:
            raise KeyboardInterrupt
        return {"ok": name.endswith("b.py"), "passed": 0, "summary": "", "seconds": 0.0}

    monkeypatch.setattr(full, "_run", run)
    assert full.main(["tests/test_b.py"]) == 0 and seen == ["tests/test_b.py"]
    with pytest.raises(KeyboardInterrupt):
        full.main([])
    assert list(json.loads(full.RESULTS.read_text())) == ["tests/test_b.py"]
    assert full.main([]) == 1 and full.main([]) == 1
    assert seen == ["tests/test_b.py", *["tests/test_a.py"] * 3]
    (project / "tests" / "test_a.py").unlink()
    (project / "tests" / "test_c.py").write_text("")
    full.main([])
    assert sorted(json.loads(full.RESULTS.read_text())) == ["tests/test_b.py", "tests/test_c.py"]


def test_files_are_really_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "tests" / "test_b.py").write_text("def test_it():\n    assert False\n")
    (project / "tests" / "test_c.py").write_text(SLOW)
    monkeypatch.setattr(
        full, "_COMMAND", [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    )
    monkeypatch.setattr(full, "LONGEST", 20.0)
    assert full.main(["tests/test_a.py", "tests/test_b.py"]) == 1
    monkeypatch.setattr(full, "LONGEST", 1.5)
    assert full.main(["tests/test_c.py"]) == 1
    results = json.loads(full.RESULTS.read_text())
    assert [results[f"tests/test_{x}.py"]["ok"] for x in "abc"] == [True, False, False]
    assert results["tests/test_a.py"]["passed"] == 1
    assert len(results["tests/test_a.py"]["commit"]) >= 40
    assert results["tests/test_c.py"]["summary"] == "stopped after 2 s"
