"""What is read of sequences that share their sums, against each attended to by itself."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from softhat.numerics.formats import FORMATS
from softhat.runtime import sequences
from softhat.runtime.attend import Attention
from softhat.runtime.sequences import Asking, RowKinds, read_sequences
from softhat.runtime.spaces import Axes, Numbering

ROWS, KINDS = 6, 3
WORDS = np.array(list(product(range(KINDS), repeat=ROWS)))


@pytest.mark.parametrize("mask", ["<=", "<", ">=", ">", "none"])
@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("queries", [0, 1, 2])
def test_the_same_to_the_last_bit(
    mask: Any, dtype: str, queries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every letter is a key with a score of its own at each row, every other row asks as its letter
    says; with `queries` numbers in each (none: all scores are 0)."""
    form = FORMATS[dtype]
    rng = np.random.default_rng([queries, len(mask)])
    space = Axes((KINDS,) * ROWS)
    letters = [space.each(axis) for axis in range(ROWS)]
    draw = lambda height: form.load(rng.normal(0, 2, (height, ROWS * KINDS)))  # noqa: E731
    seen = RowKinds(letters, draw(queries), draw(2))
    alike = [axis % 2 == 0 for axis in range(ROWS)]
    asked_codes = [Numbering(np.zeros(1, np.intp), 0, 0, 1) if same else letters[axis]
                   for axis, same in enumerate(alike)]  # fmt: skip
    places = np.cumsum([0, *(codes.count for codes in asked_codes)])
    asked = RowKinds(asked_codes, draw(queries)[:, : places[-1]], np.zeros((0, places[-1])))
    attention = Attention(form, hard=False)
    k, v = (
        x[:, WORDS + KINDS * np.arange(ROWS)].transpose(0, 2, 1) for x in (seen.keys, seen.values)
    )
    own = np.where(alike, 0, WORDS) + places[:-1]
    q = asked.keys[:, own].transpose(0, 2, 1)
    expected = attention(q, k, v, mask, 1.5)
    for many in (4, 1 << 12):
        monkeypatch.setattr(sequences, "MANY", many)
        head = Asking(attention, seen, asked, mask, 1.5, 1 << 20)
        for row, (codes, read) in enumerate(read_sequences(space, head, set(range(ROWS)))):
            for value in range(2):
                assert np.array_equal(space.spread(codes, read[value]), expected[value, row])
