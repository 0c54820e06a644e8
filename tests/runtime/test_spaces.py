"""Numbers that depend on some letters of a word, against the words written out."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from softhat.runtime import spaces
from softhat.runtime.spaces import SAME, Axes, Numbering, compact, distinct_columns

SIZES = (2, 1, 3, 2, 2)
WORDS = np.array(list(product(*map(range, SIZES))))


def drawn(rng: np.random.Generator, space: Axes) -> tuple[Numbering, np.ndarray]:
    """Codes of some axes, and the same number for every word."""
    low, high = sorted(rng.choice(len(SIZES) + 1, 2, replace=False).tolist())
    kinds = np.unique(WORDS[:, low:high], axis=0, return_inverse=True)[1].reshape(-1)
    count = int(rng.integers(1, 5))
    names = rng.integers(0, count, kinds.max() + 1)
    codes, occurring = compact(Numbering(names, low, high, count))
    return codes, np.searchsorted(occurring, names[kinds])


def test_pairs_of_numbers() -> None:
    rng = np.random.default_rng(1)
    space = Axes(SIZES)
    for _ in range(300):
        (a, of_a), (b, of_b) = drawn(rng, space), drawn(rng, space)
        pairs = space.paired(a, b)
        one, other = pairs.parts
        numbers = space.spread(pairs.codes, np.arange(pairs.codes.count))
        assert np.array_equal(one[numbers], of_a)
        assert np.array_equal(other[numbers], of_b)
        assert sorted(set(zip(of_a, of_b, strict=True))) == list(zip(one, other, strict=True))
        some = rng.integers(0, space.words, 7)
        assert np.array_equal(space.of(pairs.codes, some), numbers[some])


@pytest.mark.parametrize("how", ["by pairs", "mixed", "mixed alike"])
def test_words_by_all_their_numbers(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many numbers as there are rows that differ; where two words are mixed alike, by pairs."""
    rng = np.random.default_rng(3)
    space = Axes(SIZES)
    if how != "by pairs":
        monkeypatch.setattr(spaces, "SPARSE", 0)
    if how == "mixed alike":
        monkeypatch.setattr(Axes, "_mixed", lambda self, _: np.zeros(self.words, np.uint64))
    for _ in range(200):
        every = [drawn(rng, space) for _ in range(int(rng.integers(1, 4)))]
        rows = np.stack([of_words for _, of_words in every], axis=1)
        kinds = len(np.unique(rows, axis=0))
        together = space.together([codes for codes, _ in every], kinds)
        assert together is not None
        numbers, some = together
        assert np.array_equal(rows[some][numbers], rows)
        assert len(some) == kinds
        assert space.together([codes for codes, _ in every], kinds - 1) is None


def test_one_number_for_all() -> None:
    space = Axes(SIZES)
    assert space.each(1) is SAME
    assert space.spread(SAME, np.array([5])).tolist() == [5] * space.words
    assert space.each(2).renamed(np.zeros(3, np.intp), 1) is SAME


def test_numbers_that_are_few_of_many() -> None:
    """Marked in a table, or sorted."""
    for count in (10, 10**6):
        codes, occurring = compact(Numbering(np.array([7, 3, 9, 3]), 0, 1, count))
        assert occurring.tolist() == [3, 7, 9]
        assert codes.numbers.tolist() == [1, 0, 2, 0]


def test_columns_that_differ_in_a_bit() -> None:
    rng = np.random.default_rng(2)
    for dtype in (np.float32, np.float64):
        x = rng.integers(0, 2, (3, 200)).astype(dtype)
        x[0, ::7] = np.nextafter(dtype(1), dtype(2))
        x[1, ::11] *= -1  # some zeros are negative
        place, kind = distinct_columns(x)
        bits = [column.tobytes() for column in x.T]
        assert len(place) == len(set(bits))
        assert all(bits[place[kind[k]]] == bits[k] for k in range(200))


def test_columns_of_no_numbers() -> None:
    place, kind = distinct_columns(np.zeros((0, 4)))
    assert place.tolist() == [0]
    assert kind.tolist() == [0] * 4
