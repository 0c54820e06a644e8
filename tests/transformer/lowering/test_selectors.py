"""Match, Width, At and what decodes them: soft models against the exact meaning of programs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from softhat.models.model import Model
from softhat.program.draft import Draft
from softhat.program.evaluate import numbers, outputs
from softhat.program.gates import Steps, Total
from softhat.program.heads import At, Mask, Match, MatchMean, Selector, Shift, Width
from softhat.program.inputs import PositionBit
from softhat.program.literals import TRUE
from softhat.program.signals import Number, Program
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention
from tests.slices import every
from tests.transformer.lowering.suite import all_codes

TARGETS: tuple[Attention, ...] = ("hard", "unbounded", "temperature")
MASKS: tuple[Mask, ...] = ("none", "<=", "<", ">=", ">")


def agree(program: Program, words: list[np.ndarray], dtype: str = "float32") -> None:
    for target in TARGETS:
        model = Model(lower(program, target), {})
        for word in words:
            got = model.run_batch(word[None], dtype)[0]
            bits = outputs(program, word)
            for column, (name, _) in enumerate(program.outputs):
                assert ((got[:, column] > 0) == bits[name]).all(), (target, name, word)
            exact = numbers(program, word)
            for column, (name, _) in enumerate(program.numbers, start=len(program.outputs)):
                want = np.array([float(x) for x in exact[name]])
                assert np.abs(got[:, column] - want).max() < 0.02, (target, name, word)


def words(letters: int, short: int, long: tuple[int, ...] = ()) -> list[np.ndarray]:
    found = [word for n in range(1, short + 1) for word in all_codes(letters, n)]
    rng = np.random.default_rng(7)
    return found + [rng.integers(0, letters, n) for n in long for _ in range(3)]


@pytest.mark.parametrize("mask", every(2, MASKS))
def test_a_selector_and_its_width(mask: Mask) -> None:
    """a selects b and c, b selects a, c nothing; a head that looks right adds a second sink."""
    for ahead in (False, True):
        draft = Draft("abc")
        a, b, c = (draft.token([symbol]) for symbol in "abc")
        selector = Selector((a, b), (a, b, c), ((0, 1), (0, 2), (1, 0)), mask, 80)
        width = draft.add(Width(selector), "width").signal
        total = draft.add(Total(((2, width),), 80), "total").signal
        asked = {
            "match": draft.add(Match(selector, a), "match"),
            "some": draft.add(Steps(width, (1,)), "some"),
            "odd": draft.add(Steps(width, tuple(range(1, 81))), "odd"),
            "two or three": draft.add(Steps(width, (2, 4)), "two or three"),
            "many": draft.add(Steps(total, (7,)), "many"),
        }
        if ahead:
            asked["ahead"] = draft.add(Shift(a, 2, "future"), "ahead")
        both = draft.conjunction([asked["odd"], ~asked["many"], a], "both")
        asked["before"] = draft.add(Shift(both, 2, "past"), "before")
        mean = draft.add(MatchMean(selector, ((3, b.signal), (-2, -1))), "mean").signal
        read = {
            "mean": Number(((Fraction(1, 2), mean),), Fraction(7)),
            "total": Number(((Fraction(1), total),), Fraction(0)),
        }
        agree(draft.finish(asked, read), words(3, 4, (17, 80)))


@pytest.mark.parametrize("mask", MASKS)
def test_codes(mask: Mask) -> None:
    """The word reversed, and the position two before, by the binary digits of positions."""
    draft = Draft("ab")
    keys = tuple(draft.add(PositionBit(b, 1, 0, 0), f"i{b}") for b in range(6))
    back = tuple(draft.add(PositionBit(b, -1, 1, 1), f"r{b}") for b in range(6))
    two = tuple(draft.add(PositionBit(b, 1, 0, -2), f"two{b}") for b in range(6))
    a = draft.token("a")
    program = draft.finish(
        {
            "reversed": draft.add(At(back, keys, a, mask, 60), "reversed"),
            "two before": draft.add(At(two, keys, ~a, mask, 60), "two before"),
            "never": draft.add(At((*back, TRUE), (*keys, ~TRUE), a, mask, 60), "never"),
        }
    )
    agree(program, words(2, 6, (33, 60)))


def test_steps_tell_counts_apart_in_float32() -> None:
    """A histogram to 1,000 positions: the binary digits of how often my symbol occurs."""
    draft = Draft("abc")
    symbols = tuple(draft.token([symbol]) for symbol in "abc")
    selector = Selector(symbols, symbols, tuple((k, k) for k in range(3)), "none", 1000)
    width = draft.add(Width(selector), "width").signal
    digits = {
        str(bit): draft.add(Steps(width, tuple(range(1 << bit, 1001, 1 << bit))), f"bit {bit}")
        for bit in range(10)
    }
    agree(draft.finish(digits), words(3, 3, (200, 1000)))
