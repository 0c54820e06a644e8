"""Rows, gaps and critical β added up over all words, against the definition row by row."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from softhat.ahat.analysis.structure import looks_back
from softhat.ahat.analysis.tally import Tally, chunk, row_tally
from softhat.ahat.exact import last_rows, run
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT, Layer
from softhat.ahat.words import all_words
from tests.ahat import definition
from tests.ahat.models import random_deep, random_model, random_program

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


def looking_back() -> list[AHAT]:
    """Models whose rows depend on nothing behind them: the gallery's, and random ones."""
    rng = random.Random(7)
    made = [GALLERY[name]() for name in GALLERY]
    for k in range(60):
        model = (random_model, random_program, random_deep)[k % 3](rng)
        layers = tuple(
            Layer(
                tuple(replace(head, mask=rng.choice(["<=", "<"])) for head in layer.heads),
                layer.feed_forward,
            )
            for layer in model.layers
        )
        made.append(replace(model, layers=layers))
    return [model for model in made if looks_back(model)]


def test_last_rows_and_prefixes_are_all_rows() -> None:
    models = looking_back()
    assert len(models) >= 25 and sum(model.bos for model in models) >= 5
    counterexamples = 0
    for model in models:
        shorter = row_tally(model, 1, LEAK)
        for n in range(2, 5):
            whole, parts = row_tally(model, n, LEAK), Tally(model, LEAK)
            for codes in all_words(len(model.alphabet), n, 20):
                parts.add_last(codes, last_rows(model, codes))
            parts.add_prefixes(n, shorter)
            assert parts.rows[n] == whole.rows[n] and parts.gaps[n] == whole.gaps[n]
            assert parts.first == whole.first
            assert parts.several == {k: v or shorter.several[k] for k, v in whole.several.items()}
            assert parts.varying == {k: v or shorter.varying[k] for k, v in whole.varying.items()}
            assert parts.betas[n] == pytest.approx(whole.betas[n], rel=1e-9)
            for name, profile in whole.profiles.get(n, {}).items():
                found = parts.profiles[n][name]
                assert found.critical_beta(LEAK) == pytest.approx(profile.critical_beta(LEAK))
            counterexamples += len(whole.first)
            shorter = parts
    assert counterexamples >= 10


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
