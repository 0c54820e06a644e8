"""An option that has no effect on what was given is refused, even if it says the default."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from softhat.cli.written_options import is_given
from tests.cli.run import softhat

ROOT = Path(__file__).resolve().parent.parent.parent
AHAT = ROOT / "examples" / "ahat" / "last-token.json"
TRAINED = str(ROOT / "tests" / "trained" / "models" / "nonempty")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("given")
    model = str(folder / "model")
    assert softhat("compile", "!c S a", "--alphabet", "abc", "-o", model).code == 0
    assert softhat("export", model, "--to", "torch", "-o", str(folder / "export")).code == 0
    simulation = str(folder / "simulation")
    assert softhat("simulate", str(AHAT), "--max-length", "3", "-o", simulation).code == 0
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ["certify", "model", "--attention", "unbounded"],
        ["certify", "model", "--props"],
        ["certify", "model", "--out", "x.v"],
        ["certify", "model", "--json", "--explain"],
        ["certify", "export", "--alphabet", "abc"],
        ["run", "model", "ab", "--attention", "hard"],
        ["run", "model", "{a}", "--props"],
        ["run", "my.json", "ab", "--dtype", "float32"],
        ["run", "my.json", "ab", "--strict"],
        ["run", "zoo:rasp-reverse@4", "ab", "--at", "last"],
        ["run", "zoo:rasp-reverse@4", "ab", "--output", "x"],
        ["run", "model", "@words", "--stream", "--runtime", "auto"],
        ["trace", "my.json", "ab", "--attention", "unbounded"],
        ["trace", "model", "ab", "--json", "--format", "text"],
        ["state", "model", "--json", "--latex"],
        ["compare", "a S b", "--json", "--format", "text"],
        ["check", "a S b", "--depth", "constant"],
        ["check", "--regex", "a*", "--depth", "log", "--mod"],
        ["verify", "simulation", "--adversarial", "100"],
        ["verify", "simulation", "--runtime", "linear"],
        ["verify", "export", "--runtime", "linear"],
        ["verify", "export", "--attention", "unbounded"],
        ["simulate", "my.json", "-o", "x.v", "--coq", "--max-length", "3"],
        ["simulate", "my.json", "-o", "x", "--decide", "--epsilon", "0.001"],
        ["analyze", "my.json", "--words", "ab", "--up-to", "8"],
        ["zoo", "show", "parity", "--family", "parity"],
        ["exam", "list", "--only", "level-1"],
        ["exam", "list", "all"],
        ["corpus", "extract", "c", "0", "-o", "x", "--seed", "0"],
        ["corpus", "-o", "x", "--context", "1024"],
        ["export", "model", "--to", "torch", "--context", "1024", "-o", "x"],
        ["prove", TRAINED, "--alphabet", "ab"],
        ["prove", TRAINED, "--regex", "a*", "--alphabet", "ab", "--empty"],
        ["prove", TRAINED, "--formula", "nofolder"],
    ],
    ids=" ".join,
)
def test_what_has_no_effect_is_refused(
    folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    for name in ("model", "export", "simulation"):
        (tmp_path / name).symlink_to(folders / name)
    shutil.copy(AHAT, tmp_path / "my.json")
    (tmp_path / "words").write_text("ab\n")
    monkeypatch.chdir(tmp_path)
    done = softhat(*arguments)
    assert done.code == 2 and not done.out, done
    assert done.err.startswith("error: ") and done.err.count("\n") == 1, done.err
    assert not any(Path(name).exists() for name in ("x", "x.v"))


def test_nothing_is_given_outside_of_a_command() -> None:
    assert softhat("check", "a S b", "--alphabet", "ab").code == 0
    assert not is_given("--alphabet")


def test_ctrl_c_before_the_command_begins_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the line is read: typer ends without a word there."""

    def interrupted(self: object, context: object, arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("softhat.cli.front_ends.FormulaCommand.parse_args", interrupted)
    done = softhat("check", "a S b")
    assert done.code == 130 and not done.out
    assert done.err == "interrupted: nothing was written\n"
