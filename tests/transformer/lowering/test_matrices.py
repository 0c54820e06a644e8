"""Rows by name become matrices by place: what a row says of named numbers, its matrix says too."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softhat.numbers.laws import ONE as LAW
from softhat.numbers.positions import Named
from softhat.program.registers import Register
from softhat.transformer.lowering.matrices import Place, layer_of, matrix
from softhat.transformer.lowering.rows import (
    ONE,
    ORDINARY,
    HeadRows,
    HeadScores,
    Hidden,
    Key,
    LayerRows,
    Row,
    RowPair,
)

KEYS: tuple[Key, ...] = (
    ONE,
    ORDINARY,
    Named("i"),
    Register(0, False),
    Register(0, True),
    Register(1, True),
)
places = st.permutations(range(len(KEYS))).map(lambda at: dict(zip(KEYS, at, strict=True)))
rows = st.dictionaries(st.sampled_from(KEYS), st.sampled_from([-2.0, 0.5, 1.0, 3.0]), max_size=4)
D = len(KEYS) + 1


def value(row: Row, place: Place, x: np.ndarray) -> float:
    return float(sum(w * x[place[at]] for at, w in row.items()))


@given(st.lists(rows, max_size=4), places)
def test_a_matrix_is_its_rows(given_rows: list[Row], place: Place) -> None:
    x = np.random.default_rng(1).normal(size=D)
    found = matrix(given_rows, place, D).dense() @ x
    assert np.allclose(found, [value(row, place, x) for row in given_rows])


@given(
    st.lists(st.lists(st.tuples(rows, rows), max_size=3), min_size=1, max_size=3),
    st.lists(rows, min_size=1, max_size=2),
    st.lists(st.tuples(rows, st.floats(-1, 1), rows), max_size=4),
    rows,
    places,
)
def test_a_layer_is_its_rows(
    pairs: list[list[tuple[Row, Row]]],
    values: list[Row],
    hidden: list[tuple[Row, float, Row]],
    bias: Row,
    place: Place,
) -> None:
    """Scores, values, hidden units and biases, of two random positions."""
    targets = (Register(0, True), Register(1, True))[: len(values)]
    heads = [
        HeadRows(
            f"head {h}",
            HeadScores("Latest", "<=", [RowPair(*p) for p in parts]),
            LAW,
            tuple(values),
            targets,
        )
        for h, parts in enumerate(pairs)
    ]
    made = layer_of(LayerRows(heads, [Hidden(*unit) for unit in hidden], dict(bias)), place, D)
    x, y = np.random.default_rng(2).normal(size=(2, D))
    for h, parts in enumerate(pairs):
        scores = sum(value(q, place, x) * value(k, place, y) for q, k in parts)
        q, k, v = (t.dense()[h] for t in (made.query, made.key, made.value))
        assert np.isclose((q @ x) @ (k @ y), scores)
        written = made.output.dense()[h] @ (v @ y)
        wanted = np.zeros(D)
        for row, target in zip(values, targets, strict=True):
            wanted[place[target]] += value(row, place, y)
        assert np.allclose(written, wanted)
    units = np.maximum(made.into.dense() @ x + made.into_bias, 0)
    after = np.zeros(D)
    for row, b, out in hidden:
        for at, w in out.items():
            after[place[at]] += w * max(0.0, value(row, place, x) + b)
    assert np.allclose(made.out.dense() @ units, after)
    assert np.allclose(made.out_bias, [bias.get(_key(place, c), 0.0) for c in range(D)])
    assert made.labels == tuple(f"head {h}" for h in range(len(pairs)))


def _key(place: Place, at: int) -> Key:
    return next((key for key, where in place.items() if where == at), Named("none"))
