"""Counter machines: texts, runs by arithmetic, formulas against the interpreter, errors."""

from __future__ import annotations

from typing import cast

import pytest

import softhat
from softhat.frontends.machines.counter import CounterMachine
from softhat.frontends.machines.machine import EOS
from softhat.io.errors import SofthatError
from softhat.logic.semantics.empty import at_empty_prefix
from tests.frontends.machines.collection import ADD, CASES, MULTIPLY, PRIME, Case
from tests.slices import every


def counter(text: str) -> CounterMachine:
    return cast(CounterMachine, softhat.machine(text))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_runs_end_as_arithmetic_says(case: Case) -> None:
    run = counter(case.text).run(case.input)
    assert run.halted
    assert {name: run.counters[name] for name in case.counters} == case.counters


@pytest.mark.parametrize("n", every(3, range(20)))
def test_primes(n: int) -> None:
    wanted = n > 1 and all(n % d for d in range(2, n))
    assert counter(PRIME).run({"n": n}).counters["prime"] == wanted


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_formula_of_the_next_token_alone_holds(case: Case) -> None:
    m = counter(case.text)
    word = m.run(case.input, max_steps=300).word[:300]
    symbols = [token for token in word if token != EOS]
    truth = {name: formula.truth(symbols) for name, formula in m.formulas.items()}
    begin = len(m.prompt(case.input)) - 1
    for at in range(begin, len(word) - 1):
        assert [name for name in truth if truth[name][at]] == [word[at + 1]]


def test_before_the_first_token_a_run_ends() -> None:
    m = counter(ADD)
    assert [name for name, f in m.formulas.items() if at_empty_prefix(f)] == [EOS]


def test_decoding_is_the_inverse_of_running() -> None:
    m = counter(MULTIPLY)
    run = m.run({"a": 3, "b": 2})
    assert m.decode(run.word) == run
    assert m.decode(["<bos>", *run.word]) == run
    assert m.decode(" ".join(run.word)) == run
    cut = m.decode(run.word[:20])
    assert not cut.halted
    assert cut.steps == 20 - len(run.prompt)


def test_what_never_halts_stops_at_max_steps() -> None:
    run = counter("l: inc a l").run({}, max_steps=50)
    assert (run.steps, run.halted, run.counters) == (50, False, {"a": 50})


def test_a_description_is_the_machine() -> None:
    m = counter(MULTIPLY)
    assert softhat.machine(m.to_json()) == m


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "without instructions"),
        ("l: inc a m", "no instruction 'm' to go to"),
        ("l: inc a l\nl: halt", "stands twice"),
        ("l: add a l", "is no instruction"),
        ("l: dec a l", "is no instruction"),
        ("l inc a l", "is no instruction"),
        ("l: inc a-b l", "is no name"),
    ],
)
def test_bad_texts(text: str, said: str) -> None:
    with pytest.raises(SofthatError, match=said) as caught:
        softhat.machine({"kind": "counter", "program": text.splitlines()})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"z": 1}, "no counter 'z'"),
        ({"a": -1}, "whole number"),
        ({"a": 1.5}, "whole number"),
        ("aab", "dictionary"),
        ({"a": 10**9}, "as many tokens"),
    ],
)
def test_bad_inputs(given: object, said: str) -> None:
    with pytest.raises(SofthatError, match=said):
        counter(ADD).run(given)


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["+a", "nonsense"], "no token of this machine"),
        (["+a"], "no 'go'"),
        (["go", "+a"], "a prompt is"),
        (["l-b", "go"], "a prompt is"),
    ],
)
def test_tokens_that_are_no_run(tokens: list[str], said: str) -> None:
    with pytest.raises(SofthatError, match=said):
        counter(ADD).decode(tokens)
