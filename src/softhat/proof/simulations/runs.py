"""All words of a length: hard attention exactly, and an interval for softmax at every position.

Both are the walk of a layer (`numerics.walk`): in whole numbers over one denominator, many words at
once, and in intervals of float64 numbers that are rounded outwards after every step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from softhat.numbers import positions
from softhat.numerics import walk
from softhat.numerics.exact import Exact, Scaled, integers
from softhat.numerics.intervals import Interval, Intervals, around_all
from softhat.proof.simulations.source import HeadId, SourceHead, SourceModel

CHUNK = 60_000  # numbers of the residual stream that are run together


def chunks(source: SourceModel, n: int) -> Iterator[npt.NDArray[np.int64]]:
    """Every word of length n, as symbol numbers, some at a time."""
    each = max(1, CHUNK // ((n + 2) * max(1, source.width)))
    words = itertools.product(range(len(source.alphabet)), repeat=n)
    while some := list(itertools.islice(words, each)):
        yield np.array(some, np.int64).reshape(len(some), n)


def hard(source: SourceModel, words: npt.NDArray[np.int64]) -> Scaled:
    """The values of hard attention at the positions of each word."""
    x, domain = _embedded(source, words), Exact()
    for layer in source.layers:
        x = walk.attention(domain, layer, x)
        if layer.forward is not None:
            x = walk.feed_forward(domain, layer.forward, x)
    own = Scaled(x.num[:, _own(source, words)], x.den)
    values = walk.read_out(domain, (source.weights,), (source.bias,), own)
    return Scaled(values.num[..., 0], values.den)


def soft(
    source: SourceModel, words: npt.NDArray[np.int64], betas: Mapping[HeadId, Fraction]
) -> Interval:
    """An interval for the softmax model's value at each position of each word."""
    x, domain = around_all(_embedded(source, words)), Intervals()
    with np.errstate(all="ignore"):  # what overflows is an end at infinity, or no number
        for l, layer in enumerate(source.layers):
            heads = [_soft(head, betas[l, h]) for h, head in enumerate(layer.heads)]
            x = walk.attention(domain, walk.Heads(heads), x)
            if layer.forward is not None:
                x = walk.feed_forward(domain, layer.forward, x)
        own = x[:, _own(source, words)]
        values = walk.read_out(domain, (source.weights,), (source.bias,), own)
    return values[..., 0]


def _soft(head: SourceHead, beta: Fraction) -> walk.SoftHead:
    return walk.SoftHead(beta, head.mask, head.query, head.key, head.value, head.output)


def _own(source: SourceModel, words: npt.NDArray[np.int64]) -> slice:
    """The rows of a word, among those of its sinks."""
    first = int(source.bos is not None)
    return slice(first, first + words.shape[1])


def _embedded(source: SourceModel, words: npt.NDArray[np.int64]) -> Scaled:
    """Tokens and positions; the sinks stand first and last."""
    n, bos, eos = words.shape[1], source.bos is not None, source.eos is not None
    sinks = tuple(v for v in (source.bos, source.eos) if v is not None)
    tokens, den = integers((*source.tokens, *sinks))
    codes = np.pad(words, ((0, 0), (int(bos), int(eos))))
    if bos:
        codes[:, 0] = len(source.tokens)
    if eos:
        codes[:, -1] = len(tokens) - 1
    features = Scaled(*integers(tuple(positions.exact(source.features, n, bos=bos, eos=eos))))
    return walk.embedding(Exact(), source.places, Scaled(tokens[codes], den), features)
