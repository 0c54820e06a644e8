"""Zonotopes: a centre, generators, each times a number in [-1, 1], and a box of errors beside them.

A linear map acts on centre and generators alike, so errors cancel where what they are in cancels.
The numbers that generators are multiplied with have names, *symbols*: sets that come from the same
ones are added as such. Before a step after which the box should keep its direction it becomes
generators too, one an entry (`folded`). Leading axes are sets side by side, such as the positions
of words, each with numbers of its own.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from softhat.numerics.rounding import raised

Floats = npt.NDArray[np.float64]
NO_BOX = np.zeros(0)
_NAMES = itertools.count()
"""No two symbols have one name."""


@dataclass(frozen=True)
class Zonotope:
    """`centre` (…, width), `generators` (…, symbols, width) and the box `error` (…, width)."""

    centre: Floats
    generators: Floats
    error: Floats = field(default_factory=lambda: NO_BOX)
    symbols: tuple[int, ...] = ()
    """Names of generators, the first ones first: the others are new."""

    def __post_init__(self) -> None:
        missing = self.generators.shape[-2] - len(self.symbols)
        if missing:
            names = (*self.symbols, *itertools.islice(_NAMES, missing))
            object.__setattr__(self, "symbols", names)
        if self.error is NO_BOX:
            object.__setattr__(self, "error", np.zeros(self.centre.shape))

    @cached_property
    def radius(self) -> Floats:
        """How far an entry is from the centre, the box left out."""
        radius: Floats = raised(np.abs(self.generators).sum(-2), self.generators.shape[-2])
        return radius

    @property
    def size(self) -> Floats:
        return np.abs(self.centre) + self.radius + self.error

    def folded(self) -> Self:
        """The same set with its box as generators."""
        boxed = np.flatnonzero(self.error.any(axis=tuple(range(self.error.ndim - 1))))
        if not len(boxed):
            return self
        *sets, width = self.error.shape
        box = np.zeros((*sets, len(boxed), width))
        box[..., np.arange(len(boxed)), boxed] = self.error[..., boxed]
        generators = np.concatenate([self.generators, box], axis=-2)
        return replace(self, generators=generators, error=NO_BOX)

    def off(self, error: Floats) -> Self:
        """With generators of its own for each entry that is off by an error of its own."""
        return replace(self, error=error).folded()

    def only(self, columns: npt.NDArray[np.int64]) -> Self:
        """Some of the entries, of a set without a box."""
        if len(columns) == self.centre.shape[-1]:
            return self
        some = replace(
            self,
            centre=self.centre[..., columns],
            generators=self.generators[..., columns],
            error=NO_BOX,
        )
        some.__dict__["radius"] = self.radius[..., columns]
        return some

    def plus(self, other: Self) -> Self:
        """The sum, before it is rounded: generators of one name add up, and may cancel."""
        own = len(self.symbols)
        if other.symbols[:own] == self.symbols:
            places, names = list(range(len(other.symbols))), other.symbols
        else:
            known = {name: at for at, name in enumerate(self.symbols)}
            names = (*self.symbols, *(name for name in other.symbols if name not in known))
            known = {name: at for at, name in enumerate(names)}
            places = [known[name] for name in other.symbols]
        centre = self.centre + other.centre
        generators = np.zeros((*centre.shape[:-1], len(names), centre.shape[-1]))
        generators[..., :own, :] = self.generators
        start = places[0] if places else 0
        if places == list(range(start, start + len(places))):
            generators[..., start : start + len(places), :] += other.generators
        else:
            generators[..., places, :] += other.generators
        return replace(
            self,
            centre=centre,
            generators=generators,
            error=self.error + other.error,
            symbols=names,
        )


def exactly(centre: Floats) -> Zonotope:
    """One point."""
    return Zonotope(centre, np.zeros((*centre.shape[:-1], 0, centre.shape[-1])))
