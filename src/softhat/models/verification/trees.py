"""Exhaustive words as trees: a word is checked at its last row, the others at theirs.

Where a model looks one way and its formulas do, too, what it says at a position is the same in all
words that agree up to there, so it is computed and checked once (`runtime.tree`). Where it is the
same at every length as well (no temperature that grows, no distance from the other end), words of
length n are checked at one position, because the shorter ones have been, and the tree of one length
grows into that of the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.logic.fragments import FUTURE, NEEDS_END, PAST, symbols_of
from softhat.logic.semantics.batch import WordBatch, evaluate_many, unpack, words_by_runs
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.walk import distinct
from softhat.models.model import Model
from softhat.models.verification.words import Tokens
from softhat.runtime.dense import Ready
from softhat.runtime.tree import ROOTS, Tree, direction, is_settled
from softhat.transformer.weights import Transformer

Array = NDArray[Any]
HELD = 1 << 24
"""Numbers that a tree may hold."""
NEEDS_START = (nodes.First, nodes.Mod, nodes.At, nodes.Position, nodes.Length)
"""What a formula that looks ahead cannot know at a position besides the past: where it is."""


@dataclass(frozen=True)
class Checked:
    """Nodes of a level: what the model says of them and what the formulas do."""

    position: int
    margins: Array
    """(outputs, nodes)."""
    truth: NDArray[np.bool_]
    first: int
    """The number of the first of these nodes."""


class TreeBlock:
    """All words of a length with the same first letters, in the order of a tree's nodes."""

    def __init__(self, k: int, n: int, free: int, start: int, way: int, roots: int) -> None:
        """The last `free` of the n letters, of which there are k, are free, and the others those of
        word number `start`. The tree's roots have the first `roots` of the free letters, or the
        last ones if the tree grows to the left."""
        self.k, self.n, self.free, self.start = k, n, free, start
        self.way, self.roots = way, roots
        self.fixed = [start // k ** (n - 1 - at) % k for at in range(n - free)]
        in_roots = [k ** (roots - 1 - at) for at in range(roots)]
        later = [k**at for at in range(roots, free)]
        self.runs = in_roots + later if way > 0 else later[::-1] + in_roots
        """For each free position how many words in a row have the same letter there."""

    @property
    def root_words(self) -> Array:
        """(roots, letters): the parts of words with which the tree begins."""
        number = np.arange(self.k**self.roots)
        letters = [number // self.k ** (self.roots - 1 - at) % self.k for at in range(self.roots)]
        before = [np.full(len(number), letter) for letter in self.fixed] if self.way > 0 else []
        return np.stack([*before, *letters], axis=1)

    def longer_roots(self, count: int) -> TreeBlock:
        """The same words by a tree with at least so many roots, or with as many as there can be."""
        roots = self.roots
        while self.k**roots < count and roots < self.free - 1:
            roots += 1
        return TreeBlock(self.k, self.n, self.free, self.start, self.way, roots)

    def levels(self) -> list[list[int]]:
        """The letters by which each level after the roots extends the one above."""
        every = [list(range(self.k))] * (self.free - self.roots)
        return every + ([[letter] for letter in reversed(self.fixed)] if self.way < 0 else [])

    def word(self, node: int) -> Array:
        """The letters of a word."""
        return np.array([*self.fixed, *(node // run % self.k for run in self.runs)], np.int64)

    def order(self, places: Array) -> Array:
        """Where words stand in lexicographic order."""
        total = np.zeros(len(places), np.int64)
        for at, run in enumerate(self.runs):
            total += places // run % self.k * self.k ** (self.free - 1 - at)
        return total


class Trees:
    """A model's words as trees, as far as it and its formulas look one way."""

    def __init__(self, model: Model, table: Tokens, dtype: str) -> None:
        self.model, self.table, self.dtype = model, table, dtype
        self.k = len(table)
        self.formulas = [model.formulas[name] for name in model.transformer.outputs]
        self._kept: Tree | None = None
        """The tree of all words of some length, to be grown into that of the next."""

    @cached_property
    def ready(self) -> Ready:
        return self.model.ready(self.dtype)

    @cached_property
    def way(self) -> int | None:
        """1 or -1, or None if these words are no tree."""
        way = direction(self.model.transformer)
        against = FUTURE if way == 1 else PAST
        return way if self.k > 1 and not self._speak_of(*against, nodes.CountAll) else None

    def _speak_of(self, *kinds: type[nodes.Node]) -> bool:
        return any(isinstance(node, kinds) for node, _ in distinct(*self.formulas)[0])

    def settled(self, n: int) -> bool:
        """Whether words of length n say at their last row only what shorter ones have not."""
        unknown = (*NEEDS_END, nodes.At) if self.way == 1 else NEEDS_START
        return n > 1 and not self._speak_of(*unknown) and is_settled(self.ready, n)

    @cached_property
    def root_length(self) -> int:
        length = 1
        while self.k**length < ROOTS:
            length += 1
        return length

    def free(self, n: int, most: int) -> int:
        """How many letters are free in a block of at most so many words of length n; 0 where a tree
        is not worth it."""
        if self.way is None:
            return 0
        heads = [head for layer in self.ready.layers for head in layer.heads]
        held = sum(head.key.shape[0] + head.value.shape[0] for head in heads)
        most = min(most, HELD // max(1, 2 * held))
        length = 0
        while length < n and self.k ** (length + 1) <= most:
            length += 1
        return length if length > self.root_length else 0

    def block(self, n: int, free: int, start: int) -> TreeBlock:
        assert self.way is not None
        return TreeBlock(self.k, n, free, start, self.way, self.root_length)

    def checked(self, block: TreeBlock) -> Iterator[Checked]:
        """The nodes at which words of a block have not been checked in shorter words."""
        n, settled = block.n, self.settled(block.n)
        truths = self._truths(block)
        tree, levels = self._tree(block, settled)
        if not settled:
            yield from self._roots(tree, truths)
        for left, letters in zip(reversed(range(len(levels))), levels, strict=True):
            goes_on = settled and not block.fixed and tree.nodes * self.k**2 <= HELD
            for places, stream in tree.grow(letters, hold=left > 0 or goes_on):
                if left and settled:
                    continue
                position = tree.length if block.way > 0 else n - 1 - tree.length
                truth = _bits(truths, position, places)
                yield Checked(position, self.ready.read_out(stream), truth, places.start)
            if not left and goes_on:
                self._kept = tree

    def _tree(self, block: TreeBlock, settled: bool) -> tuple[Tree, list[list[int]]]:
        """A tree for the block, and the levels by which it has to grow."""
        tree, self._kept = self._kept, None
        if settled and not block.fixed and tree is not None and tree.length == block.n - 1:
            tree.lengthen(self.table, block.n)
            return tree, block.levels()[-1:]
        return Tree(self.ready, self.table, block.root_words, block.n), block.levels()

    def _roots(self, tree: Tree, truths: list[Array]) -> Iterator[Checked]:
        """The rows of the roots, which are a tree's first."""
        count = tree.sizes[0]
        for at in range(tree.length):
            row = at + (tree.sink if tree.way > 0 else 0)
            position = at if tree.way > 0 else tree.n - tree.length + at
            margins = self.ready.read_out(np.ascontiguousarray(tree.roots[:, row]))
            yield Checked(position, margins, _bits(truths, position, slice(0, count)), 0)

    def _truths(self, block: TreeBlock) -> list[Array]:
        """(n, lanes) for each output: what its formula says, 64 words at a time."""
        count = self.k**block.free
        names = named_letters(self.model.transformer, self.table, self.formulas)
        free = words_by_runs(names, block.runs, 0, count)
        everywhere = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
        symbols = {}
        for name, lanes in free.symbols.items():
            fixed = [np.uint64(everywhere if name in names[x] else 0) for x in block.fixed]
            above = np.broadcast_to(np.array(fixed, np.uint64)[:, None], (len(fixed), free.lanes))
            symbols[name] = np.concatenate([above, lanes])
        return evaluate_many(self.formulas, WordBatch(block.n, count, symbols))


def named_letters(t: Transformer, table: Tokens, formulas: Sequence[Formula]) -> list[set[str]]:
    """Of each letter the symbols or propositions that formulas speak of."""
    named = set(symbols_of(*formulas))
    if table.ndim == 1:
        return [{t.symbols[code]} & named for code in table.tolist()]
    return [{t.symbols[c] for c in np.flatnonzero(row)} & named for row in table]


def _bits(truths: list[Array], position: int, places: slice) -> NDArray[np.bool_]:
    """(outputs, nodes): the truth of some words at a position."""
    first, last = places.start // 64, -(-places.stop // 64)
    skipped = places.start - 64 * first
    rows = [unpack(lanes[position : position + 1, first:last], 64 * (last - first)).T
            for lanes in truths]  # fmt: skip
    return np.concatenate(rows)[:, skipped : skipped + places.stop - places.start]
