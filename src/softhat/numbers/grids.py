"""The calculus of denominators: on which grid does a quantity lie, at every length?

Every exact value of an AHAT is rational. A *grid* is the set (unit / M)·ℤ, where M is a monomial
of *generators*: n, integers of at most n that belong to one position (its own number, the size
of its row or of its argmax set), and lcm(1..n). A nonzero number on it is at least unit / M. Sums
lie on the greatest common grid, products on the product; two positions that meet in a difference
have each their own local generators, and the least common multiple of two integers of at most N
is at most N(N-1), unless N = 1. Sizes of sets that are the same or apart add up to at most N, so
theirs is at most (N-1)(N+1)/4, or else one of the two.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

from softhat.numbers.laws import Law, Lcm, Length, as_law, minimum, product
from softhat.numbers.rationals import common_divisor

MAX_CASES = 8  # of one law
Role: TypeAlias = Literal["global", "local", "pair", "lcm"]


@dataclass(frozen=True, slots=True)
class Generator:
    """An integer of at most n + shift (`lcm`: the least common multiple of 1 … n + shift).

    `local` ones differ from position to position; `pair` is a local one at two positions.
    `together`: two of them are of one set, or their sum is at most n + together.
    """

    role: Role
    name: str
    shift: int
    together: int | None = None

    def bounds(self) -> tuple[Law, ...]:
        """It is at most the greatest of these (a global one equals it)."""
        alone, both = Length(self.shift), self.together
        match self.role:
            case "global" | "local":
                return (alone,)
            case "lcm":
                return (Lcm(self.shift),)
            case "pair" if both is None:
                return (product(alone, Length(self.shift - 1)),)
            case "pair":
                apart = product(as_law(Fraction(1, 4)), Length(both + 1), Length(both - 1))
                # The quadratic in n rises for both ≥ 1: what holds at n = 1 holds beyond.
                above = both >= 1 and (both + 2) * both >= 4 * (self.shift + 1)
                return (apart,) if above else (alone, apart)


@dataclass(frozen=True, slots=True)
class Grid:
    """(unit / Π generator^degree)·ℤ; unit 0 is the number 0 alone."""

    unit: Fraction
    degrees: tuple[tuple[Generator, int], ...] = ()

    def __mul__(self, other: Grid) -> Grid:
        """The grid of products."""
        if not self.unit or not other.unit:
            return ZERO
        degrees = dict(self.degrees)
        for generator, degree in other.degrees:
            degrees[generator] = degrees.get(generator, 0) + degree
        return Grid(self.unit * other.unit, _sorted(degrees))

    def scaled(self, factor: Fraction) -> Grid:
        """The grid of multiples by one number."""
        return Grid(self.unit * abs(factor), self.degrees) if self.unit and factor else ZERO

    def paired(self) -> Grid:
        """The grid of a difference between two positions, each with its own local generators."""
        return self._renamed(lambda g: replace(g, role="pair"))

    def copied(self, head: str) -> Grid:
        """Seen at another position, the one a head attends to."""
        return self._renamed(lambda g: replace(g, name=f"{g.name}@{head}"))

    def summed(self, size: Generator) -> Grid:
        """The grid of an average over `size` positions: each local degree becomes lcm(1..n)."""
        if not self.unit:
            return ZERO
        degrees = {size: 1}
        for g, degree in self.degrees:
            unknown = Generator("lcm", "", g.shift) if g.role == "local" else g
            degrees[unknown] = degrees.get(unknown, 0) + degree
        return Grid(self.unit, _sorted(degrees))

    def _renamed(self, rename: Callable[[Generator], Generator]) -> Grid:
        degrees = {rename(g) if g.role == "local" else g: k for g, k in self.degrees}
        return Grid(self.unit, _sorted(degrees))

    @property
    def least(self) -> Law:
        """A nonzero number on the grid is at least this."""
        bounds = [[b**k for b in g.bounds()] for g, k in self.degrees]
        if math.prod(map(len, bounds)) > MAX_CASES:
            bounds = [[b**k for b in replace(g, together=None).bounds()] for g, k in self.degrees]
        cases = itertools.product(*bounds)
        return minimum(*(as_law(self.unit) / product(as_law(1), *case) for case in cases))

    @property
    def exponential(self) -> bool:
        """Does lcm(1..n) take part?"""
        return any(g.role == "lcm" for g, _ in self.degrees)


ZERO = Grid(Fraction(0))


def common(grids: Iterable[Grid]) -> Grid:
    """The grid that holds all sums of numbers on these."""
    unit, degrees = Fraction(0), dict[Generator, int]()
    for grid in grids:
        if grid.unit:
            unit = common_divisor((unit, grid.unit))
            for g, k in grid.degrees:
                degrees[g] = max(degrees.get(g, 0), k)
    return Grid(unit, _sorted(degrees))


def _sorted(degrees: dict[Generator, int]) -> tuple[tuple[Generator, int], ...]:
    return tuple(sorted(degrees.items(), key=lambda item: (item[0].role, item[0].name)))
