"""What can be proved about comparisons of counts without trying words.

Counting makes the questions undecidable, but much of it is only in the way of a proof:

* a threshold, `#(f) >= c`, is temporal: f here, and c - 1 times before;
* a sum in which all other positions cancel, `#(f) + #>(f) - #*(f) >= 1`, says something about
  this position only;
* a sum to which no position can contribute less than 0, `i - #(f) >= 0`, is always at least what
  this position contributes; and at the ends of words, or with what stands here, others are decided
  too (`places`);
* a sum of counts that look back only, `3*#(Z !a) - #(b & mod(3, 0)) >= 1`, is a sum along a path
  through finitely many states, whose least value is exact (`paths`).

Any other comparison becomes an `Unknown`, related to the others by the third rule: where
`T' - T` is never negative, `T >= 0` implies `T' >= 0`. So does a numerical predicate that has no
period. A proof that there is no word then holds whatever the unknowns are; a word that is found
may owe itself to impossible values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from softhat.logic.core import to_core
from softhat.logic.decide.letters import Letters
from softhat.logic.decide.machine import Unknown
from softhat.logic.decide.paths import Paths, paths_of
from softhat.logic.decide.places import Added, PlaceCase, cases, decided
from softhat.logic.linear import LinearForm, linear
from softhat.logic.semantics.truth import truth
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, Comparison, Formula, Node
from softhat.logic.syntax.walk import distinct, rebuild, rewritten
from softhat.numbers.predicates import Periodic

Clause = tuple[tuple[int, bool], ...]
"""At every position one of these unknowns (by number) has this value."""

_THRESHOLD = 64  # the largest threshold that is spelt out: it takes as many bits
_OPERANDS = 6  # counted formulas whose combinations are tried
_LETTERS = 64  # letters that are looked at one by one
_UNKNOWNS = 40  # comparisons that are related to each other, each to each


def without_counting(
    core: Formula, letters: Letters, possible: Callable[[Formula], bool] | None = None
) -> tuple[Formula, tuple[Clause, ...]]:
    """`core` with its comparisons spelt out or unknown, in core form, and what holds of these.

    With `possible`, whether a formula without comparisons may hold somewhere, the places of the
    word where a comparison is decided are looked for too.
    """
    sums = _CountedSums(letters)
    unknowns: dict[_CountedSum, Unknown] = {}
    paths: dict[_CountedSum, Paths] = {}
    others: dict[nodes.At, Unknown] = {}

    def step(node: Node, below: tuple[Node, ...]) -> Node:
        same = rebuild(node, below)
        if isinstance(same, nodes.At) and not isinstance(same.predicate, Periodic):
            return others.setdefault(same, Unknown(-1 - len(others)))
        if not isinstance(same, Comparison):
            return same
        form = linear(same)
        total = sums.of(form)
        if total.least >= 0:
            return TRUE
        if total.negated().least >= 0:
            return FALSE
        for spelt in (sums.local(total), sums.threshold(total)):
            if spelt is not None:
                return spelt
        unknown = unknowns.setdefault(total, Unknown(len(unknowns)))
        if total not in paths and (of_form := paths_of(form, letters)) is not None:
            paths[total] = of_form
        if total in paths and paths[total].least >= 0:
            return TRUE
        if total in paths and paths[total].negated().least > 0:
            return FALSE
        every = sums.cases(total) if possible else None
        if every is None or possible is None:
            return unknown
        return to_core(decided(every, total.constant, unknown, possible))

    plain = rewritten(core, step)
    facts = _facts(unknowns) + _never_between(unknowns, paths)
    plain = _never_between_at_the_edge(plain, unknowns, paths)
    return to_core(plain), tuple(facts)


@dataclass(frozen=True)
class _PositionWeights:
    """What a position adds: a number for each letter, and one for each formula that holds.

    What only depends on the letter is in the numbers, so equal sums look the same.
    """

    letters: tuple[int, ...]
    formulas: frozenset[tuple[Formula, int]]

    def plus(self, other: _PositionWeights, factor: int = 1) -> _PositionWeights:
        letters = tuple(a + factor * b for a, b in zip(self.letters, other.letters, strict=True))
        weights = dict(self.formulas)
        for formula, w in other.formulas:
            weights[formula] = weights.get(formula, 0) + factor * w
        return _PositionWeights(letters, frozenset((f, w) for f, w in weights.items() if w))

    @property
    def least(self) -> int:
        """What a position adds at least."""
        return min(self.letters) + sum(min(w, 0) for _, w in self.formulas)

    def __bool__(self) -> bool:
        return any(self.letters) or bool(self.formulas)


@dataclass(frozen=True)
class _CountedSum:
    """A linear form by what positions before, at and after position i add to it."""

    before: _PositionWeights
    here: _PositionWeights
    after: _PositionWeights
    constant: int

    def plus(self, other: _CountedSum, factor: int = 1) -> _CountedSum:
        return _CountedSum(
            self.before.plus(other.before, factor),
            self.here.plus(other.here, factor),
            self.after.plus(other.after, factor),
            self.constant + factor * other.constant,
        )

    def negated(self) -> _CountedSum:
        """Is >= 0 exactly where this is not: -1 minus it."""
        opposite = self.plus(self, -2)
        return replace(opposite, constant=opposite.constant - 1)

    @property
    def is_constant(self) -> bool:
        return not (self.before or self.here or self.after)

    @property
    def least(self) -> float:
        """A lower bound: any number of positions before and after, one here."""
        if self.before.least < 0 or self.after.least < 0:
            return -math.inf
        return self.constant + self.here.least


class _CountedSums:
    """Linear forms as sums, over one set of letters."""

    def __init__(self, letters: Letters) -> None:
        self._letters = letters
        self._known: dict[Formula, _PositionWeights] = {}
        few = letters.count <= _LETTERS
        self._words = [letters.word([k]) for k in range(letters.count)] if few else None
        self._nothing = _PositionWeights((0,) * (letters.count if few else 1), frozenset())

    def of(self, form: LinearForm) -> _CountedSum:
        before = here = after = self._nothing
        for a, formula in form.past:
            one = self._one(formula)
            before, here = before.plus(one, a), here.plus(one, a)
        for a, formula in form.future:
            one = self._one(formula)
            here, after = here.plus(one, a), after.plus(one, a)
        for a, formula in form.total:
            one = self._one(formula)
            before, here, after = before.plus(one, a), here.plus(one, a), after.plus(one, a)
        return _CountedSum(before, here, after, form.constant)

    def _one(self, formula: Formula) -> _PositionWeights:
        """1 where the formula holds."""
        if formula not in self._known:
            rows, _ = distinct(formula)
            if formula == TRUE:
                letters, formulas = (1,) * len(self._nothing.letters), frozenset[Any]()
            elif self._words is not None and all(isinstance(node, _GATES) for node, _ in rows):
                letters = tuple(int(truth(formula, word)[0]) for word in self._words)
                formulas = frozenset()
            else:
                letters, formulas = self._nothing.letters, frozenset({(formula, 1)})
            self._known[formula] = _PositionWeights(letters, formulas)
        return self._known[formula]

    def cases(self, total: _CountedSum) -> list[PlaceCase] | None:
        """What may stand at a position, by what it adds."""
        parts = (total.before, total.here, total.after)
        classes: dict[Added, list[bool]] = {}
        for number, weights in enumerate(zip(*(part.letters for part in parts), strict=True)):
            chosen = classes.setdefault(Added(*weights), [False] * len(total.here.letters))
            chosen[number] = True
        letters = [
            (self._those(chosen) if self._words else TRUE, added)
            for added, chosen in classes.items()
        ]
        counted = [dict(part.formulas) for part in parts]
        operands = [
            (formula, Added(*(weights.get(formula, 0) for weights in counted)))
            for formula in self._known
            if any(formula in weights for weights in counted)
        ]
        return cases(letters, operands)

    def local(self, total: _CountedSum) -> Formula | None:
        """A sum to which only this position adds, as a Boolean formula."""
        met = list(self._known)
        operands = sorted(total.here.formulas, key=lambda pair: met.index(pair[0]))
        if total.before or total.after or len(operands) > _OPERANDS:
            return None
        spelt: Formula = FALSE
        for values in product((False, True), repeat=len(operands)):
            added = total.constant
            case: Formula = TRUE
            for (formula, w), value in zip(operands, values, strict=True):
                added += w * value
                case = nodes.And(case, formula if value else nodes.Not(formula))
            enough = self._those([w + added >= 0 for w in total.here.letters])
            spelt = nodes.Or(spelt, nodes.And(case, enough))
        return spelt

    def threshold(self, total: _CountedSum) -> Formula | None:
        """A sum that adds the same for one formula, as a temporal formula."""
        nothing = self._nothing
        added = total.before or total.after
        match total.before, total.here, total.after:
            case (x, y, z) if x == y and z == nothing:
                where = "past"
            case (x, y, z) if y == z and x == nothing:
                where = "future"
            case (x, y, z) if x == y == z:
                where = "all"
            case (_, y, z) if y == z == nothing:
                where = "before"
            case (x, y, _) if x == y == nothing:
                where = "after"
            case _:
                return None
        single = self._single(added)
        if single is None:
            return None
        w, counted = single
        # w·#(f) + c >= 0 is #(f) >= -c / w, or, for a negative w, not #(f) >= c / -w + 1.
        least = -(total.constant // w) if w > 0 else total.constant // -w + 1
        if not 1 <= least <= _THRESHOLD:
            return None
        past = _often(counted, least, nodes.Yesterday, nodes.Since)
        future = _often(counted, least, nodes.Tomorrow, nodes.Until)
        reached: Formula
        match where:
            case "past":
                reached = past
            case "future":
                reached = future
            case "before":
                reached = nodes.Yesterday(past)
            case "after":
                reached = nodes.Tomorrow(future)
            case _:  # reached at the last position at the latest
                reached = nodes.Until(TRUE, past)
        return reached if w > 0 else nodes.Not(reached)

    def _single(self, weights: _PositionWeights) -> tuple[int, Formula] | None:
        """The weights as one formula with one weight."""
        values = {w for w in weights.letters if w}
        if len(values) == 1 and not weights.formulas:
            (w,) = values
            return w, self._those([bool(here) for here in weights.letters])
        if len(weights.formulas) == 1 and not values:
            ((formula, w),) = weights.formulas
            return w, formula
        return None

    def _those(self, chosen: list[bool]) -> Formula:
        """The formula that one of these letters stands here."""
        if all(chosen) or not any(chosen):
            return nodes.Constant(all(chosen))
        return nodes.any_of(self._letter(number) for number, yes in enumerate(chosen) if yes)

    def _letter(self, number: int) -> Formula:
        letter = self._letters.letter(number)
        if isinstance(letter, str):
            return nodes.Symbol(letter)
        names = map(nodes.Symbol, self._letters.names)
        return nodes.all_of(x if x.name in letter else nodes.Not(x) for x in names)


_GATES = (nodes.Symbol, nodes.Constant, nodes.Not, nodes.And, nodes.Or, nodes.Xor)


def _often(
    counted: Formula,
    least: int,
    beside: Callable[[Formula], Formula],
    since: Callable[[Formula, Formula], Formula],
) -> Formula:
    """`counted` at this position or on that side of it, in all at least so often."""
    reached: Formula = TRUE
    for k in range(least):
        reached = since(TRUE, counted if k == 0 else nodes.And(counted, beside(reached)))
    return reached


def _facts(unknowns: dict[_CountedSum, Unknown]) -> list[Clause]:
    """Which comparisons imply, exclude or exhaust each other."""
    if len(unknowns) > _UNKNOWNS:
        return []
    literals = [
        (total if value else total.negated(), unknown.number, value)
        for total, unknown in unknowns.items()
        for value in (True, False)
    ]
    return [
        ((one, not x), (other, y))
        for (small, one, x), (large, other, y) in combinations(literals, 2)
        if one != other and large.plus(small, -1).least >= 0
    ]


def _bounds(paths: dict[_CountedSum, Paths]) -> Iterator[tuple[_CountedSum, _CountedSum, int]]:
    """Pairs `T >= 0`, `c - T >= 0` with c >= 0, such as the two halves of an equation."""
    for one, other in combinations(paths, 2):
        both = one.plus(other)
        if both.is_constant and both.constant >= 0:
            yield one, other, both.constant


def _never_between(
    unknowns: dict[_CountedSum, Unknown], paths: dict[_CountedSum, Paths]
) -> list[Clause]:
    """Clauses for the pairs of `_bounds` whose T is never one of 0 … c: not both hold."""
    return [
        ((unknowns[one].number, False), (unknowns[other].number, False))
        for one, other, most in _bounds(paths)
        if paths[one].meets(most) is False
    ]


def _never_between_at_the_edge(
    plain: Formula, unknowns: dict[_CountedSum, Unknown], paths: dict[_CountedSum, Paths]
) -> Formula:
    """The formula in which such pairs exclude each other at one end of the word, where T is never
    one of 0 … c only there."""
    instead: dict[Node, Formula] = {
        unknowns[other]: nodes.And(
            unknowns[other], nodes.Not(nodes.And(paths[one].edge, unknowns[one]))
        )
        for one, other, most in _bounds(paths)
        if paths[one].ending_here().meets(most) is False
    }

    def step(node: Node, below: tuple[Node, ...]) -> Node:
        return instead[node] if node in instead else rebuild(node, below)

    return rewritten(plain, step) if instead else plain
