"""Reduced ordered binary decision diagrams: sets of bit vectors in canonical form.

A diagram is a number: 0 is the empty set, 1 everything, any other a node that branches on one
variable. Nodes are shared and never built twice, so two diagrams are the same set iff they are
the same number (Bryant, 1986). Variables are their levels, numbered from the root down. Work is
counted, one step for each pair of nodes met for the first time, and so are nodes, so that a
question too hard for this representation ends in `TooHardError` after a bounded and reproducible
time, in bounded memory. What nobody needs any more is dropped by `collect`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

FALSE, TRUE = 0, 1
_SHIFT = 31  # a pair of diagrams makes one key
_BOTTOM = 1 << 30  # the level of the two constants, below every variable
_MOST_NODES = 1 << 20  # alive and dead: about 250 MB
_MOST_RESULTS = 1 << 19  # remembered for each operation: about 70 MB


class TooHardError(Exception):
    """The budget is used up."""


class Diagrams:
    """All diagrams of one question: the table of nodes, and what was computed before."""

    def __init__(self, budget: int) -> None:
        self.left = budget  # steps that may still be made
        self._level = [_BOTTOM, _BOTTOM]
        self._low = [FALSE, TRUE]
        self._high = [FALSE, TRUE]
        self._nodes: dict[int, dict[int, int]] = {}
        self._ands: dict[int, int] = {}
        self._ors: dict[int, int] = {}
        self._xors: dict[int, int] = {}
        self._nots: dict[int, int] = {FALSE: TRUE, TRUE: FALSE}

    def __len__(self) -> int:
        """Nodes that were built so far."""
        return len(self._level)

    def variable(self, level: int) -> int:
        return self._node(level, FALSE, TRUE)

    def negation(self, f: int) -> int:
        result = self._nots.get(f)
        if result is None:
            low, high = self.negation(self._low[f]), self.negation(self._high[f])
            result = self._node(self._level[f], low, high)
            if len(self._nots) > _MOST_RESULTS:
                self._nots = {FALSE: TRUE, TRUE: FALSE}
            self._nots[f] = result
            self._nots[result] = f
        return result

    def conjunction(self, f: int, g: int) -> int:
        if f == g:
            return f
        if f > g:
            f, g = g, f
        if f <= TRUE:
            return g if f else FALSE
        key = f << _SHIFT | g
        result = self._ands.get(key)
        if result is None:
            at_f, at_g = self._level[f], self._level[g]
            if at_f < at_g:
                low = self.conjunction(self._low[f], g)
                high = self.conjunction(self._high[f], g)
            elif at_f > at_g:
                low = self.conjunction(f, self._low[g])
                high = self.conjunction(f, self._high[g])
            else:
                low = self.conjunction(self._low[f], self._low[g])
                high = self.conjunction(self._high[f], self._high[g])
            result = self._node(at_f if at_f < at_g else at_g, low, high)
            self._remember(self._ands, key, result)
        return result

    def disjunction(self, f: int, g: int) -> int:
        if f == g:
            return f
        if f > g:
            f, g = g, f
        if f <= TRUE:
            return TRUE if f else g
        key = f << _SHIFT | g
        result = self._ors.get(key)
        if result is None:
            level, f0, f1, g0, g1 = self._split(f, g)
            result = self._node(level, self.disjunction(f0, g0), self.disjunction(f1, g1))
            self._remember(self._ors, key, result)
        return result

    def difference(self, f: int, g: int) -> int:
        """f and not g."""
        return self.conjunction(f, self.negation(g))

    def exclusive(self, f: int, g: int) -> int:
        """Exactly one of f and g."""
        if f == g:
            return FALSE
        if f > g:
            f, g = g, f
        if f <= TRUE:
            return self.negation(g) if f else g
        key = f << _SHIFT | g
        result = self._xors.get(key)
        if result is None:
            level, f0, f1, g0, g1 = self._split(f, g)
            result = self._node(level, self.exclusive(f0, g0), self.exclusive(f1, g1))
            self._remember(self._xors, key, result)
        return result

    def equal(self, f: int, g: int) -> int:
        return self.negation(self.exclusive(f, g))

    def product(self, f: int, g: int, forget: frozenset[int]) -> int:
        """`∃ forget. f ∧ g`, without building f ∧ g."""
        lowest = max(forget, default=-1)
        known: dict[int, int] = {}
        level, low, high = self._level, self._low, self._high
        conjunction, disjunction, node = self.conjunction, self.disjunction, self._node

        def step(f: int, g: int) -> int:
            if f > g:
                f, g = g, f
            if f == FALSE or g == TRUE:
                return f
            if f == g:
                f = TRUE
            at_f, at_g = level[f], level[g]
            top = at_f if at_f < at_g else at_g
            if top > lowest:
                return conjunction(f, g)
            key = f << _SHIFT | g
            result = known.get(key)
            if result is not None:
                return result
            if at_f < at_g:
                f0, f1, g0, g1 = low[f], high[f], g, g
            elif at_f > at_g:
                f0, f1, g0, g1 = f, f, low[g], high[g]
            else:
                f0, f1, g0, g1 = low[f], high[f], low[g], high[g]
            self.spend()
            result = step(f0, g0)
            if top not in forget:
                result = node(top, result, step(f1, g1))
            elif result != TRUE:
                result = disjunction(result, step(f1, g1))
            known[key] = result
            return result

        return step(f, g)

    def exists(self, f: int, forget: frozenset[int]) -> int:
        return self.product(TRUE, f, forget)

    def rename(self, f: int, by: int) -> int:
        """Every variable moved by the same number of levels."""
        known = {FALSE: FALSE, TRUE: TRUE}

        def step(f: int) -> int:
            result = known.get(f)
            if result is None:
                result = self._node(self._level[f] + by, step(self._low[f]), step(self._high[f]))
                known[f] = result
            return result

        return step(f)

    def restrict(self, f: int, values: Mapping[int, bool]) -> int:
        """f with some variables fixed."""
        known = {FALSE: FALSE, TRUE: TRUE}

        def step(f: int) -> int:
            result = known.get(f)
            if result is None:
                level = self._level[f]
                if level in values:
                    result = step(self._high[f] if values[level] else self._low[f])
                else:
                    result = self._node(level, step(self._low[f]), step(self._high[f]))
                known[f] = result
            return result

        return step(f)

    def least(self, f: int, order: Sequence[int]) -> dict[int, bool]:
        """The first assignment to `order`, false before true, with which f is not empty."""
        chosen: dict[int, bool] = {}
        for level in order:
            without = self.restrict(f, {level: False})
            chosen[level] = without == FALSE
            f = self.restrict(f, {level: True}) if without == FALSE else without
        return chosen

    def support(self, f: int) -> frozenset[int]:
        """The variables that f depends on."""
        return frozenset(self._level[node] for node in self._reached([f]) if node > TRUE)

    def is_one(self, f: int, variables: int) -> bool:
        """Is it one assignment to so many variables?"""
        while f > TRUE:
            low, high = self._low[f], self._high[f]
            if low != FALSE and high != FALSE:
                return False
            f, variables = low or high, variables - 1
        return f == TRUE and variables == 0

    def size(self, f: int) -> int:
        """How many nodes it has."""
        return len(self._reached([f])) - 2

    def _reached(self, roots: Iterable[int]) -> set[int]:
        """The nodes of diagrams, and both constants."""
        seen, todo = {FALSE, TRUE}, list(roots)
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo += (self._low[node], self._high[node])
        return seen

    def all_of(self, parts: Iterable[int]) -> int:
        result = TRUE
        for part in parts:
            result = self.conjunction(result, part)
        return result

    def collect(self, roots: Iterable[int]) -> dict[int, int]:
        """Drop every node that no root needs; the new numbers of those that stay."""
        alive = self._reached(roots)
        # A node is younger than what it leads to, so in order of age both ends are known.
        moved = {old: new for new, old in enumerate(sorted(alive))}
        survivors = sorted(alive)
        self._level = [self._level[old] for old in survivors]
        self._low = [moved[self._low[old]] for old in survivors]
        self._high = [moved[self._high[old]] for old in survivors]
        self._nodes = {}
        for node in range(2, len(survivors)):
            siblings = self._nodes.setdefault(self._level[node], {})
            siblings[self._low[node] << _SHIFT | self._high[node]] = node
        self._ands, self._ors, self._xors = {}, {}, {}
        self._nots = {FALSE: TRUE, TRUE: FALSE}
        return moved

    def _remember(self, results: dict[int, int], key: int, result: int) -> None:
        if len(results) > _MOST_RESULTS:
            results.clear()
        results[key] = result
        self.spend()

    def _split(self, f: int, g: int) -> tuple[int, int, int, int, int]:
        """The higher of the two top levels, and both diagrams without and with its variable."""
        at_f, at_g = self._level[f], self._level[g]
        if at_f < at_g:
            return at_f, self._low[f], self._high[f], g, g
        if at_f > at_g:
            return at_g, f, f, self._low[g], self._high[g]
        return at_f, self._low[f], self._high[f], self._low[g], self._high[g]

    def _node(self, level: int, low: int, high: int) -> int:
        if low == high:
            return low
        siblings = self._nodes.get(level)
        if siblings is None:
            siblings = self._nodes[level] = {}
        key = low << _SHIFT | high
        node = siblings.get(key)
        if node is None:
            self.spend()
            if len(self._level) >= _MOST_NODES:
                raise TooHardError
            node = siblings[key] = len(self._level)
            self._level.append(level)
            self._low.append(low)
            self._high.append(high)
        return node

    def spend(self, steps: int = 1) -> None:
        if self.left <= 0:
            raise TooHardError
        self.left -= steps
