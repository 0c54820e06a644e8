"""What the heads of a model read of some words, beside what it answers.

Words of several lengths run together: row i of each stands beside row i of the others, the longest
words first. Rows that a word does not have weigh nothing in the sums of the others
(`Attention.of_lengths`), so each word is read as it is among words of its own length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.runtime.dense import OVERFLOW, Ready, ReadyHead, Words
from softhat.transformer.weights import inverse_temperature

Array = NDArray[Any]


@dataclass(frozen=True)
class Heard:
    """What was read and answered at the words' own positions; 0 where a word has fewer."""

    lengths: Array
    """(words,): the longest first, those of a group side by side."""
    starts: tuple[int, ...]
    """Where each group's words begin."""
    reads: tuple[Array, ...]
    """For each layer (heads, d_v, positions, words)."""
    answers: Array
    """The margins (outputs, positions, words)."""

    def margins(self, group: int) -> Array:
        """(words, n, outputs): those of the words of a group."""
        start = self.starts[group]
        n = int(self.lengths[start])
        stop = start + np.count_nonzero(self.lengths == n)
        return self.answers[:, :n, start:stop].transpose(2, 1, 0)


@OVERFLOW
def listen(ready: Ready, groups: Sequence[Array]) -> Heard:
    """Run words, those of each group of one length, which no other group has."""
    t = ready.transformer
    order = sorted(range(len(groups)), key=lambda g: -groups[g].shape[1])
    sizes = np.array([len(groups[g]) for g in order])
    lengths = np.repeat([groups[g].shape[1] for g in order], sizes)
    n, words = int(lengths[0]), len(lengths)
    rows = n + len(t.sinks)
    starts = dict(zip(order, (np.cumsum(sizes) - sizes).tolist(), strict=True))
    x = np.zeros((t.d_model, rows, words), ready.form.accumulate)
    for g, tokens in enumerate(groups):
        part = ready.embed(tokens).transpose(2, 1, 0)
        x[:, : part.shape[1], starts[g] : starts[g] + len(tokens)] = part
    domain = Words(ready, rows, words, keep=False)
    if len(groups) > 1:
        domain = OfLengths(ready, lengths)
    x = x.reshape(t.d_model, rows * words)
    reads = []
    for layer in ready.layers:
        x = ready.through(domain, layer, x)
        none = np.zeros((0, layer.d_v, rows * words))
        reads.append(domain.read if layer.heads and domain.read is not None else none)
    own = [
        a.reshape(*a.shape[:-1], rows, words)[..., t.own(n), :] for a in (*reads, ready.read_out(x))
    ]
    if len(groups) > 1:
        beyond = np.arange(n)[:, None] >= lengths
        for array in own:
            np.copyto(array, 0, where=beyond)
    return Heard(lengths, tuple(starts[g] for g in range(len(groups))), tuple(own[:-1]), own[-1])


class OfLengths(Words):
    """Columns are the rows of words of different lengths, each row's words side by side."""

    def __init__(self, ready: Ready, lengths: Array) -> None:
        sinks = len(ready.transformer.sinks)
        super().__init__(ready, int(lengths[0]) + sinks, len(lengths), keep=False)
        self.lengths, self.own_rows = lengths, lengths + sinks

    def attend(self, query: Array, key: Array, value: Array, head: ReadyHead) -> Array:
        q, k, v = (x.reshape(self.shape) for x in (query, key, value))
        betas = {int(n): inverse_temperature(head.law, int(n)) for n in np.unique(self.lengths)}
        beta: float | Array = next(iter(betas.values()))
        if len(set(betas.values())) > 1:
            beta = np.array([betas[n] for n in self.lengths.tolist()])
        out = self.attention.of_lengths(q, k, v, head.mask, beta, self.own_rows)
        return out.reshape(value.shape)
