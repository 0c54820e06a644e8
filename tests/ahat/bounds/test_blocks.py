"""Blocks of positions: their ranges hold what the features are, their masks what rows see."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from softhat.ahat import Builder
from softhat.ahat.bounds.blocks import Blocks, blocks
from softhat.ahat.bounds.envelope import envelope
from softhat.ahat.bounds.weights import weights
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT, BOS, EOS, Mask
from softhat.numbers.positions import NAMES, DigitFeature, Feature, Mod, Named, Table, exact
from tests.ahat.models import random_deep, random_model, random_program

FEATURES: tuple[Feature, ...] = (
    *(Named(name) for name in NAMES),
    Mod(3, 1),
    DigitFeature(1, 1, 0, 0),
    Table(tuple(Fraction(k * k, 3) for k in range(60))),
)
MASKS: tuple[Mask, ...] = ("none", "<=", "<", ">=", ">")


def model(bos: bool) -> AHAT:
    b = Builder("ab", bos=bos)
    b.output(b.token("a") + b.position("i"))
    return b.build()


def block_of(found: Blocks, i: int, n: int) -> int:
    for at, b in enumerate(found.parts):
        if (b.sink == BOS and i == 0) or (b.sink == EOS and i == n + 1):
            return at
        if b.sink is None and 1 <= i <= n and b.first <= i <= b.last:
            return at
    raise AssertionError((i, n))


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("stretch", [(1, 1), (3, 3), (5, 9), (17, 40)])
def test_features_lie_in_their_ranges(stretch: tuple[int, int], bos: bool) -> None:
    found = blocks(model(bos), *stretch)
    for n in range(stretch[0], stretch[1] + 1):
        for i, row in enumerate(exact(FEATURES, n, bos=bos), 0 if bos else 1):
            block = found.parts[block_of(found, i, n)]
            for feature, value in zip(FEATURES, row, strict=True):
                low, high = found.feature(feature, block, bos)
                assert low - 1e-12 <= value <= high + 1e-12, (feature, i, n)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("bos", [False, True])
def test_masks_of_blocks(mask: Mask, bos: bool) -> None:
    """What a row sees is seen by its block, and what its block must see it sees."""
    ends = replace(model(bos), eos_embedding=model(bos).embedding[0])
    for low, high in ((1, 1), (2, 5), (6, 6), (9, 14)):
        found = blocks(ends, low, high)
        seen, sure = found.seen(mask), found.surely(mask)
        for n in range(low, high + 1):
            places = range(0 if bos else 1, n + 2)
            for i in places:
                row = block_of(found, i, n)
                keys = [
                    j for j in places
                    if {"none": True, "<=": j <= i, "<": j < i, ">=": j >= i, ">": j > i}[mask]
                ]  # fmt: skip
                visible = {block_of(found, j, n) for j in keys}
                assert all(seen[row, b] for b in visible), (mask, i, n)
                assert all(b in visible for b in np.flatnonzero(sure[row])), (mask, i, n)


@pytest.mark.parametrize("seed", range(6))
def test_boxes_hold_exact_activations(seed: int) -> None:
    """Of hard attention, on random words: every layer of random models and of the gallery."""
    rng = random.Random(seed)
    sources = [f(rng) for f in (random_model, random_deep, random_program)]
    sources.append(GALLERY[rng.choice(list(GALLERY))]())
    for source in sources:
        if source.longest is not None or any(
            head.ties != "average" for layer in source.layers for head in layer.heads
        ):
            continue
        n = rng.randint(1, 9)
        low, high = rng.randint(1, n), n + rng.randint(0, 3)
        found = blocks(source, low, high)
        befores = envelope(weights(source), found)
        word = rng.choices(source.alphabet, k=n)
        trace = source.run(word)
        start = 0 if source.bos else 1
        for box, residual in zip(befores, trace.residual, strict=True):
            for i, row in enumerate(np.asarray(residual), start):
                at = block_of(found, i, n)
                assert (row >= box.low[at] - 1e-9).all() and (row <= box.high[at] + 1e-9).all()
