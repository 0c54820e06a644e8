"""Program to weights: every coordinate holds what its name says, and the sinks are there."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.numbers.positions import Named
from softhat.numerics.formats import format_of
from softhat.program.build import build
from softhat.program.draft import Draft
from softhat.program.evaluate import evaluate
from softhat.program.heads import Previous
from softhat.program.registers import Register
from softhat.runtime.dense import Ready
from softhat.runtime.trace import trace
from softhat.transformer.lowering.lower import lower, lowered
from softhat.transformer.weights import BOS, EOS, Attention
from tests.transformer.lowering.suite import formulas, long_words

SUITE = formulas()


@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
@pytest.mark.parametrize("number", range(3, len(SUITE), 30))
def test_coordinates_hold_what_they_say(number: int, attention: Attention) -> None:
    """A bit is exactly the signal's value, at every layer from the one that stores it on."""
    program = build({"out": SUITE[number]}, ("a", "b"), False)
    made = lowered(program, attention)
    ready = Ready(made.transformer, format_of("float64"))
    for word in long_words(25, 2, number):
        held = evaluate(program, word)
        seen = trace(ready, word)
        own = slice(1, len(word) + 1)
        for coordinate, contents in enumerate(made.contents):
            ends = [since for since, _ in contents[1:]] + [len(seen.residual)]
            for (since, key), end in zip(contents, ends, strict=True):
                if not isinstance(key, Register) or key.raw:
                    continue
                for layer in range(since, end):
                    if any(key in cleared for cleared in made.clears[:layer]):
                        break  # taken off: the coordinate is free
                    bits = seen.residual[layer][own, coordinate]
                    assert np.array_equal(bits, held[key.signal].astype(float)), key
                    sinks = np.delete(seen.residual[layer][:, coordinate], own)
                    assert not sinks.any()


@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
def test_there_is_an_end_only_where_something_looks_ahead(attention: Attention) -> None:
    for direction, sinks in (("past", (BOS,)), ("future", (BOS, EOS))):
        draft = Draft("ab")
        head = Previous(draft.token(["a"]), direction)
        program = draft.finish({"out": draft.add(head, "head")})
        assert lower(program, attention).sinks == sinks


def test_positions_are_divided_with_temperature_only() -> None:
    program = build({"out": SUITE[0]}, ("a", "b"), False)
    for attention in ("unbounded", "temperature", "hard"):
        made = lower(program, attention)
        scaled = {f.scaled for f in made.positions if isinstance(f, Named) and f.name in ("i", "r")}
        assert scaled <= {attention == "temperature"}


def test_the_same_program_has_the_same_weights() -> None:
    """Whatever order sets and dictionaries had."""
    for formula in SUITE[::60]:
        program = build({"out": formula}, ("a", "b"), False)
        one, two = lower(program, "unbounded"), lower(program, "unbounded")
        assert one.positions == two.positions and one.coordinates == two.coordinates
        for left, right in zip(one.layers, two.layers, strict=True):
            assert left.labels == right.labels
            for name in ("query", "key", "value", "output", "into", "out"):
                a, b = getattr(left, name), getattr(right, name)
                assert np.array_equal(a.dense(), b.dense())
