"""kill -9 at every file-system event of every command that writes: the old or the new is there,
whole, and after the next run nothing is left of the killed one."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import softhat as package
from softhat.io.errors import SofthatError
from tests.cli.run import softhat
from tests.kills import events, killed_at

AHAT = Path(__file__).resolve().parent.parent / "examples" / "ahat" / "last-token.json"
SLICE = 3
"""Events of each command in `make test`; all of them at full size."""

COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "compile": (
        ["compile", "a S b", "--alphabet", "ab", "-o", "out"],
        ["compile", "b S a", "--alphabet", "ab", "--attention", "temperature", "-o", "out"],
    ),
    "simulate": (
        ["simulate", str(AHAT), "--max-length", "3", "-o", "out"],
        ["simulate", str(AHAT), "--max-length", "4", "-o", "out"],
    ),
    **{
        f"export {to}": (
            ["export", "a S b", "--alphabet", "ab", "--to", to, "-o", out, *more],
            ["export", "b S a", "--alphabet", "ab", "--to", to, "-o", out, *more],
        )
        for to, out, more in (
            ("gpt2", "out", ["--context", "8"]),
            ("torch", "out", []),
            ("huggingface", "out", []),
            ("onnx", "m.onnx", []),
        )
    },
    "trace": (
        ["trace", "a S b", "ab", "-o", "t.json"],
        ["trace", "b S a", "ba", "-o", "t.json"],
    ),
}


def contents(folder: Path) -> dict[str, bytes]:
    """What a reader finds, links followed."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".softhat-" not in str(path.relative_to(folder))
    }


def entries(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def done(arguments: list[str]) -> Callable[[], None]:
    def work() -> None:
        outcome = softhat(*arguments)
        assert outcome.code == 0, outcome.err

    return work


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.full)])
@pytest.mark.parametrize("command", COMMANDS)
def test_old_or_new(
    command: str, whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = (done(arguments) for arguments in COMMANDS[command])
    second()  # what it writes, and its modules loaded before anything is forked
    new, names = contents(tmp_path), entries(tmp_path)
    first()
    old, old_names = contents(tmp_path), entries(tmp_path)
    assert old != new
    total = events(tmp_path, second)
    first()
    chosen = range(total) if whole else sorted(random.Random(0).sample(range(total), SLICE))
    for k in chosen:
        assert killed_at(k, tmp_path, second)
        assert contents(tmp_path) in (old, new), k
        second()
        assert contents(tmp_path) == new and entries(tmp_path) == names, k
        first()
        assert contents(tmp_path) == old and entries(tmp_path) == old_names, k


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_verification_goes_on(
    whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed anywhere, the state is there whole or not at all, and the next run ends the same."""
    monkeypatch.setattr("softhat.models.verification.state.EVERY", 0.0)  # write after each item
    state = tmp_path / "state.json"
    model = package.compile("a S b", alphabet="ab")
    asked = {"exhaustive": 3, "random": 9, "adversarial": 2, "max_length": 20}

    def verify() -> None:
        found = package.verify(model, resume=state, **asked)
        assert found.ok and found.words > 20

    total = events(tmp_path, verify)
    chosen = range(total) if whole else sorted(random.Random(1).sample(range(total), SLICE))
    for k in chosen:
        state.unlink(missing_ok=True)
        assert killed_at(k, tmp_path, verify)
        try:
            verify()
        except SofthatError as error:  # pragma: no cover
            pytest.fail(f"event {k}: {error}")
        assert [path.name for path in tmp_path.iterdir()] == ["state.json"], k


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_corpus_goes_on(whole: bool, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from softhat.circuits.corpus.corpus import make_corpus
    from softhat.circuits.corpus.shards import Settings

    settings = Settings(
        count=4, seed=0, alphabet=("a", "b"), attention="unbounded", family="all",
        smallest=3, largest=5, shard=2,
    )  # fmt: skip
    make_corpus(tmp_path / "straight", settings, jobs=1)
    expected, names = contents(tmp_path / "straight"), entries(tmp_path / "straight")
    place = tmp_path / "killed"
    place.mkdir()  # or making it would be an event of the first run alone

    def work(folder: Path) -> Callable[[], None]:
        return lambda: make_corpus(folder, settings, jobs=1)

    total = events(place, work(place / "c"))
    chosen = range(total) if whole else sorted(random.Random(2).sample(range(total), SLICE))
    for k in chosen:
        folder = place / f"{k}"
        assert killed_at(k, place, work(folder))
        work(folder)()
        assert contents(folder) == expected and entries(folder) == names, k


def test_the_hook_sees_what_is_written(tmp_path: Path) -> None:
    assert events(tmp_path, lambda: (tmp_path / "x").write_text("x")) >= 1
    assert sys.platform
