"""Functions as numbers: equal numbers exactly if equal truth tables, and sums within bounds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.logic.random import random_formula
from softhat.logic.syntax import nodes
from softhat.proof import boolean
from softhat.proof.boolean import Space, TooLargeError
from tests.proof.test_claims import functions
from tests.slices import examples

CELLS = list(product("abc", (False, True), (False, True)))
"""A symbol and the truth of two atoms."""
Table = tuple[bool, ...]


def table(holds: Callable[[str, bool, bool], bool]) -> Table:
    return tuple(holds(*cell) for cell in CELLS)


@st.composite
def pairs(draw: st.DrawFn, space: Space) -> tuple[int, Table]:
    """A function of the space beside its truth table."""
    p, q = space.atom("p", 3), space.atom("q", 1)
    stock = [
        (space.true, table(lambda s, x, y: True)),
        (space.symbols(0b101), table(lambda s, x, y: s in "ac")),
        (space.symbol("b"), table(lambda s, x, y: s == "b")),
        (p, table(lambda s, x, y: x)),
        (q, table(lambda s, x, y: y)),
    ]
    for _ in range(draw(st.integers(0, 8))):
        (f, left), (g, right) = draw(st.sampled_from(stock)), draw(st.sampled_from(stock))
        made = {
            "not": (space.negation(f), tuple(not x for x in left)),
            "and": (space.both(f, g), tuple(x and y for x, y in zip(left, right, strict=True))),
            "or": (space.either(f, g), tuple(x or y for x, y in zip(left, right, strict=True))),
            "xor": (space.differ(f, g), tuple(x != y for x, y in zip(left, right, strict=True))),
            "every": (space.every([f, g]), tuple(map(all, zip(left, right, strict=True)))),
        }
        stock.append(made[draw(st.sampled_from(sorted(made)))])
    return draw(st.sampled_from(stock))


@given(st.data())
def test_numbers_are_tables(data: st.DataObject) -> None:
    space = Space("abc", False)
    (f, left), (g, right) = data.draw(pairs(space)), data.draw(pairs(space))
    assert (f == g) == (left == right)
    assert space.polarity(f) != space.polarity(space.negation(f))


@given(st.data())
def test_a_sum_stays_in_its_range(data: st.DataObject) -> None:
    """Exact where every function is one of symbols alone."""
    space = Space("abc", False)
    terms = [
        (Fraction(data.draw(st.integers(-5, 5))), *data.draw(pairs(space)))
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    low, high = space.range_of_sum([(a, f) for a, f, _ in terms])
    sums = [sum(a * held[k] for a, _, held in terms) for k in range(len(CELLS))]
    assert low <= min(sums) and max(sums) <= high
    blocks = [held[k : k + 4] for _, _, held in terms for k in (0, 4, 8)]  # one a symbol
    if all(len(set(block)) == 1 for block in blocks):
        assert (low, high) == (min(sums), max(sums))


def test_propositions_are_atoms() -> None:
    space = Space("pq", True)
    p, q = space.symbol("p"), space.symbol("q")
    assert space.both(p, q) not in (space.false, p, q)
    plain = Space("pq", False)
    assert plain.both(plain.symbol("p"), plain.symbol("q")) == plain.false


def test_too_many_nodes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boolean, "MOST_NODES", 10)
    space = Space("a", False)
    with pytest.raises(TooLargeError):
        space.every(space.atom(k, k) for k in range(20))


@given(st.data())
@examples(60)
def test_diagrams_agree_with_truth_tables(data: st.DataObject) -> None:
    """Boolean formulas over a symbol and two atoms: equal numbers exactly if equal tables."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    made = [random_formula(rng, 9, "abpq", "boolean") for _ in range(2)]
    as_atoms = {"p": "Y a", "q": "Y b"}
    texts = []
    for formula in made:
        text = str(formula)
        for name, atom in as_atoms.items():
            text = " ".join(f"({atom})" if word == name else word for word in _words(text))
        texts.append(text)
    f, g = functions(*texts)
    tables = [
        [_value(formula, {"p": p, "q": q, "abc"[symbol]: True}) for symbol, p, q in _CELLS]
        for formula in made
    ]
    assert (f == g) == (tables[0] == tables[1])


_CELLS = list(product(range(3), (False, True), (False, True)))


def _words(text: str) -> list[str]:
    for mark in "()!&|":
        text = text.replace(mark, f" {mark} ")
    return text.split()


def _value(formula: nodes.Formula, holds: dict[str, bool]) -> bool:
    match formula:
        case nodes.Symbol(name):
            return holds.get(name, False)
        case nodes.Constant(value):
            return value
        case nodes.Not(operand):
            return not _value(operand, holds)
    left, right = (_value(child, holds) for child in formula.children)
    match formula:
        case nodes.And():
            return left and right
        case nodes.Or():
            return left or right
        case nodes.Xor():
            return left != right
        case nodes.Implies():
            return not left or right
        case nodes.Iff():
            return left == right
    raise TypeError(formula)
