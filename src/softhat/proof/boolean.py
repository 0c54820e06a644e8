"""Boolean functions in canonical form: two functions are equal exactly if their numbers are.

A function speaks of one position of a word: of its symbol, and of *atoms*, which are true or
false there (a position predicate, what a head computes, in propositional mode a proposition).
Symbols exclude each other, so a function is a partition of the alphabet with a decision diagram
over the atoms for each part; the parts are bit masks. Diagrams are reduced, ordered, hash-consed
and have complement edges (Brace, Rudell and Bryant 1990), so that negation is free. An edge is
2·node + 1 if it is negated. Nothing recurses.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

Key = tuple[Any, ...]
"""The name of an atom."""
MOST_NODES = 2_000_000
"""Beyond this equality is not decided: the certificate says so."""

_TRUE, _FALSE = 0, 1
_HOLDS = {_TRUE: True, _FALSE: False}
_BOTTOM = 1 << 62


class TooLargeError(Exception):
    """A function needs more nodes than `MOST_NODES`."""


class Space:
    """All functions over an alphabet, numbered."""

    def __init__(self, symbols: Sequence[str], propositional: bool) -> None:
        self.propositional = propositional
        self.rank = {symbol: at for at, symbol in enumerate(symbols)}
        self.everything = 1 if propositional else (1 << len(symbols)) - 1
        self._level = [_BOTTOM]
        self._low = [_TRUE]
        self._high = [_TRUE]
        self._node: dict[tuple[int, int, int], int] = {}
        self._and: dict[tuple[int, int], int] = {}
        self._functions: list[tuple[tuple[int, int], ...]] = []
        self._index: dict[tuple[tuple[int, int], ...], int] = {}
        self._atoms: dict[Key, int] = {}
        self._key_at: dict[int, Key] = {}
        """The name of the atom at each level."""
        self._levels: set[int] = set()
        self._told: dict[tuple[int, ...], list[tuple[bool | None, ...]]] = {}
        self.true = self._number({_TRUE: self.everything})
        self.false = self._number({_FALSE: self.everything})

    # Functions

    def symbol(self, name: str) -> int:
        """The symbol is that one; in propositional mode the proposition holds."""
        if self.propositional:
            return self.atom(("proposition", name), self.rank[name])
        return self.symbols(1 << self.rank[name])

    def symbols(self, mask: int) -> int:
        """The symbol is one of those in the mask."""
        parts = {_TRUE: mask, _FALSE: self.everything & ~mask}
        return self._number({edge: part for edge, part in parts.items() if part})

    def atom(self, key: Key, level: int) -> int:
        """The atom named `key`; a new one stands at `level`, or at the first free one after it."""
        atom = self._atoms.get(key)
        if atom is None:
            while level in self._levels:
                level += 1
            self._levels.add(level)
            self._key_at[level] = key
            edge = self._make(level, _FALSE, _TRUE)
            atom = self._atoms[key] = self._number({edge: self.everything})
        return atom

    def negation(self, f: int) -> int:
        return self._number({edge ^ 1: mask for mask, edge in self._functions[f]})

    def both(self, f: int, g: int) -> int:
        if f == g or f == self.false or g == self.true:
            return f
        if g == self.false or f == self.true:
            return g
        parts: dict[int, int] = {}
        for mask, edge in self._functions[f]:
            for other, edge2 in self._functions[g]:
                common = mask & other
                if common:
                    result = self._conjunction(edge, edge2)
                    parts[result] = parts.get(result, 0) | common
        return self._number(parts)

    def every(self, functions: Iterable[int]) -> int:
        """The conjunction of many, the deepest first, so that each step only adds on top."""
        result = self.true
        for f in sorted(set(functions), key=self._top, reverse=True):
            result = self.both(f, result)
        return result

    def either(self, f: int, g: int) -> int:
        return self.negation(self.both(self.negation(f), self.negation(g)))

    def differ(self, f: int, g: int) -> int:
        return self.either(self.both(f, self.negation(g)), self.both(self.negation(f), g))

    def mask_of(self, f: int) -> int | None:
        """The symbols of which it is true, if it depends on the symbol alone."""
        masks = {edge: mask for mask, edge in self._functions[f]}
        return masks.get(_TRUE, 0) if masks.keys() <= {_TRUE, _FALSE} else None

    def polarity(self, f: int) -> bool:
        """Of a function and its negation exactly one is positive."""
        return not self._functions[f][0][1] & 1

    def range_of_sum(self, terms: Sequence[tuple[Fraction, int]]) -> tuple[Fraction, Fraction]:
        """Bounds of Σ a·f over all symbols and atoms: exact where f depends on symbols only."""
        unit = lcm(*(a.denominator for a, _ in terms))  # sums of integers are faster
        whole = [a.numerator * (unit // a.denominator) for a, _ in terms]
        lows, highs = [], []
        for case in self._cases(tuple(f for _, f in terms)):
            low = high = 0
            for a, holds in zip(whole, case, strict=True):
                if holds is None:
                    low, high = low + min(a, 0), high + max(a, 0)
                elif holds:
                    low, high = low + a, high + a
            lows.append(low)
            highs.append(high)
        return Fraction(min(lows), unit), Fraction(max(highs), unit)

    def _cases(self, functions: tuple[int, ...]) -> list[tuple[bool | None, ...]]:
        """Whether each holds, for each set of symbols that they tell apart; None where that depends
        on atoms. Sums of the same functions are asked for again and again."""
        cases = self._told.get(functions)
        if cases is None:
            every = [self._functions[f] for f in functions]
            told = (
                tuple(_HOLDS.get(next(edge for part, edge in f if part & mask)) for f in every)
                for mask in self._common_parts(functions)
            )
            cases = self._told[functions] = list(dict.fromkeys(told))
        return cases

    def atoms_in(self, f: int) -> set[Key]:
        """The names of the atoms that a function depends on."""
        return {self._key_at[self._level[node]] for node in self._nodes([f])}

    def _nodes(self, functions: Iterable[int]) -> list[int]:
        """The nodes of functions, each after those below it, which were there before it."""
        nodes: set[int] = set()
        todo = [edge >> 1 for f in functions for _, edge in self._functions[f]]
        while todo:
            node = todo.pop()
            if node and node not in nodes:
                nodes.add(node)
                todo += (self._low[node] >> 1, self._high[node] >> 1)
        return sorted(nodes)

    def said(
        self,
        functions: Sequence[int],
        named: Callable[[Key, Callable[[int], int]], Key],
        number_of: Callable[[Hashable], int],
    ) -> list[int]:
        """What functions say, whatever their numbers are here: equal for functions of two spaces
        only if these are built alike. `named` gives an atom's name with what the functions say that
        it reads, which are among `functions`; `number_of` gives all that is equal one number."""
        known = {0: 0}

        def says(f: int) -> int:
            parts = ((mask, known[edge >> 1], edge & 1) for mask, edge in self._functions[f])
            return number_of(tuple(parts))

        for node in self._nodes(functions):  # what its atom reads was there before it, too
            low, high = self._low[node], self._high[node]
            name = named(self._key_at[self._level[node]], says)
            known[node] = number_of((name, known[low >> 1], low & 1, known[high >> 1]))
        return [says(f) for f in functions]

    def symbol_classes(self, functions: Sequence[int]) -> list[int]:
        """Sets of symbols that none of the functions tells apart, by their least member's rank."""
        return [(part & -part).bit_length() - 1 for part in self._common_parts(functions)]

    def values(
        self, f: int, symbols: NDArray[np.int64], atoms: Mapping[Key, NDArray[np.bool_]]
    ) -> NDArray[np.bool_]:
        """A function in many situations at once: the rank of the symbol, the value of each atom, as
        arrays of shapes that broadcast."""
        one = np.ones((1,) * symbols.ndim, np.bool_)
        known = {0: one}

        def held(edge: int) -> NDArray[np.bool_]:
            return ~known[edge >> 1] if edge & 1 else known[edge >> 1]

        for node in self._nodes([f]):
            atom, low = atoms[self._key_at[self._level[node]]], self._low[node]
            value = atom & known[self._high[node] >> 1]  # a high edge is never negated
            known[node] = value if low == _FALSE else value | (~atom & held(low))
        result = ~one
        for mask, edge in self._functions[f]:
            if mask == self.everything:
                return held(edge)
            inside = np.array([mask >> k & 1 for k in range(len(self.rank))], np.bool_)
            result = result | (held(edge) & inside[symbols])
        return result

    def _common_parts(self, functions: Sequence[int]) -> list[int]:
        parts = [self.everything]
        for f in functions:
            parts = [c for p in parts for mask, _ in self._functions[f] if (c := p & mask)]
        return parts

    def _number(self, parts: dict[int, int]) -> int:
        function = tuple(sorted((mask, edge) for edge, mask in parts.items()))
        at = self._index.get(function)
        if at is None:
            at = self._index[function] = len(self._functions)
            self._functions.append(function)
        return at

    def _top(self, f: int) -> int:
        return min(self._level[edge >> 1] for _, edge in self._functions[f])

    # Diagrams

    def _make(self, level: int, low: int, high: int) -> int:
        if low == high:
            return low
        flip = high & 1  # the high edge is never negated, which makes the form canonical
        key = (level, low ^ flip, high ^ flip)
        node = self._node.get(key)
        if node is None:
            node = self._node[key] = len(self._level)
            if node > MOST_NODES:
                raise TooLargeError
            self._level.append(level)
            self._low.append(key[1])
            self._high.append(key[2])
        return node * 2 + flip

    def _known(self, f: int, g: int) -> int | None:
        if f == g or g == _TRUE:
            return f
        if f == _TRUE:
            return g
        if f == _FALSE or g == _FALSE or f == g ^ 1:
            return _FALSE
        return self._and.get((f, g) if f < g else (g, f))

    def _conjunction(self, f: int, g: int) -> int:
        known = self._known(f, g)
        if known is not None:
            return known
        stack = [(f, g)]
        while stack:
            f, g = stack[-1]
            x, y = f >> 1, g >> 1
            level = min(self._level[x], self._level[y])
            f0 = f1 = f
            if self._level[x] == level:
                f0, f1 = self._low[x] ^ (f & 1), self._high[x] ^ (f & 1)
            g0 = g1 = g
            if self._level[y] == level:
                g0, g1 = self._low[y] ^ (g & 1), self._high[y] ^ (g & 1)
            low, high = self._known(f0, g0), self._known(f1, g1)
            if low is None:
                stack.append((f0, g0))
            if high is None:
                stack.append((f1, g1))
            if low is not None and high is not None:
                known = self._make(level, low, high)
                self._and[(f, g) if f < g else (g, f)] = known
                stack.pop()
        assert known is not None
        return known
