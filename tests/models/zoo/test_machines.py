"""Machines of the zoo: what each computes, by plain Python."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import softhat
from softhat.io.errors import SofthatError
from softhat.models.zoo.catalogue import zoo
from softhat.models.zoo.machines import machine_of, machines
from tests.cli.run import softhat as command
from tests.frontends.machines.checks import check_decided, check_run
from tests.slices import every


def made(name: str) -> Any:
    return machines()[name].machine


@pytest.mark.parametrize("name", every(2, machines()))
def test_the_example_is_a_run(name: str) -> None:
    """Tokens, formulas and the interpreter agree, and exactly one token comes next."""
    entry = machines()[name]
    run = check_run(entry.machine, entry.input, 12)
    assert len(run.word) < entry.tokens
    check_decided(entry.machine)


def test_sums() -> None:
    m = made("binary-addition")
    for a, b in product(range(1, 9), range(1, 9)):
        assert int(m.run(f"{a:b}+{b:b}").tapes[2], 2) == a + b


def test_palindromes() -> None:
    m = made("palindromes")
    for n in range(6):
        for word in product("ab", repeat=n):
            assert (m.run(word).state == "yes") == (word == word[::-1])


def test_sorting() -> None:
    m = made("sorting")
    for n in range(5):
        for word in product("123", repeat=n):
            assert m.run(word).tape == "".join(sorted(word))


@pytest.mark.parametrize(("word", "value"), [("34+2*", 4), ("99*1+", 2), ("05-", 5), ("7", 7)])
def test_the_calculator(word: str, value: int) -> None:
    assert made("calculator").run(word).output == (str(value),)


def test_the_collatz_counter() -> None:
    def steps(n: int) -> int:
        return 0 if n == 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)

    for n in (1, 3, 7, 12):
        assert made("collatz").run({"n": n}).counters["steps"] == steps(n)


def test_names() -> None:
    assert machine_of("zoo:bb4") is machine_of("bb4")
    with pytest.raises(SofthatError, match="did you mean"):
        machine_of("zoo:colatz")


def test_no_machine_has_the_name_of_a_language() -> None:
    """`zoo:NAME` and `zoo show NAME` mean one thing."""
    assert not machines().keys() & zoo().keys()
    shown = command("zoo", "show", "parity")
    assert "F (2*#(a) = #*(a))" in shown.out


def test_the_command_lists_and_shows_them() -> None:
    listed = command("zoo", "--family", "machines")
    assert all(name in listed.out for name in machines())
    shown = command("zoo", "show", "parity-automaton")
    assert shown.code == 0
    assert "softhat generate zoo:parity-automaton" in shown.out


def test_the_command_runs_them() -> None:
    pytest.importorskip("transformers")
    done = command("generate", "zoo:parity-automaton", "--check")
    assert done.code == 0, done.err
    assert "accepted: False" in done.out
    assert "every token is the interpreter's" in done.out
    again = command("generate", "zoo:parity-automaton", "abab", "--to", "softhat", "--tokens", "30")
    assert "accepted: True" in again.out
    assert softhat.machine(machines()["parity-automaton"].description).run("abab").accepted  # type: ignore[attr-defined]
