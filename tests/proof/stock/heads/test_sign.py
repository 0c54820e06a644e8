"""Average and Sign: means of counts by definition, and the sign that decides."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from softhat.io.errors import VoidError
from softhat.proof.stock.heads import recognise
from softhat.proof.stock.heads.average import AverageHead
from softhat.proof.stock.heads.sign import SignHead
from softhat.proof.stock.variables import Form, MeanCell
from tests.proof.stock.heads.made import BOS, ONE, ORDINARY, A, B, head_forms, held, stream

CONTEXT = 6
AHEAD = Form({A: 0.5, B: -0.5, BOS: -0.5}, 0.0)
"""[a] - [b] on the word, -1/2 at `<bos>`: the mean is positive iff #(a) > #(b)."""


def test_a_mean_and_its_sign() -> None:
    atoms, cells = stream(CONTEXT)
    average, (mean,) = recognise(head_forms([], CONTEXT, values=(AHEAD,)), cells, atoms)
    assert isinstance(average, AverageHead) and isinstance(mean, MeanCell)
    (count,) = average.counts
    assert (count.least, count.bos, count.size) == (0.5, -0.5, 1.0)
    at = len(cells)
    slope = Form({at: 8.0}, 0.0), Form({ORDINARY: 4.0}, 0.0)
    cells = [*cells, mean]
    head, _ = recognise(
        head_forms([slope], CONTEXT, values=(Form({ORDINARY: 1.0}, 0.0),)), cells, atoms
    )
    assert isinstance(head, SignHead) and head.key == 4.0
    for word in product(range(3), repeat=CONTEXT - 1):
        read = held(cells[:at], word)
        values = 0.5 * read[:, A] - 0.5 * read[:, B] - 0.5 * read[:, BOS]
        means = np.cumsum(values) / np.arange(1, CONTEXT + 1)
        scores = 2.0 * means * 8.0 * 4.0  # written twice
        for n in range(1, CONTEXT):
            assert (scores[n] > 0) == (word[:n].count(0) > word[:n].count(1))
            assert abs(scores[n]) >= head.least(n + 1) * (1 - 1e-12)


def test_what_counts_positions_alone_has_its_own_sizes() -> None:
    atoms, cells = stream(CONTEXT)
    past = Form({ORDINARY: 1.0, BOS: -2.5}, 0.0)  # i - 2.5
    _, (mean,) = recognise(head_forms([], CONTEXT, values=(past,)), cells, atoms)
    row = Form({len(cells): 3.0}, 0.0), Form({ORDINARY: 1.0}, 0.0)
    h = head_forms([row], CONTEXT, values=(Form({ORDINARY: 1.0}, 0.0),))
    head, _ = recognise(h, [*cells, mean], atoms)
    assert isinstance(head, SignHead) and head.sizes is not None
    expected = [6.0 * abs(i - 2.5) / (i + 1) for i in range(CONTEXT)]
    np.testing.assert_allclose(head.sizes, expected)


@pytest.mark.parametrize("key", [{ORDINARY: -4.0}, {ONE: 4.0}, {A: 1.0}])
def test_what_is_none_is_void(key: dict[int, float]) -> None:
    atoms, cells = stream(CONTEXT)
    _, (mean,) = recognise(head_forms([], CONTEXT, values=(AHEAD,)), cells, atoms)
    row = Form({len(cells): 8.0}, 0.0), Form(key, 0.0)
    h = head_forms([row], CONTEXT, values=(Form({ORDINARY: 1.0}, 0.0),))
    with pytest.raises(VoidError):
        recognise(h, [*cells, mean], atoms)
