"""What every kind of head has: its numbers, its theorem in the reals, its bound in floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softhat.numerics.formats import Format
from softhat.proof.atoms import Direction
from softhat.proof.scores import Scores
from softhat.proof.softmax import Bound, RowFact


@dataclass(frozen=True, slots=True)
class Kind:
    """A head as the proof sees it. Scores are in logits, with the temperature multiplied in."""

    CALLED: ClassVar[tuple[str, ...]]
    """Its name; where it has a direction, the names by which it looks back and ahead."""
    NUMBERS: ClassVar[tuple[str, ...]]
    """The coefficients of its score that a certificate shows."""
    bounds_weights: ClassVar[bool] = False
    """Whether `bound` counts the rounding of weights; if not, the head is read again with its
    weights as stored."""

    @property
    def name(self) -> str:
        return self.CALLED[0]

    @property
    def min_gap(self) -> float:
        """The best score minus the next, for every n and every word."""
        raise NotImplementedError

    @property
    def leak(self) -> float:
        """Attention outside the winner in real arithmetic, for every n, at most."""
        raise NotImplementedError

    def row(self, n: int, form: Format) -> RowFact:
        """Its theorem in floats: who wins a row, in every word of length at most n, and how much
        all others weigh."""
        raise NotImplementedError

    def bound(self, n: int, form: Format) -> Bound:
        """The error of its output for every word of length at most n."""
        return self.row(n, form).bound(form)

    @property
    def numbers(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in self.NUMBERS}


@dataclass(frozen=True, slots=True)
class SlopedKind(Kind):
    """A head whose scores fall by `slope` with each step away in its direction, so that one key
    wins."""

    direction: Direction
    scores: Scores
    slope: float

    @property
    def name(self) -> str:
        return self.CALLED[self.direction == "future"]
