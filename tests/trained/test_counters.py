"""Machines with a counter, against languages by their definitions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

import softhat
from softhat.trained.counters import Word, counters, unrolled

A, B, BOS, EOS = 0, 1, 2, 3


def dyck(word: Word) -> frozenset[int] | None:
    """Brackets of any depth: what follows a word."""
    depth = 0
    for symbol in word:
        depth += 1 if symbol == A else -1
        if depth < 0:
            return None
    return frozenset([A, B] if depth else [A, EOS])


def twice(word: Word) -> frozenset[int] | None:
    """At least twice as many a as b, and no more b than that before: what follows a word."""
    left = 0
    for symbol in word:
        left += 1 if symbol == A else -2
        if left < 0:
            return None
    return frozenset([A, EOS] + [B] * (left >= 2))


@pytest.mark.parametrize(("follows", "weights"), [(dyck, (1, -1)), (twice, (1, -2))])
def test_a_counter_is_found(
    follows: Callable[[Word], frozenset[int] | None], weights: tuple[int, ...]
) -> None:
    for machine in counters(("a", "b"), follows, 40):
        spec = unrolled(machine, (A, B), BOS, EOS, 12)
        if machine.weights == weights and spec is not None:
            break
    else:
        pytest.fail("no such counter")
    formula = machine.formula(EOS)
    assert formula is not None
    for n in range(11):
        for word in product((A, B), repeat=n):
            states, expected = spec.run(word), follows(word)
            assert (len(states) == n + 1) == (expected is not None)
            if expected is not None:
                assert spec.allowed[states[-1]] == expected
            if n:
                good = expected is not None and EOS in expected
                assert formula.accepts("".join("ab"[k] for k in word)) == good


def test_a_counting_export_becomes_its_formula(tmp_path: Path) -> None:
    softhat.to_gpt2(softhat.compile("#(a) > 2*#(b)", alphabet="ab"), tmp_path / "m", context=16)
    machine, verdict = softhat.decompile(tmp_path / "m", "ab", max_length=12, budget=2)
    assert machine["counter"] == {"a": 1, "b": -2} and verdict.status != "refuted"
    assert softhat.equivalent("#(a) > 2*#(b)", machine["formula"], alphabet="ab", up_to=9) is None


def test_too_many_symbols_for_a_counter() -> None:
    assert list(counters(tuple("abcde"), lambda word: frozenset([0]), 10)) == []
