"""Random formulas for tests, corpora and benchmarks.

The same generator state gives the same formula. A formula of a given size is split over its
operands uniformly, so shapes range from chains to balanced trees.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from softhat.io.errors import SofthatError
from softhat.logic import fragments
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Relation, Term
from softhat.logic.syntax.signs import CONNECTIVES, CONSTANTS, COUNTS, PREFIX, TEMPORAL, VARIABLES

BOOLEAN = frozenset(("!", *CONNECTIVES, "true", "false"))
PAST, FUTURE = (
    frozenset(sign for sign, kind in (PREFIX | TEMPORAL).items() if kind in kinds)
    for kinds in (fragments.PAST, fragments.FUTURE)
)
POSITIONS = frozenset(("first", "last"))
COUNTING = frozenset((*COUNTS, *VARIABLES))
ALL = BOOLEAN | PAST | FUTURE | POSITIONS | COUNTING | {"mod"}

# Which operators a restricted generator may use.
FAMILIES: dict[str, frozenset[str]] = {
    "all": ALL,
    "boolean": BOOLEAN,
    "past": BOOLEAN | PAST | {"first"},
    "future": BOOLEAN | FUTURE | {"last"},
    "star-free": BOOLEAN | PAST | FUTURE | POSITIONS,
    "two-way": BOOLEAN | PAST | FUTURE | POSITIONS | {"mod"},
    "counting": BOOLEAN | COUNTING,
    "past-counting": BOOLEAN | PAST | {"first", "mod", "#", "i"},
    "decoder": BOOLEAN | PAST | {"first", "mod", "#", "i"},
}

_RELATIONS: tuple[Relation, ...] = ("<", "<=", "=", "!=", ">=", ">")
_BINARY = CONNECTIVES | TEMPORAL


def random_formula(
    rng: np.random.Generator,
    size: int,
    symbols: Sequence[str],
    operators: str | Collection[str] = "all",
) -> Formula:
    """A formula of about `size` operators and leaves (exactly, where only formulas are used).

    `operators` is a family (a key of FAMILIES) or the operators themselves, as they are spelt.
    """
    if isinstance(operators, str):
        if operators not in FAMILIES:
            raise SofthatError(f"unknown family {operators!r}: expected {', '.join(FAMILIES)}")
        operators = FAMILIES[operators]
    if size < 1 or not len(symbols):
        raise SofthatError("a random formula needs a size of at least 1 and at least one symbol")
    return _Generator(rng, list(symbols), sorted(operators)).formula(size)


class _Generator:
    """Builds from a list of goals, so size is not limited by the depth of Python's stack."""

    def __init__(self, rng: np.random.Generator, symbols: list[str], operators: list[str]) -> None:
        self.rng = rng
        self.symbols = symbols
        self.unary = [op for op in operators if op in PREFIX]
        self.binary = [op for op in operators if op in _BINARY]
        self.counts = [op for op in operators if op in COUNTS]
        self.variables = [op for op in operators if op in VARIABLES]
        self.leaves = [op for op in operators if op in CONSTANTS]
        self.has_mod = "mod" in operators
        self.kinds = [
            *(["binary"] * 4 if self.binary else []),
            *(["unary"] * 3 if self.unary else []),
            *(["comparison"] * 2 if self.counts or self.variables else []),
        ]

    def formula(self, size: int) -> Formula:
        # A goal is a size to fill, or a step that takes its operands from the results.
        goals: list[int | tuple[str, object]] = [size]
        results: list[Formula] = []
        while goals:
            goal = goals.pop()
            if isinstance(goal, int):
                goals.extend(self._choose(goal, results))
                continue
            kind, data = goal
            if kind == "unary":
                results.append(PREFIX[str(data)](results.pop()))
            elif kind == "binary":
                right, left = results.pop(), results.pop()
                results.append(_BINARY[str(data)](left, right))
            else:
                assert isinstance(data, int)
                counted = [results.pop() for _ in range(data)]
                results.append(self._comparison(counted[::-1]))
        return results[0]

    def _choose(self, size: int, results: list[Formula]) -> list[int | tuple[str, object]]:
        """The steps for a formula of this size, last first; a leaf goes to the results."""
        possible = [
            kind for kind in self.kinds if size >= {"unary": 2, "binary": 3, "comparison": 4}[kind]
        ]
        if not possible:
            results.append(self._leaf())
            return []
        kind = self._pick(possible)
        if kind == "unary":
            return [("unary", self._pick(self.unary)), size - 1]
        if kind == "binary":
            left = int(self.rng.integers(1, size - 1))
            return [("binary", self._pick(self.binary)), size - 1 - left, left]
        # comparison: up to three counts share what is left after the relation and a constant
        parts = int(self.rng.integers(1, 4)) if self.counts else 0
        parts = min(parts, (size - 2) // 2)
        sizes = [max((size - 2) // parts - 1, 1)] * parts
        return [("comparison", parts), *sizes]

    def _leaf(self) -> Formula:
        draw = self.rng.random()
        if self.leaves and draw < 0.1:
            return CONSTANTS[self._pick(self.leaves)]
        if self.has_mod and draw < 0.2:
            modulus = int(self.rng.integers(1, 6))
            return nodes.Mod(modulus, int(self.rng.integers(0, modulus)))
        return nodes.Symbol(self._pick(self.symbols))

    def _comparison(self, counted: list[Formula]) -> Formula:
        sides: list[Term] = [self._constant(), self._constant()]
        terms: list[Term] = [COUNTS[self._pick(self.counts)](formula) for formula in counted]
        if self.variables and (not terms or self.rng.random() < 0.3):
            terms.append(VARIABLES[self._pick(self.variables)])
        for k, term in enumerate(terms):
            if self.rng.random() < 0.4:
                term = nodes.Scale(int(self.rng.integers(-3, 4)), term)
            side = int(self.rng.integers(0, 2))
            if k < 2 and self.rng.random() < 0.7:
                sides[k] = term
            elif self.rng.random() < 0.5:
                sides[side] = nodes.Sum(sides[side], term)
            else:
                sides[side] = nodes.Difference(sides[side], term)
        relation = _RELATIONS[int(self.rng.integers(len(_RELATIONS)))]
        return nodes.Comparison(sides[0], relation, sides[1])

    def _constant(self) -> Term:
        return nodes.Integer(int(self.rng.integers(-2, 5)))

    def _pick(self, options: Sequence[str]) -> str:
        return options[int(self.rng.integers(len(options)))]
