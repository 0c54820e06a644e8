"""Scores that know no distance: read back as the table, or the codes, that they compute."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import VoidError
from softhat.proof.boolean import Space
from softhat.proof.cells import Bit, Cell, Feature, Form
from softhat.proof.heads.reading import HeadWeights
from softhat.proof.heads.selection import Codes, SelectionTable, is_selection, read_selection
from softhat.proof.program_atoms import ProgramAtoms

ONE, ORDINARY, A = 0, 1, 2


def cells_of(atoms: ProgramAtoms) -> list[Cell]:
    """`1`, `ordinary`, and a bit for each of the symbols a, b, c."""
    bits: list[Cell] = [Bit(atoms.space.symbol(name)) for name in "abc"]
    return [Feature("1", 0), Feature("ordinary", 0), *bits]


def head(pairs: list[tuple[Form, Form]], sink: float = 4.0, beta: float = 1.0) -> HeadWeights:
    rows = [*pairs, ({ONE: sink}, {ONE: 1.0, ORDINARY: -1.0})]
    query, key = zip(*rows, strict=True)
    return HeadWeights("unbounded", 2, "none", beta, query, key, ())


@given(st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1))
def test_a_table_is_the_pairs_that_match(pairs: set[tuple[int, int]]) -> None:
    atoms = ProgramAtoms(Space("abc", False))
    rows: list[tuple[Form, Form]] = [({A + q: 8.0}, {A + k: 1.0}) for q, k in sorted(pairs)]
    weights = head(rows)
    assert is_selection(weights, cells_of(atoms))
    found = read_selection(weights, cells_of(atoms), atoms)
    assert isinstance(found, SelectionTable)
    named = {atoms.space.symbol(name): name for name in "abc"}
    assert {(named[q], named[k]) for q, k in found.pairs} == {
        ("abc"[q], "abc"[k]) for q, k in pairs
    }
    assert (found.gain, found.sink) == (Fraction(8), Fraction(4))


def test_negated_bits_take_from_ordinary() -> None:
    """8·(ordinary - a) at the query is 8 where the symbol is not a."""
    atoms = ProgramAtoms(Space("abc", False))
    found = read_selection(head([({A: -8.0, ORDINARY: 8.0}, {A + 1: 1.0})]), cells_of(atoms), atoms)
    space = atoms.space
    assert isinstance(found, SelectionTable)
    assert found.pairs == {(space.negation(space.symbol("a")), space.symbol("b"))}


def test_codes_are_equal_digits() -> None:
    """(b/2)·(2x - 1)(2y - 1): equal digits add b/2, others take it off."""
    atoms = ProgramAtoms(Space("abc", False))
    digit: list[tuple[Form, Form]] = [
        ({A + k: 8.0, ORDINARY: -4.0}, {A + k: 2.0, ORDINARY: -1.0}) for k in range(2)
    ]
    found = read_selection(head(digit), cells_of(atoms), atoms)
    assert isinstance(found, Codes)
    a, b = atoms.space.symbol("a"), atoms.space.symbol("b")
    assert found.digits == tuple(sorted(((a, a), (b, b)))) and found.gain == 8


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([({A: 8.0}, {A: 1.0}), ({A: 4.0}, {A + 1: 1.0})], "different scores"),
        ([({A: 8.0}, {A: 1.0}), ({A: 8.0}, {A: 1.0, A + 1: 1.0})], "two ways at once"),
        ([({A: 8.0, A + 1: 3.0}, {A: 1.0})], "no sum of bits"),
        ([({A: 8.0}, {A: 0.5})], "no sum of stored bits"),
        ([({A: 8.0}, {})], "do not both have weights"),
        ([], "matches nothing"),
    ],
)
def test_other_scores_are_refused(rows: list[tuple[Form, Form]], reason: str) -> None:
    atoms = ProgramAtoms(Space("abc", False))
    with pytest.raises(VoidError, match=reason):
        read_selection(head(rows), cells_of(atoms), atoms)


def test_positions_make_it_no_selection() -> None:
    atoms = ProgramAtoms(Space("abc", False))
    cells = [*cells_of(atoms), Feature("i", 0)]
    assert not is_selection(head([({A: 8.0}, {5: 1.0})]), cells)
    none = HeadWeights("unbounded", 2, "none", 1.0, ({},), ({},), ())
    assert not is_selection(none, cells)
