"""How large activations can be at a length, whatever the attention weights: interval arithmetic.

The sizes that Theorem 31 needs: its e_j are roundings of numbers in these boxes, its D_j at least
the distance of the boxes that the scores of two blocks lie in. An average lies between the least
and the greatest of what it averages, so the boxes hold for hard attention, for softmax at any
temperature and for everything between. They are kept for each block of positions; the mean of keys
1 … i moves one way while i passes through a block, so its extremes are those at the block's ends.
Hidden units that read the same are taken together: what they write is a piecewise linear function
of one number, with its extremes at the kinks (Theorem 34): a clip lies in [0, 1], not in the sum of
two ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.blocks import Blocks
from softhat.ahat.bounds.weights import HeadEntries, LayerWeights, Weights
from softhat.ahat.model import BOS, EOS
from softhat.numerics import walk
from softhat.numerics.boxes import Box, Boxes
from softhat.numerics.entries import Entries

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]


class Envelope(Boxes):
    """One layer in boxes of each block of positions. A head's value and output are applied to the
    stream in one step. Hidden units that read the same are bounded together."""

    def __init__(self, blocks: Blocks, layer: LayerWeights, before: Box) -> None:
        self.blocks, self.layer, self.before = blocks, layer, before

    def linear(self, x: Box, matrix: Entries) -> Box:
        if x.sums is None:
            return super().linear(x, matrix)
        assert self.layer.into_bias is not None
        bias, sums = self.layer.into_bias.values[0], x.sums
        nothing = np.zeros((len(sums.low), len(matrix.values)))
        written = Box(nothing, nothing)
        for units in self.layer.alike:
            low, high = sums.low[:, units[:1]], sums.high[:, units[:1]]
            bends = np.clip(-bias[units], low, high)
            points = np.concatenate([low, bends, high], axis=1)
            active = np.maximum(points[:, :, None] + bias[units], 0)
            with np.errstate(over="ignore", invalid="ignore"):
                ends = active @ matrix.values[:, units].T
            written = written.plus(Box(ends.min(axis=1), ends.max(axis=1)))
        return written

    def attend(self, query: Box, key: Box, value: Box, head: HeadEntries) -> Box:
        return attended(value, head, self.blocks)

    def gather(self, reads: Sequence[Box], layer: Any) -> Box:
        first, *others = (
            attended(self.before.through(head.written), head, self.blocks) for head in layer.heads
        )
        for written in others:
            first = first.plus(written)
        return first


def envelope(used: Weights, blocks: Blocks) -> list[Box]:
    """The boxes before every layer and at the end, for all words of these lengths."""
    boxes = [embedding_box(used, blocks)]
    for layer in used.layers:
        domain = Envelope(blocks, layer, boxes[-1])
        x = walk.attention(domain, layer, boxes[-1])
        boxes.append(x if layer.into is None else walk.feed_forward(domain, layer, x))
    return boxes


def attended(value: Box, head: HeadEntries, blocks: Blocks) -> Box:
    """What a head finds of a value; where it has no scores, the mean of all keys it sees."""
    hull = value.seen(blocks.seen(head.mask), head.mask in ("<", ">"))
    if len(head.query.values) or head.mask not in ("none", "<="):
        return hull
    low, high = hull.low.copy(), hull.high.copy()
    for at, block in enumerate(blocks.parts):
        # The mean of a growing stretch of keys moves one way while it grows within a block.
        ends = blocks.lengths if head.mask == "none" or block.sink else (block.first, block.last)
        if block.sink == BOS and head.mask == "<=":
            ends = (0,)
        far = head.mask == "none" or block.sink == EOS
        shares = [blocks.shares(n, far) for n in ends]
        low[at] = np.maximum(low[at], np.min([w @ value.low for w in shares], axis=0))
        high[at] = np.minimum(high[at], np.max([w @ value.high for w in shares], axis=0))
    return Box(low, high).widened()


def embedding_box(used: Weights, blocks: Blocks) -> Box:
    """What tokens and positions give."""
    return walk.embedding(Boxes(), used.places, token_box(used, blocks), feature_box(used, blocks))


def token_box(used: Weights, blocks: Blocks) -> Box:
    """The ranges of the tokens that may stand in a block."""
    rows = [used.tokens.values[r] for r in symbol_rows(used, blocks)]
    return Box(np.stack([r.min(axis=0) for r in rows]), np.stack([r.max(axis=0) for r in rows]))


def symbol_rows(used: Weights, blocks: Blocks) -> list[slice]:
    """For each block the rows of the embedding that may stand there: symbols, or its sink."""
    model = used.model
    symbols = len(model.alphabet)
    sinks = {BOS: symbols, EOS: symbols + model.bos}
    return [
        slice(0, symbols) if b.sink is None else slice(sinks[b.sink], sinks[b.sink] + 1)
        for b in blocks.parts
    ]


def feature_box(used: Weights, blocks: Blocks) -> Box:
    """The ranges of the position features."""
    model = used.model
    ranges = np.array(
        [[blocks.feature(f, b, model.bos) for f in model.positions] for b in blocks.parts]
    ).reshape(len(blocks.parts), len(model.positions), 2)
    return Box(ranges[..., 0], ranges[..., 1])
