"""All words of a length at once, each at every position, as far as that has not been checked.

A model's margins are computed once for all words that agree in what they follow from
(`runtime.merged`), its formulas' truth for 64 words in a machine word. Where a model looks one way
and its formulas do, too, and nothing tells how long the word is, a word's positions say what
shorter words say: one block of all words of a length is one of all shorter words, too, and of words
that are longer still one position is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.logic.fragments import FUTURE, NEEDS_END, PAST, symbols_of
from softhat.logic.semantics import batch
from softhat.logic.semantics.batch import evaluate_many
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.walk import distinct
from softhat.models.model import Model
from softhat.models.verification.words import Tokens
from softhat.runtime.dense import Ready
from softhat.runtime.merged import Merged, all_words, direction, is_settled
from softhat.transformer.weights import Transformer

FEWEST = 1 << 12
"""Fewer words are run one by one."""
HELD = 1 << 24
"""Numbers that a block may hold."""
NEEDS_START = (nodes.First, nodes.Mod, nodes.At, nodes.Position, nodes.Length)
"""What a formula that looks ahead cannot know at a position besides the past: where it is."""


class WordBlocks:
    """A model's words, those of a block at once."""

    def __init__(self, model: Model, table: Tokens, dtype: str) -> None:
        self.model, self.table, self.dtype = model, table, dtype
        self.k = len(table)
        self.formulas = [model.formulas[name] for name in model.transformer.outputs]

    @cached_property
    def ready(self) -> Ready:
        return self.model.ready(self.dtype)

    @cached_property
    def way(self) -> int | None:
        """1 where model and formulas look back only, -1 where they look ahead only, else None."""
        way = direction(self.model.transformer)
        against = FUTURE if way == 1 else PAST
        return None if self._speak_of(*against, nodes.CountAll) else way

    def _speak_of(self, *kinds: type[nodes.Node]) -> bool:
        return any(isinstance(node, kinds) for node, _ in distinct(*self.formulas)[0])

    def settled(self, n: int) -> bool:
        """Whether words of length n say at one end only what shorter ones have not."""
        if self.way is None or n == 1:
            return False
        unknown = (*NEEDS_END, nodes.At) if self.way == 1 else NEEDS_START
        return not self._speak_of(*unknown) and is_settled(self.ready, n)

    def free(self, n: int, most: int) -> int:
        """How many letters are free in a block of at most so many words of length n; 0 where words
        had better be run one by one."""
        widest = max((len(layer.heads) for layer in self.ready.layers), default=0)
        rows = 2 if self.way else n + 2  # where a row is the same for words with the same beginning
        most = min(most, HELD // (rows * (2 + widest)))
        length = 0
        while length < n and self.k > 1 and self.k ** (length + 1) <= most:
            length += 1
        return length if self.k**length >= FEWEST else 0

    def least_margins(
        self, n: int, start: int, free: int, shorter: bool = False
    ) -> NDArray[Any] | None:
        """Each output's least margin in the words from number `start` on that agree with it but for
        the last `free` letters, at the positions that shorter words do not show, or at all for
        the `shorter` ones; None if one of them is wrong."""
        fixed = [start // self.k ** (n - 1 - at) % self.k for at in range(n - free)]
        positions = range(n)
        if self.settled(n) and not shorter:
            positions = range(n - 1, n) if self.way == 1 else range(1)
        merged = Merged(self.ready, self.table, *all_words(fixed, self.k, free), positions)
        truths = self._truths(n, start, self.k**free)
        least = np.full(len(truths), np.inf)
        for position in positions:
            row = position + self.model.transformer.has_bos
            for output, margins in enumerate(merged.margins[:, merged.rows.slice(row)]):
                said = merged.of_words(row, margins > 0)
                if np.isnan(margins).any() or not _agree(said, truths[output][position]):
                    return None
                least[output] = min(least[output], np.abs(margins).min())
        return least

    def _truths(self, n: int, start: int, count: int) -> list[batch.Lanes]:
        """(n, lanes) for each output: what its formula says, 64 words at a time."""
        names = named_letters(self.model.transformer, self.table, self.formulas)
        return evaluate_many(self.formulas, batch.all_words(names, n, start, start + count))


def _agree(said: NDArray[np.bool_], truth: batch.Lanes) -> bool:
    """Whether the answers on some words are the formula's."""
    packed = np.packbits(said, bitorder="little")
    expected = np.ascontiguousarray(truth).astype("<u8", copy=False).view(np.uint8)[: len(packed)]
    differ = packed ^ expected
    if len(said) % 8:
        differ[-1] &= (1 << len(said) % 8) - 1
    return not differ.any()


def named_letters(t: Transformer, table: Tokens, formulas: Sequence[Formula]) -> list[set[str]]:
    """Of each letter the symbols or propositions that formulas speak of."""
    named = set(symbols_of(*formulas))
    if table.ndim == 1:
        return [{t.symbols[code]} & named for code in table.tolist()]
    return [{t.symbols[c] for c in np.flatnonzero(row)} & named for row in table]
