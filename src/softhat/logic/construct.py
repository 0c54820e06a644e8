"""Words made for a formula: it is true, or false, where it is asked to be.

Most words say nothing of a formula that wants ten symbols in a row, or thirty `a`. Here the word is
built from the formula instead: what must hold where is passed down, `f S g` at i becomes g at some
j <= i and f after it, a comparison becomes that many of what it counts, until single symbols are
asked for. Choices are random, and those that contradict an earlier one are taken back. A comparison
is met as narrowly as it can be, so a change of one symbol often changes the truth. A subformula may
be in focus: of several ways one is gone that leads through it, and the others are shut.

The way is a heuristic and may find nothing; what it finds is checked against the definition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.logic.core import to_core
from softhat.logic.linear import difference
from softhat.logic.recalls import without_recalls
from softhat.logic.semantics.truth import truth
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import TRUE, Comparison, Formula, Node
from softhat.logic.syntax.walk import distinct
from softhat.numbers.predicates import column, longest

LENGTHS = (3, 6, 10, 16, 28, 48, 96)
"""Tried in turn; the first at which a formula can be made true and false will do."""
MOST = 512
"""Length to which a formula's own numbers may ask for more."""
STEPS = 3_000
"""How much may be asked for while a word is made; what asks for more is given up."""
BUDGET = 20_000
"""How much may be asked for together."""
DEPTH = 150
FEW, MANY = 4, 48
"""Words, however long or short they are."""

Bits = NDArray[np.bool_]
Wish = tuple[Formula, int, bool]
"""A formula, a position from 1 on, and the value that it is to have there."""


@dataclass(frozen=True)
class WordWithTruth:
    """A word as (n,) symbols or (n, k) bits of propositions, a position from 0 on and the
    formula's truth there; `asked` says for which places of the word the formula had a wish."""

    word: NDArray[np.int64]
    at: int
    value: bool
    asked: Bits


