"""Words up to the order of their symbols, for models whose keys do not see positions.

If every head sees every position, heads before the one layer that scores average, and positions
reach nothing but what the rows of that layer ask for, then what a row finds depends on its symbol,
its position and on how often each symbol occurs, the word's *bag*: of n symbols there are about
n^(k-1) bags instead of k^n words. Sorting is such a model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.weights import HeadEntries, LayerWeights, Weights, weights
from softhat.ahat.model import AHAT, Head, Layer
from softhat.numbers.positions import Feature, Named, floats

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
HeadId = tuple[int, int]
AT_ONCE = 1 << 18  # scores: what a cache holds
OFF = 1e-9  # more than float64 rounds here, in units of what is added up


@dataclass(frozen=True)
class Bags:
    """A model whose answers depend on the word's bag alone, and the layer where positions enter."""

    model: AHAT
    last: int  # the layer that scores
    moving: tuple[int, ...]  # coordinates that hold positions
    needed: tuple[int, ...]  # coordinates of its rows that matter in it and after it
    alike: bool  # … which are the same for all symbols and bags

    @cached_property
    def used(self) -> Weights:
        return weights(self.model)

    def kinds(self, n: int) -> tuple[Counts, Counts]:
        """The kinds of keys: rows of the embedding table (symbols, then sinks) and of the feature
        table, a symbol's first position standing for all."""
        bos, eos = int(self.model.bos), int(self.model.eos)
        places = [bos] * len(self.model.alphabet) + [0] * bos + [bos + n] * eos
        return np.arange(len(places)), np.array(places)

    def many(self, counts: Counts) -> Floats:
        """How many keys of each kind there are: of symbols by the bag, and one of each sink."""
        return np.concatenate([counts, np.ones((len(counts), self.model.sinks))], axis=1)

    def there(self, counts: Counts, n: int) -> npt.NDArray[np.bool_]:
        """(bags, rows): rows are positions 1 … n for each symbol in turn (for the first only, if
        all are alike); does the bag have the symbol?"""
        if self.alike:
            return np.ones((len(counts), n), dtype=bool)
        return np.repeat(counts > 0, n, axis=1)

    def dangerous(
        self, counts: Counts, n: int, gaps: Mapping[HeadId, float]
    ) -> npt.NDArray[np.bool_] | None:
        """(bags,): may keys of different values tie in a row? Scores closer than half the gap,
        which is proved from the weights, are equal. None if float64 cannot tell."""
        rows = n if self.alike else n * len(self.model.alphabet)
        step = max(1, AT_ONCE // (rows * (len(self.model.alphabet) + self.model.sinks)))
        parts = []
        for start in range(0, len(counts), step):
            part = self._tied(counts[start : start + step], n, gaps)
            if part is None:
                return None
            parts.append(part)
        return np.concatenate(parts)

    def _tied(
        self, counts: Counts, n: int, gaps: Mapping[HeadId, float]
    ) -> npt.NDArray[np.bool_] | None:
        """The same of bags whose scores are held at once."""
        x, many = self._before(counts, n), self.many(counts)
        dangerous = np.zeros(len(counts), dtype=bool)
        for h, head in enumerate(self.used.layers[self.last].heads):
            best = self._best(x, many, n, h, gaps)
            if best is None:
                return None
            bags, rows = np.nonzero(np.count_nonzero(best, axis=0) > 1)
            tied = best[:, bags, rows].T
            for v in np.moveaxis(x @ head.value.values.T, -1, 0):
                high = np.where(tied, v[bags], -np.inf).max(axis=1)
                low = np.where(tied, v[bags], np.inf).min(axis=1)
                dangerous[bags[high - low > OFF * np.abs(v).max()]] = True
        return dangerous

    def hard_values(self, counts: Counts, n: int, gaps: Mapping[HeadId, float]) -> Floats | None:
        """(bags, rows): what hard attention gives, up to `OFF`."""
        x, many = self._before(counts, n), self.many(counts)
        after = self._rows(x, n)
        for h, head in enumerate(self.used.layers[self.last].heads):
            best = self._best(x, many, n, h, gaps)
            if best is None:
                return None
            share = np.moveaxis(best, 0, 2) * many[:, None]
            mean = np.einsum("brg,bgd->brd", share, x @ head.value.values.T)
            after = after + mean / share.sum(axis=2)[..., None] @ head.output.values.T
        for layer in self.used.layers[self.last :]:
            after = _forward(layer, after)
        values: Floats = after @ self.used.readout.values[0] + self.used.bias.values[0]
        return values

    def _before(self, counts: Counts, n: int) -> Floats:
        """(bags, kinds, d): the keys of the layer that scores."""
        start, many = self._embedded(n), self.many(counts)
        x = np.broadcast_to(start, (len(counts), *start.shape))
        for layer in self.used.layers[: self.last]:
            averages = [_mean(x, many, head) for head in layer.heads]
            x = _forward(layer, sum(averages, x))
        return x

    def _best(
        self, x: Floats, many: Floats, n: int, h: int, gaps: Mapping[HeadId, float]
    ) -> npt.NDArray[np.bool_] | None:
        """(kinds, bags, rows): the argmax sets."""
        head = self.used.layers[self.last].heads[h]
        seen = (many > 0).T[..., None]
        rows = self._rows(x[:1] if self.alike else x, n)
        gap = gaps.get((self.last, h), math.inf)
        if not math.isfinite(gap):  # a head that is uniform
            return np.asarray(np.broadcast_to(seen, (*seen.shape[:2], rows.shape[1])))
        q, k = rows @ head.query.values.T, x @ head.key.values.T
        size = float(np.abs(q).max(initial=0.0) * np.abs(k).sum(axis=2).max(initial=0.0))
        if not gap > 8 * OFF * size:
            return None
        if self.alike:
            score = np.stack([k[:, g] @ q[0].T for g in range(k.shape[1])])
        else:
            score = np.einsum("brd,bgd->gbr", q, k)
        score = np.where(seen, score, -np.inf)
        return np.asarray(score >= score.max(axis=0) - gap / 2)

    def _embedded(self, n: int) -> Floats:
        symbols, places = self.kinds(n)
        embedded: Floats = self.used.tokens.values[symbols] + self._places(n)[places]
        return embedded

    def _places(self, n: int) -> Floats:
        model = self.model
        table = floats(model.positions, n, bos=model.bos, eos=model.eos)
        embedded: Floats = table @ self.used.places.values.T
        return embedded

    def _rows(self, x: Floats, n: int) -> Floats:
        """The kinds' vectors at every position."""
        bos, letters = int(self.model.bos), len(self.model.alphabet)
        letters = 1 if self.alike else letters
        rows = np.repeat(x[:, :letters], n, axis=1)
        moved = self.used.tokens.values[:letters, None] + self._places(n)[bos : bos + n]
        place = list(self.moving)
        rows[..., place] = moved.reshape(letters * n, -1)[:, place]
        return rows


@lru_cache(maxsize=256)
def bags_of(model: AHAT) -> Bags | None:
    """The model as one of bags, if it is one."""
    scoring = [l for l, layer in enumerate(model.layers) if any(map(_scores, layer.heads))]
    heads = [head for layer in model.layers for head in layer.heads]
    if len(scoring) != 1 or any(layer.heads for layer in model.layers[scoring[0] + 1 :]):
        return None
    if any(head.mask != "none" or head.ties != "average" for head in heads):
        return None
    last = scoring[0]
    moves = [k for k, feature in enumerate(model.positions) if not _everywhere(feature)]
    moving = {c for c, row in enumerate(model.position_embedding) if any(row[k] for k in moves)}
    written: set[int] = set()
    for layer in model.layers[:last]:
        written |= _written(layer)
        if moving & _read(layer):
            return None
    for head in model.layers[last].heads:
        rows = [*head.value, *(k for q, k in zip(head.query, head.key, strict=True) if any(q))]
        if moving & {c for row in rows for c, w in enumerate(row) if w}:
            return None
    needed = {c for c, w in enumerate(model.output_weights) if w}
    for layer in model.layers[last:]:
        units = () if layer.feed_forward is None else layer.feed_forward.in_weights
        asked = [q for h in layer.heads for q, k in zip(h.query, h.key, strict=True) if any(k)]
        needed |= {c for row in (*units, *asked) for c, w in enumerate(row) if w}
    if moving & written:
        return None
    same = all(len({vector[c] for vector in model.embedding}) == 1 for c in needed)
    alike = same and not needed & written
    return Bags(model, last, tuple(sorted(moving)), tuple(sorted(needed)), alike)


def all_bags(symbols: int, n: int) -> Counts:
    """(bags, symbols): how often each symbol occurs, for all words of length n."""
    bars = np.array(list(combinations(range(n + symbols - 1), symbols - 1)), dtype=np.int64)
    bars = bars.reshape(math.comb(n + symbols - 1, symbols - 1), symbols - 1)
    first, end = np.full((len(bars), 1), -1), np.full((len(bars), 1), n + symbols - 1)
    counts: Counts = np.diff(np.concatenate([first, bars, end], axis=1), axis=1) - 1
    return counts


def _everywhere(feature: Feature) -> bool:
    """The same at all positions and sinks."""
    return isinstance(feature, Named) and feature.name in ("1", "n")


def _scores(head: Head) -> bool:
    return any(any(q) and any(k) for q, k in zip(head.query, head.key, strict=True))


def _read(layer: Layer) -> set[int]:
    """What averages and hidden units read."""
    units = () if layer.feed_forward is None else layer.feed_forward.in_weights
    rows = [*units, *(row for head in layer.heads for row in head.value)]
    return {c for row in rows for c, w in enumerate(row) if w}


def _written(layer: Layer) -> set[int]:
    forward = layer.feed_forward
    outs = [head.output for head in layer.heads] + (
        [] if forward is None else [forward.out_weights]
    )
    coordinates = {c for out in outs for c, row in enumerate(out) if any(row)}
    return coordinates | {c for c, b in enumerate(() if forward is None else forward.out_bias) if b}


def _mean(x: Floats, many: Floats, head: HeadEntries) -> Floats:
    """What a head that averages adds, to every position alike."""
    share = many / many.sum(axis=1, keepdims=True)
    mean = np.einsum("bg,bgd->bd", share, x @ head.value.values.T)
    added: Floats = (mean @ head.output.values.T)[:, None]
    return added


def _forward(layer: LayerWeights, x: Floats) -> Floats:
    if layer.into is None or layer.out is None:
        return x
    assert layer.into_bias is not None and layer.out_bias is not None
    hidden = np.maximum(x @ layer.into.values.T + layer.into_bias.values[0], 0.0)
    after: Floats = x + hidden @ layer.out.values.T + layer.out_bias.values[0]
    return after
