"""Unique-hard models: of several maximal keys they take the leftmost or the rightmost."""

from __future__ import annotations

from fractions import Fraction

from softhat.ahat.builder import Builder, Score
from softhat.ahat.model import AHAT, BOS, Ties

HALF = Fraction(1, 2)


def leftmost_b() -> AHAT:
    """Is the first b of w at an odd position (the first symbol, if there is no b)?"""
    return _b_at_odd("leftmost")


def rightmost_b() -> AHAT:
    """Is the last b of w at an odd position (the last symbol, if there is no b)?"""
    return _b_at_odd("rightmost")


def _b_at_odd(ties: Ties) -> AHAT:
    b = Builder("ab")
    odd = b.head("none", value={"odd": b.mod(2, 1)}, score=[(1, b.token("b"))], ties=ties)["odd"]
    b.output(odd - HALF)
    return b.build()


def binary_carry() -> AHAT:
    """Adding two binary numbers, lowest digits first: is there a carry into place i?

    w_j is the sum of the two digits at place j. The carry comes from the latest place before i
    whose sum is not 1: there is one if that sum is 2.
    """
    b = Builder("012")
    settled = b.token("0") + b.token("2")
    carry = b.head("<", value={"carry": b.token("2")}, score=[(1, settled)], ties="rightmost")
    b.output(carry["carry"] - HALF)
    return b.build()


def nearest_smaller() -> AHAT:
    """Is the nearest letter before i that is smaller than w_i an a? False if there is none."""
    letters = "abc"
    b = Builder(letters, bos=True)
    score: Score = [
        (b.token(s), b.embed(f"< {s}", dict.fromkeys(letters[:k], 1)))
        for k, s in enumerate(letters)
        if k
    ]
    score.append((HALF, b.embed("bos", {BOS: 1})))
    is_a = b.head("<", value={"a": b.token("a")}, score=score, ties="rightmost")["a"]
    b.output(is_a - HALF)
    return b.build()


def no_two_b() -> AHAT:
    """Are there no two b's in a row in w_1 … w_i? A star-free language, by unique-hard heads."""
    b = Builder("ab")
    before = b.head("<", value={"before": b.token("b")}, ties="rightmost", name="previous")
    twice = b.relu("bb", b.token("b") + before["before"] - 1)
    anywhere = b.head("<=", value={"found": twice}, score=[(1, twice)], ties="leftmost")["found"]
    b.output(HALF - anywhere)
    return b.build()


def since() -> AHAT:
    """a S b: has there been a b, and only a's since? The latest position that is no a decides."""
    b = Builder("abc")
    settled = b.token("b") + b.token("c")
    is_b = b.head("<=", value={"b": b.token("b")}, score=[(1, settled)], ties="rightmost")["b"]
    b.output(is_b - HALF)
    return b.build()