def words_for(
    formula: Formula,
    symbols: Sequence[str],
    propositional: bool,
    rng: np.random.Generator,
    letters: int,
    most: int | None = None,
    focus: Formula | None = None,
) -> list[WordWithTruth]:
    """Words of one length and about so many letters together, half of them true and half false
    somewhere; of a length at which both can be made, if one is found, and at most `most`.

    `focus`: one of the core formula's `parts`.
    """
    core = _core(formula)
    if core is None:
        return []
    through = frozenset() if focus is None else _above(core, focus)
    budget = BUDGET if focus is None else BUDGET // 4
    best: list[WordWithTruth] = []
    for n in _lengths(core, most):
        given = core, formula, tuple(symbols), propositional, n, rng, through, focus
        maker = _Maker(*given, budget // 4)
        first = [word for value in (True, False) for word in maker.some(value, 1)]
        budget -= budget // 4 - maker.left
        if len(first) > len(best):
            best, best_maker = first, maker
        if len(best) == 2:
            break
    if not best:
        return []
    values = [word.value for word in best]
    more = min(max(FEW, letters // best_maker.n), MANY) // len(values) - 1
    best_maker.left = budget
    return best + [word for value in values for word in best_maker.some(value, more)]


def spelt(word: NDArray[np.int64], symbols: Sequence[str]) -> list[str] | list[set[str]]:
    """A word of (n,) symbols or (n, k) bits of propositions, as formulas read it."""
    if word.ndim == 1:
        return [symbols[code] for code in word.tolist()]
    return [{s for s, on in zip(symbols, row, strict=True) if on} for row in word.tolist()]


def parts(formula: Formula) -> list[Formula]:
    """What the heads of a model of the formula compute: its temporal operators and comparisons,
    in core form."""
    heads = nodes.Yesterday | nodes.Tomorrow | nodes.Since | nodes.Until | Comparison
    core = _core(formula)
    return [] if core is None else [n for n, _ in distinct(core)[0] if isinstance(n, heads)]


def _core(formula: Formula) -> Formula | None:
    """The core form, recalls by their definition; None where that is too long."""
    try:
        return to_core(without_recalls(formula))
    except SofthatError:
        return None


def _above(core: Formula, focus: Formula) -> frozenset[Node]:
    """The formulas in which the focus occurs, itself included."""
    above: list[bool] = []
    rows = distinct(core)[0]
    for node, places in rows:
        above.append(node == focus or any(above[place] for place in places))
    return frozenset(node for (node, _), holds in zip(rows, above, strict=True) if holds)


def _lengths(core: Formula, most: int | None) -> Iterator[int]:
    """Lengths to try: as long as predicates go, and as the numbers in the formula want."""
    wanted, limits = 0, [MOST] if most is None else [MOST, most]
    for node, _ in distinct(core)[0]:
        match node:
            case Comparison():
                wanted += abs(difference(node).constant)
            case nodes.Mod(modulus, _):
                wanted += modulus
            case nodes.At(predicate):
                end = longest(predicate)
                limits += [] if end is None else [end]
    longest_word = min(limits)
    tried = [*LENGTHS, wanted + 8] if wanted > LENGTHS[-1] else list(LENGTHS)
    yield from sorted({min(n, longest_word) for n in tried if longest_word > 0})


class _ContradictionError(Exception):
    """What is asked for cannot be had together with what was asked for before."""


class _TooLongError(Exception):
    """More was asked for than a word is worth."""


@dataclass
class _Maker:
    """Makes words of length `n`."""

    core: Formula
    formula: Formula
    symbols: tuple[str, ...]
    propositional: bool
    n: int
    rng: np.random.Generator
    through: frozenset[Node]
    """The formulas in which the focus occurs."""
    focus: Formula | None
    left: int
    """How much may still be asked for."""

    def some(self, value: bool, count: int) -> list[WordWithTruth]:
        """Words on which the formula has the value somewhere: at most `count`."""
        result: list[WordWithTruth] = []
        for _ in range(4 * count + 2 * self.n):
            if len(result) == count or self.left <= 0:
                break
            at = self.n if self.rng.random() < 0.5 else int(self.rng.integers(1, self.n + 1))
            word = self._one(value, at)
            self.left -= self.steps + self.n
            if word is not None:
                result.append(word)
        return result

    def _one(self, value: bool, at: int) -> WordWithTruth | None:
        # What may stand at each place, and where that is settled: a mask of symbols, or of
        # propositions that may be true (low half) and may be false (high half).
        self.masks = [(1 << self._width) - 1] * self.n
        self.goals: dict[tuple[Formula, int], bool] = {}
        self.trail: list[tuple[int, int] | tuple[Formula, int]] = []
        # What is near and simple leaves most room for the rest; what is not shows other things.
        self.near = self.rng.random() < 0.7
        self.steps = 0
        try:
            self._ask(self.core, at, value, 0)
        except (_ContradictionError, _TooLongError):
            return None
        if self.focus is not None and all(node != self.focus for node, _ in self.goals):
            return None
        word = self._filled()
        if bool(truth(self.formula, spelt(word, self.symbols))[at - 1]) != value:
            return None
        return WordWithTruth(word, at - 1, value, np.array(self.masks) != (1 << self._width) - 1)

    @property
    def _width(self) -> int:
        return len(self.symbols) * (2 if self.propositional else 1)

    def _filled(self) -> NDArray[np.int64]:
        """Places without a wish are random."""
        k = len(self.symbols)
        rows = np.array([[mask >> bit & 1 for bit in range(self._width)] for mask in self.masks])
        if not self.propositional:
            chances = self.rng.random((self.n, k)) * rows
            return chances.argmax(axis=1).astype(np.int64)
        may, may_not = rows[:, :k].astype(bool), rows[:, k:].astype(bool)
        free = self.rng.random((self.n, k)) < 0.5
        return (may & (~may_not | free)).astype(np.int64)

    # Wishes

    def _ask(self, node: Formula, i: int, value: bool, depth: int) -> None:
        """Make the formula have the value at i, or raise `_ContradictionError`."""
        while isinstance(node, nodes.Not):
            node, value = node.operand, not value
        known = self.goals.get((node, i))
        if known is not None:
            if known != value:
                raise _ContradictionError
            return
        self.steps += 1
        if self.steps > min(STEPS, self.left) or depth > DEPTH:
            raise _TooLongError
        self._settle(node, i, value)
        deeper = depth + 1
        match node:
            case nodes.Symbol(name):
                self._restrict(i, name, value)
            case nodes.And(left, right) | nodes.Or(left, right):
                if value == isinstance(node, nodes.And):
                    for part in sorted((left, right), key=_late):
                        self._ask(part, i, value, deeper)
                else:
                    both = sorted((left, right), key=_simple)
                    self._either([[(part, i, value)] for part in both], deeper, self.near)
                    for part in both:
                        if self.through and part not in self.through:
                            self._could([(part, i, not value)], deeper)
            case nodes.Xor(left, right):
                ways = [[(left, i, one), (right, i, one != value)] for one in (False, True)]
                self._either(ways, deeper)
            case nodes.Yesterday(operand) | nodes.Tomorrow(operand):
                j = i - 1 if isinstance(node, nodes.Yesterday) else i + 1
                if 1 <= j <= self.n:
                    self._ask(operand, j, value, deeper)
                elif value:
                    raise _ContradictionError
            case nodes.Since(left, right):
                self._chain(left, right, list(range(i, 0, -1)), value, deeper)
            case nodes.Until(left, right):
                self._chain(left, right, list(range(i, self.n + 1)), value, deeper)
            case Comparison():
                self._compare(node, i, value, deeper)
            case _:
                if self._given(node, i) != value:
                    raise _ContradictionError

    def _restrict(self, i: int, name: str, value: bool) -> None:
        k = len(self.symbols)
        bit = 1 << self.symbols.index(name)
        if self.propositional:  # the other of "may be true" and "may be false" goes
            allowed = ~(bit << k) if value else ~bit
            mask = self.masks[i - 1] & allowed
            if not mask & (bit | bit << k):
                raise _ContradictionError
        else:
            mask = self.masks[i - 1] & (bit if value else ~bit)
            if not mask:
                raise _ContradictionError
        self.trail.append((i - 1, self.masks[i - 1]))
        self.masks[i - 1] = mask

    def _settle(self, node: Formula, i: int, value: bool) -> None:
        if (node, i) not in self.goals:
            self.goals[node, i] = value
            self.trail.append((node, i))

    def _back(self, mark: int) -> None:
        """Take back what was asked for since the trail was so long."""
        while len(self.trail) > mark:
            what, number = self.trail.pop()
            if isinstance(what, int):
                self.masks[what] = number
            else:
                del self.goals[what, number]

    def _given(self, node: Formula, i: int) -> bool:
        """What a position says by itself."""
        match node:
            case nodes.Constant(value):
                return value
            case nodes.First():
                return i == 1
            case nodes.Last():
                return i == self.n
            case nodes.Mod(modulus, remainder):
                return i % modulus == remainder
            case nodes.At(predicate):
                return bool(column(predicate, np.array([i]), self.n)[0])
        raise TypeError(f"not a core formula: {node!r}")

    def _either(self, ways: Sequence[Sequence[Wish]], depth: int, ordered: bool = False) -> None:
        """One of several ways, in a random order unless they have one."""
        order = list(range(len(ways))) if ordered else self.rng.permutation(len(ways)).tolist()
        if self.through:
            leads = [any(node in self.through for node, _, _ in way) for way in ways]
            order.sort(key=lambda at: not leads[at])
        if not any(self._could(ways[at], depth) for at in order):
            raise _ContradictionError

    def _chain(
        self, left: Formula, right: Formula, places: list[int], value: bool, depth: int
    ) -> None:
        """`left S right` along the places, nearest first (`U`: to the other side)."""
        ends = {0, *self.rng.permutation(len(places))[:4].tolist()}
        if self.near:
            ends |= {end for end in (1, 2) if end < len(places)}
        if value:  # right at the end of a run, left before it
            ways = [
                [(right, places[end], True), *((left, j, True) for j in places[:end])]
                for end in sorted(ends)
            ]
        else:  # right nowhere, up to a place where left fails
            ways = [
                [(left, places[end], False), *((right, j, False) for j in places[: end + 1])]
                for end in sorted(ends)
            ]
            ways.append([(right, j, False) for j in places])
        self._either(ways, depth, ordered=self.near)
        if self.through and right not in self.through:  # so that it is left on which it hangs
            for j in places:
                self._could([(right, j, False)], depth)

    def _could(self, wishes: Sequence[Wish], depth: int) -> bool:
        """Ask for all of this, or for nothing where it cannot be had."""
        mark = len(self.trail)
        try:
            for node, i, value in wishes:
                self._ask(node, i, value, depth)
        except _ContradictionError:
            self._back(mark)
            return False
        return True

    def _compare(self, node: Comparison, i: int, value: bool, depth: int) -> None:
        """So many of what is counted that the comparison just holds, or just fails."""
        form = difference(node)
        target = 0 if value else -1
        reached = form.constant
        open_: list[tuple[int, Formula, int]] = []
        spans = (range(1, i + 1), range(i, self.n + 1), range(1, self.n + 1))
        for part, span in zip((form.past, form.future, form.total), spans, strict=True):
            for a, counted in part:
                if counted == TRUE:
                    reached += a * len(span)
                    continue
                for j in span:
                    known = self.goals.get((counted, j))
                    if known is None:
                        open_.append((a, counted, j))
                    else:
                        reached += a * known
        for at in self.rng.permutation(len(open_)).tolist():
            a, counted, j = open_[at]
            wanted = (a > 0) == (reached < target) and reached != target
            known = self.goals.get((counted, j))
            if known is None:
                self._either_value(counted, j, wanted, depth)
                known = self.goals.get((counted, j), wanted)
            reached += a * known
        if (reached >= 0) != value:
            raise _ContradictionError

    def _either_value(self, node: Formula, i: int, wanted: bool, depth: int) -> None:
        """The wanted value, or the other where that cannot be had."""
        value = wanted if self._could([(node, i, wanted)], depth) else not wanted
        if value != wanted:
            self._ask(node, i, value, depth)
        self._settle(node, i, value)  # a negation is asked for under its operand's name


def _simple(node: Formula) -> bool:
    """A symbol or its negation comes before all else."""
    return not isinstance(node.operand if isinstance(node, nodes.Not) else node, nodes.Symbol)


def _late(node: Formula) -> bool:
    """Comparisons settle every place they count: they come after what wants single ones."""
    return isinstance(node, Comparison)
