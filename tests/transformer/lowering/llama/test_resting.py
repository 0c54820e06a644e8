"""Bits that rule out keys rest where they do not, and say what they said."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

import softhat
from softhat.program.heads import Latest
from softhat.program.literals import Literal
from softhat.program.schedule import MOST_TERMS, Cover, schedule
from softhat.program.strict import spelled_out
from softhat.transformer.lowering.llama.resting import negated, rested

LITERALS = st.builds(Literal, st.integers(0, 4), st.booleans())


def held(terms: object, values: tuple[bool, ...]) -> int:
    """How many conjunctions hold."""
    assert isinstance(terms, tuple)
    return sum(all(values[lit.signal] == lit.positive for lit in term) for term in terms)


@given(st.lists(st.lists(LITERALS, min_size=1, max_size=4).map(tuple), max_size=4).map(tuple))
def test_exactly_one_term_holds_where_none_did(terms: tuple[tuple[Literal, ...], ...]) -> None:
    found = negated(terms)
    if found is None:
        return
    assert len(found) <= MOST_TERMS
    for values in product((False, True), repeat=5):
        assert held(found, values) == (held(terms, values) == 0)


def said(cover: Cover, values: tuple[bool, ...]) -> bool:
    return (held(cover.terms, values) == 1) != cover.complement


def test_gates_of_ruling_bits_rest_where_keys_compete() -> None:
    for text in ("O (a & Y b)", "(a | Y b) S (b & Y a)", "H (a -> Y b)", "a S !(b S !(Y a S b))"):
        program = spelled_out(softhat.compile(text, "ab").program)
        before = schedule(program, store_outputs=True)
        ruling = {signal.bad for signal in program.signals if isinstance(signal, Latest)}
        gates = [gate for layer in before.layers for gate in layer.gates]
        changed = [gate for layer in rested(program, before).layers for gate in layer.gates]
        for old, new in zip(gates, changed, strict=True):
            assert old.signal == new.signal
            if Literal(new.signal, False) not in ruling or Literal(new.signal, True) not in ruling:
                assert Literal(new.signal, new.complement) not in ruling
            for values in product((False, True), repeat=min(len(program.signals), 12)):
                if max(lit.signal for term in old.terms for lit in term) < len(values):
                    assert said(old, values) == said(new, values)


def test_large_covers_stay() -> None:
    terms = tuple((Literal(2 * k, True), Literal(2 * k + 1, True)) for k in range(8))
    assert negated(terms) is None
