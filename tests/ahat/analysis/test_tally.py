"""Rows, gaps and critical β added up over all words, against the definition row by row."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import pytest

from softhat.ahat.analysis.tally import Tally, chunk, row_tally
from softhat.ahat.exact import run
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from softhat.ahat.words import all_words
from tests.ahat import definition
from tests.ahat.models import random_model

LEAK = 1e-3
MODELS = [random_model(random.Random(seed), layers=1 + seed % 2) for seed in range(12)]
MODELS += [GALLERY[name]() for name in ("majority", "induction-latest", "dyck-argmin")]


def rows_of(model: AHAT, n: int) -> dict[tuple[int, int], list[list[Fraction]]]:
    """The scores of every row of every head, over all words."""
    found: dict[tuple[int, int], list[list[Fraction]]] = {name: [] for name in model.heads}
    for word in product(model.alphabet, repeat=n):
        for name, rows in definition.evaluate(model, word).rows.items():
            found[name] += [list(row.values()) for row in rows]
    return found


def critical(gaps: list[float], winners: int) -> float:
    """The β at which Σ e^(-βg) = winners·leak/(1 - leak), by halving."""
    target = winners * LEAK / (1 - LEAK)
    low, high = 0.0, 1.0
    while sum(math.exp(-high * g) for g in gaps) > target:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        enough = sum(math.exp(-middle * g) for g in gaps) <= target
        low, high = (low, middle) if enough else (middle, high)
    return high


@pytest.mark.parametrize("number", range(len(MODELS)))
def test_rows_gaps_and_temperatures(number: int) -> None:
    model = MODELS[number]
    for n in range(1, 4):
        tally = row_tally(model, n, LEAK)
        for name, rows in rows_of(model, n).items():
            counts = [0, 0, 0]
            gap: Fraction | float = math.inf
            beta = 0.0
            for scores in rows:
                best = sum(s == max(scores) for s in scores)
                if best == len(scores):
                    counts[0] += 1
                    continue
                counts[1 if best == 1 else 2] += 1
                gaps = [max(scores) - s for s in scores if s < max(scores)]
                gap = min(gap, *gaps)
                beta = max(beta, critical([float(g) for g in gaps], best))
            assert tally.rows[n][name] == tuple(counts)
            assert tally.gaps[n][name] == gap
            assert tally.betas[n][name] == pytest.approx(beta, rel=1e-6, abs=1e-6)


def test_batches_and_lengths_are_joined() -> None:
    for model in MODELS[:6]:
        whole = Tally(model, LEAK)
        parts = Tally(model, LEAK)
        for n in (2, 3):
            for codes in all_words(len(model.alphabet), n, 3):
                whole.add(run(model, codes))
            parts.join(row_tally(model, n, LEAK))
        assert whole.rows == parts.rows and whole.gaps == parts.gaps
        assert whole.several == parts.several and whole.varying == parts.varying
        assert whole.first.keys() == parts.first.keys()


def test_a_counterexample_is_a_tied_row() -> None:
    seen = 0
    for model in MODELS:
        for n in (2, 3):
            for found in row_tally(model, n, LEAK).first.values():
                seen += 1
                scores = [s for s in found.scores if s is not None]
                top = max(scores)
                assert len(found.positions) > 1 and any(s < top for s in scores)
                ties = tuple(j for j, s in enumerate(found.scores) if s == top)
                assert ties == found.positions
    assert seen >= 3
    assert chunk(10) >= 64 and chunk(1) > chunk(100)
