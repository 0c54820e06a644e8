"""Decision diagrams against truth tables."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from softhat.logic.decide.diagrams import FALSE, TRUE, Diagrams, TooHardError

LEVELS = range(5)
ROWS = list(product((False, True), repeat=len(LEVELS)))


def of_table(d: Diagrams, table: list[bool]) -> int:
    """The diagram that is true for these rows: each row on its own, then all together."""
    found = FALSE
    for row, value in zip(ROWS, table, strict=True):
        if value:
            literals = [
                d.variable(k) if bit else d.negation(d.variable(k)) for k, bit in enumerate(row)
            ]
            found = d.disjunction(found, d.all_of(literals))
    return found


def table_of(d: Diagrams, f: int) -> list[bool]:
    return [d.restrict(f, dict(enumerate(row))) == TRUE for row in ROWS]


def test_operations() -> None:
    rng = np.random.default_rng(3)
    d = Diagrams(1_000_000)
    for _ in range(40):
        x, y = ([bool(bit) for bit in rng.integers(0, 2, len(ROWS))] for _ in range(2))
        f, g = of_table(d, x), of_table(d, y)
        assert table_of(d, f) == x
        assert of_table(d, x) == f  # canonical
        assert table_of(d, d.negation(f)) == [not a for a in x]
        pairs = list(zip(x, y, strict=True))
        both = [a and b for a, b in pairs]
        assert table_of(d, d.conjunction(f, g)) == both
        assert table_of(d, d.disjunction(f, g)) == [a or b for a, b in pairs]
        assert table_of(d, d.difference(f, g)) == [a and not b for a, b in pairs]
        assert table_of(d, d.exclusive(f, g)) == [a != b for a, b in pairs]
        assert table_of(d, d.equal(f, g)) == [a == b for a, b in pairs]
        forget = frozenset(int(k) for k in rng.integers(0, 5, 2))
        kept = {
            tuple(bit for k, bit in enumerate(row) if k not in forget)
            for row, value in zip(ROWS, both, strict=True)
            if value
        }
        some = [tuple(bit for k, bit in enumerate(row) if k not in forget) in kept for row in ROWS]
        assert table_of(d, d.product(f, g, forget)) == some
        assert d.product(f, f, forget) == d.exists(f, forget)
        assert d.rename(d.rename(f, 3), -3) == f
        assert d.support(f) <= frozenset(LEVELS)
        if f != FALSE:
            least = d.least(f, list(LEVELS))
            assert tuple(least.values()) == next(r for r, v in zip(ROWS, x, strict=True) if v)


def test_work_is_bounded() -> None:
    d = Diagrams(100)
    with pytest.raises(TooHardError):
        for k in range(1000):
            d.variable(k)


def test_what_is_needed_survives_a_collection() -> None:
    rng = np.random.default_rng(4)
    d = Diagrams(1_000_000)
    tables = [[bool(bit) for bit in rng.integers(0, 2, len(ROWS))] for _ in range(20)]
    made = [of_table(d, table) for table in tables]
    before = len(d)
    moved = d.collect(made[:5])
    assert len(d) < before
    for table, old in zip(tables[:5], made[:5], strict=True):
        assert table_of(d, moved[old]) == table
        assert of_table(d, table) == moved[old]  # still canonical
    assert table_of(d, of_table(d, tables[7])) == tables[7]


def test_size_is_the_number_of_different_subtables() -> None:
    """A node for each function of the later variables that depends on its first one."""
    rng = np.random.default_rng(4)
    d = Diagrams(1_000_000)
    for _ in range(20):
        table = tuple(bool(bit) for bit in rng.integers(0, 2, len(ROWS)))
        halves, tables = set(), {table}
        while tables:
            branching = {t for t in tables if len(t) > 1 and t[: len(t) // 2] != t[len(t) // 2 :]}
            halves |= branching
            tables = {h for t in tables if len(t) > 1 for h in (t[: len(t) // 2], t[len(t) // 2 :])}
        assert d.size(of_table(d, list(table))) == len(halves)
    assert d.size(TRUE) == d.size(FALSE) == 0
