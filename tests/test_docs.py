"""The README and the docs are true: their Python blocks run, their commands succeed, their links
lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import softhat

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    code = "\n".join(blocks(page, "python"))
    if not code:
        pytest.skip("no Python on this page")
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=300)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_succeed(page: Path, tmp_path: Path) -> None:
    lines = "\n".join(blocks(page, "console")).splitlines()
    commands = [line[2:] for line in lines if line.startswith("$ ")]
    if not commands:
        pytest.skip("no commands on this page")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in commands:
        assert shlex.split(command)[0] == "softhat", command
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_headline_is_true() -> None:
    found = re.search(
        r"by (\d+) layers and (\d+) parameters .*?([\d.]+) million symbols in float32: `([^`]+)`",
        (ROOT / "README.md").read_text(),
        re.DOTALL,
    )
    assert found is not None
    model = softhat.compile(found[4], alphabet="ab")
    assert (model.size.layers, model.size.parameters) == (int(found[1]), int(found[2]))
    proved = model.certificate.max_length["float32"]
    assert 0 <= proved - float(found[3]) * 1e6 < 1e5


def test_the_table_of_certified_lengths_is_true() -> None:
    page = (ROOT / "docs" / "certificates.md").read_text()
    examples = {
        "`S O H T` and their mirror images, any depth": ("a S b", "O (a & O b)", "a U b"),
        "`Y Z X N`": ("Y a", "X a"),
    }
    row = re.compile(r"^\| (`[^|]+?) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)
    rows = row.findall(page)
    assert len(rows) >= 4
    for said, *lengths in rows:
        stated = [int(length.replace(",", "")) for length in lengths]
        for text in examples.get(said, (said.strip("`"),)):
            proved = softhat.compile(text, alphabet="abc").certificate.max_length
            assert [proved[d] for d in ("bfloat16", "float16", "float32")] == stated, text
