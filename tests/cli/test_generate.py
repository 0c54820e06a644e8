"""`softhat generate`: runs, refusals, one line for what is wrong."""

from __future__ import annotations

import json

import pytest

from tests.cli.run import softhat

pytest.importorskip("transformers")
BEAVER = "1RB1LB_1LA1RZ"
TWO_ENTRIES = json.dumps(
    {
        "kind": "turing",
        "symbols": "_1",
        "transitions": [["a", "", "a", "1", "R"], ["a", "1", "a", "_", "R"]],
    }
)
TWO_EDGES = json.dumps(
    {"kind": "automaton", "transitions": [["e", "a", "o"], ["e", "a", "e"]], "accept": ["e"]}
)


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
        (("nonsense",), "is no machine"),
        (("@/nowhere/machine.json",), "nowhere"),
        (("l: inc a l", "a=x"), "is no counter's value"),
        (('{"kind": "nonsense"}',), "unknown kind"),
        (('{"kind": "automaton", "regex": "a*"}', "ab"), "none of the machine's"),
        (('{"kind": ',), "not JSON"),
        (("",), "is no machine"),
        (("l: inc a l", ""), "is no counter's value"),
        (("l: inc a l", "z=1"), "no counter 'z'"),
        (("l: inc a l\nl: halt",), "stands twice"),
        (('{"kind": "cellular", "rule": 110, "width": 8}', ""), "a row has 8 cells, not 0"),
        ((TWO_ENTRIES, "1"), "must be deterministic"),
        ((TWO_EDGES, "a"), "must be deterministic"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = softhat("generate", *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.strip().count("\n") == 0


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        ("1RB1RB_1LA1LA", "19 steps, did not halt within these tokens"),
        ("1RB1RB_1RA1RA", "left its space"),
        ("l: inc a l", "19 steps, did not halt within these tokens"),
        ('{"kind": "stack", "program": {"go": ["push", "a", "go"]}}', "left its space"),
    ],
)
def test_what_never_halts_is_run_to_the_last_token_and_checked(machine: str, said: str) -> None:
    done = softhat("generate", machine, "--space", "8", "--tokens", "20", "--check")
    assert done.code == 0, done.err
    assert said in done.out
    assert "every token is the interpreter's" in done.out
