"""A head's weights as a bilinear form: the terms are the product of its rows, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import VoidError
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.cells import Bit, Cell, Feature, Form, Mean, Raw
from softhat.proof.heads.reading import HeadWeights, read, refuse_averages, slope_of
from softhat.transformer.weights import Attention, Mask

weights = st.integers(-8, 8).map(lambda k: k / 4)
forms = st.dictionaries(st.integers(0, 4), weights.filter(bool), min_size=1, max_size=3)


def setting() -> tuple[Atoms, list[Cell]]:
    atoms = Atoms(Space("ab", False))
    bit = Bit(atoms.space.symbol("a"))
    features = [Feature("1", 0), Feature("ordinary", 0), Feature("i", -1), Feature("r", -1)]
    return atoms, [*features, bit]


def made(
    rows: list[tuple[Form, Form]],
    mask: Mask = "<=",
    sinks: int = 2,
    attention: Attention = "temperature",
    sharpness: float = 4.0,
    value: tuple[Form, ...] = (),
) -> HeadWeights:
    query, key = zip(*rows, strict=True) if rows else ((), ())
    return HeadWeights(attention, sinks, mask, sharpness, query, key, value)


@given(st.lists(st.tuples(forms, forms), min_size=1, max_size=3))
def test_terms_are_the_product_of_rows(rows: list[tuple[Form, Form]]) -> None:
    """With C·P multiplied in: i and r are divided by P, so i·r has P^-1 left."""
    atoms, cells = setting()
    try:
        terms = read(made(rows), cells, 0, atoms, 0).terms
    except VoidError as error:
        assert "cancel" in str(error)
        terms = {}
    names = {0: ("1", 0), 1: ("ordinary", 0), 2: ("i", -1), 3: ("r", -1), 4: (4, 0)}
    wanted: dict[object, Fraction] = {}
    for query, key in rows:
        for a, u in query.items():
            for b, v in key.items():
                (left, p), (right, q) = names[a], names[b]
                at = (left, right, p + q + 1)
                wanted[at] = wanted.get(at, Fraction(0)) + 4 * Fraction(u) * Fraction(v)
    assert terms == {at: value for at, value in wanted.items() if value}


def test_values_are_stored_bits_or_their_negations() -> None:
    atoms, cells = setting()
    space = atoms.space
    row: list[tuple[Form, Form]] = [({0: 1.0}, {2: 1.0})]
    value: tuple[Form, ...] = ({4: 1.0}, {4: -1.0, 1: 1.0}, {1: 1.0})
    a = space.symbol("a")
    reading = read(made(row, value=value), cells, 0, atoms, 0)
    assert reading.values() == [a, space.negation(a), space.true]
    with pytest.raises(VoidError, match="value is not a stored bit"):
        read(made(row, value=({4: 2.0},)), cells, 0, atoms, 0).values()


def test_directions() -> None:
    atoms, cells = setting()
    row: list[tuple[Form, Form]] = [({0: 1.0}, {2: 1.0})]
    for mask, direction, here in (("<=", "past", "i"), ("<", "past", "i"), (">", "future", "r")):
        found = read(made(row, mask=mask), cells, 0, atoms, 0)
        assert (found.direction, found.here) == (direction, here)
    with pytest.raises(VoidError, match="no sink at the end"):
        read(made(row, mask=">=", sinks=1), cells, 0, atoms, 0)
    with pytest.raises(VoidError, match="scores but no mask"):
        read(made(row, mask="none"), cells, 0, atoms, 0)


def test_what_no_score_may_be() -> None:
    atoms, cells = setting()
    with pytest.raises(VoidError, match="rounding would decide"):
        read(made([({0: 1.0}, {2: 1.0}), ({0: -1.0}, {2: 1.0})]), cells, 0, atoms, 0)
    with pytest.raises(VoidError, match="do not both have weights"):
        read(made([({0: 1.0}, {})]), cells, 0, atoms, 0)
    with pytest.raises(VoidError, match="inverse temperature is not positive"):
        read(made([({0: 1.0}, {2: 1.0})], sharpness=0.0), cells, 0, atoms, 0)
    with pytest.raises(VoidError, match="raw output"):
        read(made([({5: 1.0}, {2: 1.0})]), [*cells, Raw(0, 0)], 0, atoms, 0)
    mean = Mean("past", (), 0)
    found = read(made([({5: 1.0}, {2: 1.0})]), [*cells, mean], 0, atoms, 0)
    with pytest.raises(VoidError, match="read an average"):
        refuse_averages(found.scores)


def test_a_slope_is_the_same_on_both_sides() -> None:
    def terms(slope: int, anchor: int) -> dict[tuple[str | int, str | int, int], Fraction]:
        return {("1", "i", 0): Fraction(slope), ("i", "1", 0): Fraction(anchor)}

    kept = terms(4, -4)
    assert slope_of(kept, "i") == 4 and kept == {}
    for slope, anchor in ((4, -3), (-4, 4), (0, 0), (4, 4)):
        with pytest.raises(VoidError, match="one slope with the distance"):
            slope_of(terms(slope, anchor), "i")
