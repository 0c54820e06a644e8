"""Schedules: what a layer reads is there, and covers are disjoint and say the same as the gates."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.program.build import build
from softhat.program.draft import Draft
from softhat.program.evaluate import evaluate, outputs
from softhat.program.gates import And, Gate
from softhat.program.heads import Head, Previous
from softhat.program.schedule import NARROW, Cover, Schedule, schedule
from softhat.program.signals import Program
from tests.transformer.lowering.suite import formulas, long_words

SUITE = formulas()


def program_of(number: int) -> Program:
    return build({"out": SUITE[number]}, ("a", "b"), False)


def check_order(program: Program, plan: Schedule) -> None:
    """Heads read bits stored before, or numbers; a feed-forward what its own heads return too."""
    stored = {at for at, s in enumerate(program.signals) if not isinstance(s, Head | Gate)}
    gates = {gate.signal for layer in plan.layers for gate in layer.gates}
    raw: set[int] = set()
    for layer in plan.layers:
        for group in layer.heads:
            for at in group.signals:
                head = program.signals[at]
                assert isinstance(head, Head)
                for read in head.reads:
                    source = program.signals[read]
                    numeric = isinstance(source, Head) and source.numeric
                    assert read in (raw if numeric else stored)
            raw |= set(group.signals)
        for gate in layer.gates:
            for term in gate.terms:
                assert all(x.signal in stored | raw for x in term)
        stored |= {gate.signal for gate in layer.gates}
    for _, cover in plan.outputs:
        for term in cover.terms:
            assert all(x.signal in stored | raw for x in term)
    assert gates <= stored


def said(cover: Cover, held: list[np.ndarray], n: int) -> np.ndarray:
    """What a cover says of the exact signals; that no two of its terms hold at once."""
    terms = [
        np.logical_and.reduce(
            [held[x.signal].astype(bool) == x.positive for x in term] or [np.ones(n, bool)]
        )
        for term in cover.terms
    ]
    count = np.sum(terms, axis=0) if terms else np.zeros(n, int)
    assert (count <= 1).all()
    found: np.ndarray = (count == 1) != cover.complement
    return found


@pytest.mark.parametrize("number", range(0, len(SUITE), 9))
def test_covers_are_disjoint_and_right(number: int) -> None:
    program = program_of(number)
    plan = schedule(program)
    check_order(program, plan)
    for word in long_words(30, 2, number):
        held = evaluate(program, word)
        for layer in plan.layers:
            for gate in layer.gates:
                bits = said(gate, held, len(word))
                assert bits.tolist() == held[gate.signal].astype(bool).tolist()
        for name, cover in plan.outputs:
            assert said(cover, held, len(word)).tolist() == outputs(program, word)[name].tolist()


@pytest.mark.parametrize("number", range(0, len(SUITE), 40))
def test_narrow_gates_and_stored_outputs(number: int) -> None:
    program = program_of(number)
    plan = schedule(program, store_outputs=True)
    check_order(program, plan)
    stored = {gate.signal for layer in plan.layers for gate in layer.gates}
    for _, literal in program.outputs:
        source = program.signals[literal.signal] if literal.signal >= 0 else None
        if isinstance(source, Head | And):
            assert literal.signal in stored


def test_equal_scores_are_one_head_and_many_raws_make_it_sharper() -> None:
    draft = Draft("abcdefgh")
    heads = [draft.add(Previous(draft.token(s), "past"), f"Y {s}") for s in "abcdefgh"]
    for count in (NARROW, NARROW + 1):
        one = draft.conjunction([~h for h in heads[:count]], "none of them")
        stored = draft.add(Previous(one, "past"), "before")
        (layer, _) = schedule(draft.finish({"out": stored})).layers
        (group,) = layer.heads
        assert len(group.signals) == count and group.wide == (count > NARROW)
