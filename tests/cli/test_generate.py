"""`softhat generate`: runs, refusals, one line for what is wrong."""

from __future__ import annotations

import json

import pytest

from tests.cli.run import softhat

pytest.importorskip("transformers")
BEAVER = "1RB1LB_1LA1RZ"


def test_a_run_is_checked() -> None:
    done = softhat("generate", BEAVER, "--space", "16", "--tokens", "20", "--check", "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert (said["steps"], said["halted"], said["tapes"]) == (6, True, ["1111"])
    assert said["checked"]
    assert said["tokens"][-1] == "<eos>"


def test_a_machine_given_as_json() -> None:
    ring = '{"kind": "cellular", "rule": 110, "width": 4}'
    done = softhat("generate", ring, "0001", "--tokens", "12", "--check", "--dtype", "bfloat16")
    assert done.code == 0, done.err
    assert "0001\n0011\n0111\n" in done.out
    assert "every token is the interpreter's" in done.out


def test_beyond_the_certificate_it_refuses() -> None:
    ring = '{"kind": "cellular", "rule": 110, "width": 4}'
    how = ("--tokens", "12", "--dtype", "bfloat16", "--positions", "rope")
    done = softhat("generate", ring, "0001", *how)
    assert (done.code, done.out) == (2, "")
    assert "certified to 0 tokens" in done.err
    assert softhat("generate", ring, "0001", *how, "--beyond").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((BEAVER, "012"), "none of the tape's"),
        (("nonsense",), "is no instruction"),
        (("@/nowhere/machine.json",), "nowhere"),
        (("l: inc a l", "a=x"), "is no counter's value"),
        (('{"kind": "nonsense"}',), "unknown kind"),
        (('{"kind": "automaton", "regex": "a*"}', "ab"), "none of the machine's"),
        (('{"kind": ',), "MACHINE"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = softhat("generate", *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.strip().count("\n") == 0
