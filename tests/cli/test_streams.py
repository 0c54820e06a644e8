"""Closed, full and broken streams, and what goes wrong inside: never exit code 1, no traceback."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from softhat.cli.output import visible
from tests.cli.run import softhat
from tests.slices import every

MAIN = [sys.executable, "-c", "from softhat.cli import main; main()"]
RIGHT = ["certify", "a S b", "--alphabet", "ab"]
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")


def shell(arguments: list[str], redirect: str) -> tuple[int, str, str]:
    line = f'"$@" {redirect}'
    done = subprocess.run(
        ["bash", "-c", line, "bash", *MAIN, *arguments], capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


@full
@pytest.mark.parametrize(
    ("arguments", "redirect", "code"),
    every(
        3,
        [
            (RIGHT, ">&-", 0),
            (RIGHT, "2>&-", 0),
            (RIGHT, "<&- >&- 2>&-", 0),
            (RIGHT, ">/dev/full", 2),
            (RIGHT, "2>/dev/full", 0),
            (["check", "a S"], ">&-", 2),
            (["check", "a S"], "2>&-", 2),
            (["check", "a S"], "2>/dev/full", 2),
            (["check", "-"], "<&-", 2),
            (["run", "--nothing"], "2>/dev/full", 2),
        ],
    ),
)
def test_streams_that_are_closed_or_full(arguments: list[str], redirect: str, code: int) -> None:
    found, _, err = shell(arguments, redirect)
    assert found == code and "Traceback" not in err and "Exception" not in err


@pytest.mark.parametrize(
    "arguments", every(3, [RIGHT, ["--help"], ["zoo"], [], ["verify", "--help"]])
)
def test_a_reader_that_leaves(arguments: list[str]) -> None:
    code, _, err = shell(arguments, "| true; exit ${PIPESTATUS[0]}")
    assert code == 0 and not err


def test_a_verdict_survives_a_reader_that_leaves(tmp_path: Path) -> None:
    assert softhat("compile", "a S b", "--alphabet", "ab", "-o", str(tmp_path / "m")).code == 0
    (tmp_path / "m" / "formula.txt").write_text("output: a S a\n")
    code, _, _ = shell(["certify", str(tmp_path / "m")], "| true; exit ${PIPESTATUS[0]}")
    assert code == 1


def test_an_unexpected_error_is_one_line_and_not_a_verdict() -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("surprise\x1b[31m")

    with mock.patch("softhat.cli.check.describe", broken):
        done = softhat("check", "a")
    assert done.code == 2 and done.err.startswith("internal error: KeyError")
    assert done.err.count("\n") == 1 and "\x1b" not in done.err


@pytest.mark.parametrize("command", ["check", "run"])
def test_an_interrupt_is_one_line_that_says_what_was_written(command: str) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with (
        mock.patch("softhat.cli.check.describe", stopped),
        mock.patch("softhat.cli.run.read_model_and_words", stopped),
    ):
        done = softhat(command, "a", *(["ab"] if command == "run" else []))
    said = {"check": "nothing was written", "run": "what was written so far is whole"}[command]
    assert (done.code, done.out, done.err) == (130, "", f"interrupted: {said}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "\x1b[31m"],
        ["check", "@no\x1b[31m\x07file"],
        ["run", "a", "\x1b]0;title\x07"],
        ["eval", "'\\x1b' S a", "a\x1ba"],
        ["compile", "a", "--name", "\x1b[2J", "--alphabet", "a"],
        ["nothing\x1b[31m"],
        ["run", "--\x1b[31m"],
        ["verify", "a", "-j", "\x1b[31m"],
        ["trace", "'\\x1b'", "\x1b", "--alphabet", "\x1bab"],
        ["certify", "'\\x9b' S '\\u202e'"],
        ["run", "no\x1b[31m/folder", "a"],
        ["analyze", "no\x1b[31m.json"],
    ],
)
def test_control_characters_never_reach_a_terminal(arguments: list[str]) -> None:
    done = softhat(*arguments)
    shown = (done.out + done.err).replace("\n", "")
    assert shown.isprintable(), ascii(shown)
    assert "internal error" not in done.err


def test_what_is_shown() -> None:
    assert visible("a λ → ¬b\n") == "a λ → ¬b\n"
    assert visible("\x1b[31m\x9b\u202e\ud800\t") == r"\x1b[31m\x9b\u202e\ud800\t"


def test_commands_print_through_one_module() -> None:
    """`print` would let control characters through, and fail on a closed stream."""
    here = Path(__file__).resolve().parent.parent.parent / "src" / "softhat" / "cli"
    for path in here.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        names = {function.id for function in calls if isinstance(function, ast.Name)}
        assert "print" not in names, path.name
