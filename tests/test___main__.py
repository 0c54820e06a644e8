"""`python -m softhat` is the command `softhat`."""

from __future__ import annotations

import subprocess
import sys


def _module(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "softhat", *arguments], capture_output=True, text=True, check=False
    )


def test_the_module_runs_the_command() -> None:
    answer = _module("eval", "!c S a", "bacb", "--alphabet", "abc")
    assert answer.returncode == 0, answer.stderr
    assert ". 1 . ." in answer.stdout


def test_a_mistake_is_one_line_and_exit_code_2() -> None:
    answer = _module("chek")
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
    assert "did you mean 'check'" in answer.stderr.lower()
