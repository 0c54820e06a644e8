"""Float error over all words of a length, bag by bag (Theorem 36).

Positions that hold the same symbol hold the same numbers, each with roundings of its own, so a row
has as many keys as there are symbols, each `many` times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.bags import OFF, Bags, Counts, HeadId, all_bags
from softhat.ahat.bounds.float_words import FloatRun
from softhat.ahat.bounds.weights import LayerWeights, Weights
from softhat.io.errors import VoidError
from softhat.numerics.entries import Entries
from softhat.numerics.formats import Format
from softhat.numerics.zonotopes import Zonotope

AT_ONCE = 100_000  # numbers of keys and rows, each with its noise


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
    """A bound on |float value - hard value| over all rows of all words of length n, or (`tied`)
    over the rows in which keys of different values tie; inf if there is none."""
    worst = 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        counts = all_bags(len(bags.model.alphabet), n)
        chosen = bags.dangerous(counts, n, gaps) if tied else bags.there(counts, n)
        if chosen is None:
            return math.inf
        some = chosen.any(axis=1)
        counts, chosen = counts[some], chosen[some]
        rows = int(chosen.sum(axis=1).max(initial=0))
        keys = len(bags.model.vectors) * bags.model.d_model
        step = max(1, AT_ONCE // (keys + rows * len(bags.needed)))
        for start in range(0, len(counts), step):
            here = slice(start, start + step)
            try:
                error = _error(bags, counts[here], _places_of(chosen[here]), n, betas, gaps, form)
            except VoidError:
                return math.inf
            worst = max(worst, error)
            if not math.isfinite(worst):
                return math.inf
    return worst


def _places_of(chosen: npt.NDArray[np.bool_]) -> Counts:
    """(bags, most of them): where each bag's chosen rows are, its first again where it has fewer;
    each bag has one."""
    most = int(chosen.sum(axis=1).max())
    order = np.argsort(~chosen, axis=1, kind="stable")[:, :most]
    return np.where(np.take_along_axis(chosen, order, axis=1), order, order[:, :1])


def _error(
    bags: Bags,
    counts: Counts,
    chosen: Counts,
    n: int,
    betas: Mapping[HeadId, float],
    gaps: Mapping[HeadId, float],
    form: Format,
) -> float:
    hard = bags.hard_values(counts, n, gaps, chosen)
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
    rows = _rows(bags, run, x, n, chosen)
    for l in range(bags.last, len(bags.used.layers)):
        rows = after.layer(l, rows, x, many)
    values = after.read(rows)
    away = np.abs(values.centre - hard) + values.radius
    size = float(np.abs(hard).max() + np.abs(values.centre).max())
    return float(away.max()) * (1 + 1e-9) + OFF * size


def _wide(x: Zonotope, words: int) -> Zonotope:
    """The same for every word."""
    return Zonotope(
        np.broadcast_to(x.centre, (words, *x.centre.shape[1:])),
        np.broadcast_to(x.generators, (words, *x.generators.shape[1:])),
    )


def _rows(bags: Bags, run: FloatRun, x: Zonotope, n: int, chosen: Counts) -> Zonotope:
    """The chosen rows of each bag (symbols at positions), of the coordinates that matter: what was
    computed of them, and for those that hold positions the embedding."""
    letters, bos = (1 if bags.alike else len(bags.model.alphabet)), int(bags.model.bos)
    needed, moving = list(bags.needed), [c in bags.moving for c in bags.needed]
    tokens = np.repeat(np.arange(letters), n)
    placed = run.embedding(tokens[None], np.tile(np.arange(bos, bos + n), letters), n)
    bag, letter = np.arange(len(chosen))[:, None], chosen // n
    centre = x.centre[..., needed][bag, letter]
    generators = x.generators[..., needed][bag, letter]
    centre[..., moving] = placed.centre[0][..., needed][chosen][..., moving]
    generators[..., moving] = 0.0
    own = np.zeros(centre.shape)
    own[..., moving] = placed.radius[0][..., needed][chosen][..., moving]
    return Zonotope(centre, generators, own).folded()


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
