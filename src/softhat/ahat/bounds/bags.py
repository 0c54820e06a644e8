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

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.weights import HeadEntries, LayerWeights, Weights, weights
from softhat.ahat.model import AHAT, Head, Layer
from softhat.numbers.positions import Feature, Named, floats
from softhat.numerics.entries import Entries

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
HeadId = tuple[int, int]
AT_ONCE = 1 << 19  # scores: what a cache holds
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
        """(bags, rows): may keys of different values tie? Scores closer than half the gap, which
        is proved from the weights, are equal. None if float64 cannot tell."""
        rows = n if self.alike else n * len(self.model.alphabet)
        step = max(1, AT_ONCE // (rows * (len(self.model.alphabet) + self.model.sinks)))
        parts = []
        for start in range(0, len(counts), step):
            part = self._tied(counts[start : start + step], n, gaps)
            if part is None:
                return None
            parts.append(part)
        return np.concatenate(parts) & self.there(counts, n)

    def _tied(
        self, counts: Counts, n: int, gaps: Mapping[HeadId, float]
    ) -> npt.NDArray[np.bool_] | None:
        """The same of bags whose scores are held at once."""
        x, many = self._before(counts, n), self.many(counts)
        dangerous = np.zeros(self.there(counts, n).shape, dtype=bool)
        for h, head in enumerate(self.used.layers[self.last].heads):
            best = self._best(x, many, n, h, gaps)
            if best is None:
                return None
            bags, rows = np.nonzero(best.view(np.uint8).sum(axis=0, dtype=np.uint8) > 1)
            tied = best[:, bags, rows]
            for v in _applied(head.value, x):
                high = np.where(tied, v[:, bags], -np.inf).max(axis=0)
                low = np.where(tied, v[:, bags], np.inf).min(axis=0)
                apart = high - low > OFF * np.abs(v).max()
                dangerous[bags[apart], rows[apart]] = True
        return dangerous

    def hard_values(
        self, counts: Counts, n: int, gaps: Mapping[HeadId, float], chosen: Counts
    ) -> Floats | None:
        """(bags, chosen rows of each): what hard attention gives, up to `OFF`."""
        x, many = self._before(counts, n), self.many(counts)
        after = self._rows(x, n, chosen.T)
        for h, head in enumerate(self.used.layers[self.last].heads):
            best = self._best(x, many, n, h, gaps)
            if best is None:
                return None
            share = np.take_along_axis(best, chosen[None], axis=2) * many.T[..., None]
            mean = np.einsum("gbr,vgb->vrb", share, _applied(head.value, x)) / share.sum(axis=0).T
            _add(after, head.output, mean)
        for layer in self.used.layers[self.last :]:
            _feed_forward(layer, after)
        values: Floats = _applied(self.used.readout, after)[0].T + self.used.bias.values[0]
        return values

    def _before(self, counts: Counts, n: int) -> Floats:
        """(d, kinds, bags): the keys of the layer that scores."""
        start, many = self._embedded(n), self.many(counts)
        x = np.repeat(start.T[..., None], len(counts), axis=2)
        for layer in self.used.layers[: self.last]:
            means = [_mean(x, many, head) for head in layer.heads]
            for head, mean in zip(layer.heads, means, strict=True):
                _add(x, head.output, mean)
            _feed_forward(layer, x)
        return x

    def _best(
        self, x: Floats, many: Floats, n: int, h: int, gaps: Mapping[HeadId, float]
    ) -> npt.NDArray[np.bool_] | None:
        """(kinds, bags, rows): the argmax sets."""
        head = self.used.layers[self.last].heads[h]
        seen = (many > 0).T
        rows = self._rows(x[..., :1] if self.alike else x, n)
        gap = gaps.get((self.last, h), math.inf)
        if not math.isfinite(gap):  # a head that is uniform
            return np.repeat(seen[..., None], rows.shape[1], axis=2)
        q, k = _applied(head.query, rows), _applied(head.key, x)
        size = float(np.abs(q).max(initial=0.0) * np.abs(k).sum(axis=0).max(initial=0.0))
        if not gap > 8 * OFF * size:
            return None
        if self.alike:
            score = np.matmul(k.transpose(1, 2, 0), q[..., 0])
        else:
            score = np.einsum("drb,dgb->gbr", q, k)
        score[~seen] = -np.inf
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

    def _rows(self, x: Floats, n: int, chosen: Counts | None = None) -> Floats:
        """(d, rows, bags): the kinds' vectors at every position, or in the chosen rows of each."""
        bos, letters = int(self.model.bos), 1 if self.alike else len(self.model.alphabet)
        chosen = np.arange(letters * n)[:, None] if chosen is None else chosen
        rows = x[:, chosen // n, np.arange(x.shape[2])]
        moved = self.used.tokens.values[:letters, None] + self._places(n)[bos : bos + n]
        place = list(self.moving)
        rows[place] = moved.reshape(letters * n, -1).T[place][:, chosen]
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
    counts, left = np.zeros((1, 0), dtype=np.int64), np.array([n])
    for _ in range(symbols - 1):
        # Each bag so far goes on with 0, 1, … of what is left.
        bags = np.repeat(np.arange(len(left)), left + 1)
        first = np.cumsum(left + 1) - (left + 1)
        more = np.arange(len(bags)) - first[bags]
        counts = np.concatenate([counts[bags], more[:, None]], axis=1)
        left = left[bags] - more
    return np.concatenate([counts, left[:, None]], axis=1)


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


def _applied(matrix: Entries, x: Floats) -> Floats:
    """matrix · x of (d, …): one product of two matrices."""
    used = np.flatnonzero(matrix.values.any(axis=0))
    image: Floats = matrix.values[:, used] @ x[used].reshape(len(used), -1)
    return image.reshape(-1, *x.shape[1:])


def _add(x: Floats, matrix: Entries, y: Floats) -> None:
    """x += matrix · y, where the matrix writes."""
    used = np.flatnonzero(matrix.values.any(axis=1))
    x[used] += (matrix.values[used] @ y.reshape(len(y), -1)).reshape(len(used), *y.shape[1:])


def _mean(x: Floats, many: Floats, head: HeadEntries) -> Floats:
    """(d_v, 1, bags): what a head that averages finds, at every position alike."""
    share = many / many.sum(axis=1, keepdims=True)
    return np.einsum("bg,vgb->vb", share, _applied(head.value, x))[:, None]


def _feed_forward(layer: LayerWeights, x: Floats) -> None:
    """The second half of a layer, in place."""
    if layer.into is None or layer.out is None:
        return
    assert layer.into_bias is not None and layer.out_bias is not None
    hidden = _applied(layer.into, x) + layer.into_bias.values[0][:, None, None]
    _add(x, layer.out, np.maximum(hidden, 0.0, out=hidden))
    bias = layer.out_bias.values[0]
    x[bias != 0] += bias[bias != 0][:, None, None]
