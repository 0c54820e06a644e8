"""Turing machines: texts, dictionaries, runs against a simulator of a few lines, errors."""

from __future__ import annotations

import random
from itertools import product
from typing import Any, cast

import pytest

import softhat
from softhat.frontends.machines.machine import EOS
from softhat.frontends.machines.turing import TuringMachine
from softhat.io.errors import SofthatError
from softhat.models.zoo.machines import machines
from tests.frontends.machines.checks import check_decided, check_run

BEAVERS = {"1RB1LB_1LA1RZ": (6, 4), "1RB1LB_1LA0LC_1RZ1LD_1RD0RA": (107, 13)}
"""Steps and ones of the two- and four-state champions, as published."""


def turing(given: Any, space: int = 32) -> TuringMachine:
    return cast(TuringMachine, softhat.machine(given, space=space))


def simulated(m: TuringMachine, word: str, most: int) -> tuple[int, list[str], bool]:
    """By the definition, with sets of cells: steps, tapes, halted."""
    cells: list[dict[int, str]] = [dict(enumerate(word)), *({} for _ in range(m.tapes - 1))]
    table = {(q, r): a for q, r, a in m.table}
    where, state, steps = [0] * m.tapes, m.start, 0
    while steps < most:
        read = tuple(cells[t].get(where[t], m.symbols[0]) for t in range(m.tapes))
        if (state, read) not in table:
            break
        action = table[state, read]
        state, steps = action.next, steps + 1
        for t in range(m.tapes):
            cells[t][where[t]] = action.write[t]
            where[t] += {"L": -1, "S": 0, "R": 1}[action.move[t]]
            where[t] = max(where[t], 0) if m.one_sided else where[t]
    shown = []
    for tape in cells:
        used = [c for c, s in tape.items() if s != m.symbols[0]]
        ends = range(min(used), max(used) + 1) if used else range(0)
        shown.append("".join(tape.get(c, m.symbols[0]) for c in ends))
    read = tuple(cells[t].get(where[t], m.symbols[0]) for t in range(m.tapes))
    return steps, shown, (state, read) not in table


def random_machine(rng: random.Random) -> dict[str, Any]:
    tapes = rng.choice([1, 1, 2, 3])
    symbols = "_abc"[: rng.randint(2, 4 if tapes < 3 else 3)]
    states = rng.randint(2, 4)
    moves = rng.choice(["LR", "LRS"])
    transitions = [
        [
            f"q{q}",
            list(read),
            f"q{rng.randrange(states)}" if rng.random() < 0.95 else "h",
            [rng.choice(symbols) for _ in read],
            [rng.choice(moves) for _ in read],
        ]
        for q in range(states)
        for read in product(symbols, repeat=tapes)
        if rng.random() < 0.93
    ]
    return {
        "kind": "turing", "tapes": tapes, "symbols": list(symbols), "start": "q0", "halt": ["h"],
        "transitions": transitions, "space": 64, "one_sided": rng.random() < 0.5,
    }  # fmt: skip


@pytest.mark.parametrize("text", BEAVERS)
def test_busy_beavers(text: str) -> None:
    run = turing(text).run()
    assert run.halted
    assert (run.steps, run.tape.count("1")) == BEAVERS[text]


@pytest.mark.parametrize("seed", range(6))
def test_random_machines(seed: int) -> None:
    """Runs, formulas, tokens read back, and exactly one token after every history."""
    rng = random.Random(seed)
    given = random_machine(rng)
    m = turing(given)
    word = "".join(rng.choice(m.symbols) for _ in range(rng.randint(0, 5)))
    run = m.run(word, max_steps=25)
    steps, tapes, halted = simulated(m, word, 25)
    assert (run.steps, list(run.tapes), run.halted) == (steps, tapes, halted)
    check_run(m, word, 25)
    junk = [rng.choice(m.tokens) for _ in range(30)]
    allowed = [formula.truth(junk) for formula in m.formulas.values()]
    assert all(sum(map(int, column)) == 1 for column in zip(*allowed, strict=True))
    check_decided(m)


def test_a_head_that_leaves_its_space_says_so() -> None:
    run = turing("1RA1RA", space=8).run(max_steps=100)
    assert run.full
    assert not run.halted
    assert run.word[-2:] == ("full", EOS)


def test_input_words() -> None:
    copy = {
        "kind": "turing",
        "blank": "_",
        "transitions": [["s", "a", "s", "b", "R"], ["s", "b", "s", "a", "R"]],
    }
    run = turing(copy).run("abba")
    assert (run.tape, run.steps, run.halted) == ("baab", 4, True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("1RB1LB_1LA", "different lengths"),
        ({"kind": "turing", "blank": "_"}, "needs transitions"),
        ({"kind": "turing", "transitions": [["a", "0", "b", "1", "R"]]}, "blank"),
        ({"kind": "turing", "tapes": 4, "transitions": []}, "one to three tapes"),
        ({"kind": "turing", "blank": "_", "transitions": [["a", "0", "b", "1", "X"]]}, "a move is"),
        ({"kind": "turing", "blank": "_", "transitions": [["a", "0", "b"]]}, "write \\[state"),
        (
            {
                "kind": "turing",
                "blank": "_",
                "transitions": [["a", "0", "b", "1", "R"], ["a", "0", "b", "1", "L"]],
            },
            "deterministic",
        ),
        (
            {"kind": "turing", "symbols": ["_"], "transitions": [["a", "0", "b", "1", "R"]]},
            "none of the tape's",
        ),
        ({"kind": "nonsense"}, "unknown kind"),
        ({"kind": ["turing"]}, "unknown kind"),
        (3, "a text or a dictionary"),
    ],
)
def test_bad_machines(given: Any, said: str) -> None:
    with pytest.raises(SofthatError, match=said) as caught:
        softhat.machine(given)
    assert "\n" not in str(caught.value)


def test_bad_inputs() -> None:
    m = turing("1RB1LB_1LA1RZ", space=8)
    with pytest.raises(SofthatError, match="none of the tape's"):
        m.prompt("012")
    with pytest.raises(SofthatError, match="leaves the window"):
        m.prompt("01010")
    with pytest.raises(SofthatError, match="space"):
        softhat.machine("1RB1LB_1LA1RZ", space=3)


@pytest.mark.parametrize("name", sorted(machines()))
def test_what_is_no_input_and_no_token_is_one_line(name: str) -> None:
    """Of every kind of machine."""
    m = machines()[name].machine
    for call in (m.prompt, m.run, m.decode):
        for given in (5, b"ab", ["no such symbol"]):
            with pytest.raises(SofthatError) as caught:
                call(given)
            assert "\n" not in str(caught.value)
