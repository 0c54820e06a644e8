"""A program from a file that does not keep what programs promise is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from softhat import SofthatError
from softhat.frontends.rasp.compile import Compiled
from softhat.frontends.rasp.outputs import Bits, Decoder, NumberCase, Numbers
from softhat.frontends.rasp.premises import check_premises
from softhat.program.draft import Draft
from softhat.program.heads import At, Match, MatchMean, Selector
from softhat.program.inputs import PositionBit
from softhat.program.literals import TRUE, Literal
from softhat.program.signals import Number
from tests.frontends.rasp.test_stored import NAMES, compiled


@pytest.mark.parametrize("name", NAMES)
def test_compiled_programs_keep_them(name: str) -> None:
    check_premises(compiled(name).compiled)


def of(draft: Draft, bit: Literal, length: int) -> Compiled:
    decoder: Decoder = Bits(("x",), (1,))
    return Compiled(draft.finish({"x": bit}), ("a", "b"), decoder, length, causal=True)


def test_positions_that_do_not_agree() -> None:
    """ "Is the symbol an a?", asked of all positions before."""
    draft = Draft("ab")
    selector = Selector((TRUE,), (TRUE,), ((0, 0),), "<=", 20)
    bit = draft.add(Match(selector, draft.token("a")), "read")
    with pytest.raises(SofthatError, match="read: the selected positions do not agree"):
        check_premises(of(draft, bit, 20))


def test_numbers_that_come_again() -> None:
    """Positions have different numbers of three digits to 8, and not to 20."""
    draft = Draft("ab")
    digits = tuple(draft.add(PositionBit(b, 1, 0, 0), f"digit {b}") for b in range(3))
    bit = draft.add(At(digits, digits, draft.token("a"), "<=", 1000), "read")
    check_premises(of(draft, bit, 8))
    with pytest.raises(SofthatError, match="do not agree"):
        check_premises(of(draft, bit, 20))


@pytest.mark.parametrize("when", ["x", None])
def test_a_mean_of_nothing(when: str | None) -> None:
    """The mean over the a's, read at an a, and read everywhere."""
    draft = Draft("ab")
    a = draft.token("a")
    selector = Selector((TRUE,), (a,), ((0, 0),), "<=", 9)
    mean = draft.add(MatchMean(selector, ((1, -1),)), "mean").signal
    program = draft.finish({"x": a}, {"y": Number(((Fraction(1), mean),), Fraction(0))})
    case = NumberCase(when, (("y", "1"),), Fraction(0), whole=False)
    found = Compiled(program, ("a", "b"), Numbers((case,)), 9, causal=True)
    if when is not None:
        check_premises(found)
        never = replace(program, outputs=(("x", ~TRUE),))
        check_premises(replace(found, program=never))
        return
    with pytest.raises(SofthatError, match="a mean where nothing is selected"):
        check_premises(found)
