"""`softhat corpus` from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MAIN = "from softhat.cli import main; main()"


def softhat(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", MAIN, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_writes_a_corpus_and_says_so_in_json(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = str(tmp_path / "c")
    done = softhat("corpus", "--count", "5", "-j", "1", "-o", folder, "--family", "past", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["models"] == 5
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--family", "odd"], "unknown family 'odd'"),
        (["--alphabet", "abcdefghi"], "too many to compare"),
        (["-j", "-1"], "--jobs is a number of processes"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = softhat("corpus", "-o", str(tmp_path / "c"), *arguments)
    assert done.returncode == 2
    assert message in done.stderr and done.stderr.count("\n") == 1
