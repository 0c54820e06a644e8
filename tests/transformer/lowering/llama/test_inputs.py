"""Predicates of the position as conjunctions of its digits, and programs without positions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softhat
from softhat import SofthatError
from softhat.program.heads import Previous, Sign
from softhat.program.inputs import FirstPosition
from softhat.transformer.lowering.llama.inputs import (
    MOST_TERMS,
    conjunctions,
    within,
    without_positions,
)


def met(terms: list[tuple[tuple[int, bool], ...]], i: int) -> int:
    """How many of the conjunctions hold at position i."""
    return sum(all((i >> b & 1 == 1) == one for b, one in term) for term in terms)


@given(st.lists(st.booleans(), min_size=2, max_size=70))
def test_exactly_one_conjunction_holds_where_the_predicate_does(holds: list[bool]) -> None:
    terms = conjunctions(np.array(holds), "p")
    assert [met(terms, i) for i in range(1, len(holds))] == [int(h) for h in holds[1:]]


def test_powers_of_two_are_cheap() -> None:
    index = np.arange(1024)
    assert len(conjunctions(index % 8 == 5, "mod(8, 5)")) == 1
    assert len(conjunctions(index >= 300, "i >= 300")) <= 10
    assert len(conjunctions(index == 1, "first")) == 1


def test_too_many_conjunctions_are_refused() -> None:
    holds = np.random.default_rng(0).random(1 << 16) < 0.5
    with pytest.raises(SofthatError, match=f"more than {MOST_TERMS:,}: choose a smaller context"):
        conjunctions(holds, "at(p)")


def test_first_and_comparisons_of_i_become_heads() -> None:
    model = softhat.compile("first & a | i >= 5", "ab")
    program = without_positions(model.program)
    assert not any(isinstance(signal, FirstPosition) for signal in program.signals)
    assert any(isinstance(signal, Previous) for signal in program.signals)
    signs = [signal for signal in program.signals if isinstance(signal, Sign)]
    assert signs and all(sign.past is not None for sign in signs)


def test_what_no_word_reaches_needs_no_large_constant() -> None:
    for text, changes in (
        ("#(a) > 100000", True),
        ("#(a) < 10000000000000", True),
        ("3*#(a) - i >= 500", True),
        ("3*#(a) - i >= 126", False),
        ("#(a) >= 0", True),
        ("#(a) - #(b) >= -63", True),
        ("#(a) - #(b) >= -62", False),
    ):
        program = without_positions(softhat.compile(text, "ab").program)
        found = within(program, 64)
        signs = [signal for signal in found.signals if isinstance(signal, Sign)]
        small = all(signal.threshold in (0, 1) for signal in signs)
        assert small == changes, text
