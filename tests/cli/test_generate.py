"""`softhat generate`: runs, refusals, one line for what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("transformers")
BEAVER = "1RB1LB_1LA1RZ"


def softhat(*arguments: str) -> subprocess.CompletedProcess[str]:
    call = "import sys; from softhat.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", call, *arguments], capture_output=True, text=True, check=False
    )


def test_a_run_is_checked() -> None:
    done = softhat("generate", BEAVER, "--space", "16", "--tokens", "20", "--check", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["steps"], said["halted"], said["tapes"]) == (6, True, ["1111"])
    assert said["checked"]
    assert said["tokens"][-1] == "<eos>"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((BEAVER, "012"), "none of the tape's"),
        (("nonsense",), "is no instruction"),
        (("@/nowhere/machine.json",), "nowhere"),
        (("l: inc a l", "a=x"), "is no counter's value"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = softhat("generate", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.strip().count("\n") == 0
