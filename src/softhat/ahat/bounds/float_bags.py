"""Float error over all words of a length, bag by bag (Theorem 36).

Positions that hold the same symbol hold the same numbers, each with roundings of its own, so a row
has as many keys as there are symbols, each `many` times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from softhat.ahat.bounds.bags import OFF, Bags, Counts, HeadId, all_bags
from softhat.ahat.bounds.float_words import FloatRun
from softhat.ahat.bounds.weights import LayerWeights, Weights
from softhat.io.errors import VoidError
from softhat.numerics.entries import Entries
from softhat.numerics.formats import Format
from softhat.numerics.noise import Noisy

AT_ONCE = 40_000  # rows


def rows_of_bags(bags: Bags, n: int) -> int:
    """How many rows all bags of length n have."""
    symbols = len(bags.model.alphabet)
    return math.comb(n + symbols - 1, symbols - 1) * n * (1 if bags.alike else symbols)


def bags_error(
    bags: Bags,
    n: int,
    betas: Mapping[HeadId, float],
    gaps: Mapping[HeadId, float],
    form: Format,
    tied: bool,
) -> float:
    """A bound on |float value - hard value| over all words of length n, or (`tied`) over those
    in which keys of different values tie; inf if there is none."""
    symbols = len(bags.model.alphabet)
    worst, step = 0.0, max(1, AT_ONCE // (n * (1 if bags.alike else symbols)))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        counts = all_bags(symbols, n)
        chosen = bags.dangerous(counts, n, gaps) if tied else np.ones(len(counts), dtype=bool)
        if chosen is None:
            return math.inf
        counts = counts[chosen]
        for start in range(0, len(counts), step):
            try:
                error = _error(bags, counts[start : start + step], n, betas, gaps, form)
            except VoidError:
                return math.inf
            worst = max(worst, error)
            if not math.isfinite(worst):
                return math.inf
    return worst


def _error(
    bags: Bags,
    counts: Counts,
    n: int,
    betas: Mapping[HeadId, float],
    gaps: Mapping[HeadId, float],
    form: Format,
) -> float:
    hard = bags.hard_values(counts, n, gaps)
    if hard is None:
        return math.inf
    run = FloatRun(bags.used, betas, form)
    symbols, places = bags.kinds(n)
    x = run.embedding(symbols[None], places, n)
    x = _wide(x, len(counts))
    many = bags.many(counts)
    for l in range(bags.last):
        x = run.layer(l, x, x, many)
    after = FloatRun(_narrowed(bags), betas, form)
    rows = _rows(bags, run, x, n)
    for l in range(bags.last, len(bags.used.layers)):
        rows = after.layer(l, rows, x, many)
    values = after.read(rows)
    away = np.abs(values.centre - hard) + values.radius
    size = float(np.abs(hard).max() + np.abs(values.centre).max())
    away = np.where(bags.there(counts, n), away, 0.0)
    return float(away.max()) * (1 + 1e-9) + OFF * size


def _wide(x: Noisy, words: int) -> Noisy:
    """The same for every word."""
    return Noisy(
        np.broadcast_to(x.centre, (words, *x.centre.shape[1:])),
        np.broadcast_to(x.noise, (words, *x.noise.shape[1:])),
    )


def _rows(bags: Bags, run: FloatRun, x: Noisy, n: int) -> Noisy:
    """The symbols at every position, of the coordinates that matter: what was computed of them,
    and for those that hold positions the embedding."""
    letters, bos = (1 if bags.alike else len(bags.model.alphabet)), int(bags.model.bos)
    needed, moving = list(bags.needed), [c in bags.moving for c in bags.needed]
    tokens = np.repeat(np.arange(letters), n)
    placed = run.embedding(tokens[None], np.tile(np.arange(bos, bos + n), letters), n)
    centre = np.repeat(x.centre[:, :letters], n, axis=1)[..., needed]
    noise = np.repeat(x.noise[:, :letters], n, axis=1)[..., needed, :]
    centre[..., moving] = placed.centre[..., needed][..., moving]
    noise[..., moving, :] = 0.0
    own = np.zeros(centre.shape)
    own[..., moving] = placed.radius[..., needed][..., moving]
    return Noisy(centre, noise).plus_noise(own)


def _narrowed(bags: Bags) -> Weights:
    """The layers from the scoring one on, for rows of the coordinates that matter; keys keep all
    of theirs."""
    needed = list(bags.needed)
    layers = []
    for layer in bags.used.layers:
        heads = tuple(
            replace(head, query=_columns(head.query, needed), output=_rows_of(head.output, needed))
            for head in layer.heads
        )
        layers.append(_forward(replace(layer, heads=heads), needed))
    readout = _columns(bags.used.readout, needed)
    return replace(bags.used, layers=tuple(layers), readout=readout)


def _forward(layer: LayerWeights, needed: list[int]) -> LayerWeights:
    if layer.into is None or layer.out is None or layer.out_bias is None:
        return layer
    return replace(
        layer,
        into=_columns(layer.into, needed),
        out=_rows_of(layer.out, needed),
        out_bias=_columns(layer.out_bias, needed),
    )


def _columns(x: Entries, columns: list[int]) -> Entries:
    return Entries(
        x.values[:, columns], x.size[:, columns], x.step[:, columns], x.digits[:, columns]
    )


def _rows_of(x: Entries, rows: list[int]) -> Entries:
    return Entries(x.values[rows], x.size[rows], x.step[rows], x.digits[rows])
