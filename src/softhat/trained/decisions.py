"""Is a decision right, and by how much? For logits, for logits with errors, for sets of logits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softhat.trained.points import Points
from softhat.trained.rounding import Array, raised
from softhat.trained.specification import Specification
from softhat.trained.steepness import Differences
from softhat.trained.zonotopes import ActivationSet


class Decisions:
    """What a specification asks of the outputs of a model."""

    def __init__(self, spec: Specification, outputs: int) -> None:
        self.spec = spec
        self.argmax = spec.decide == "argmax"
        self.signs = np.full((spec.states, outputs), -1.0)
        self.answer = np.zeros(spec.states, np.int64)
        for state, allowed in enumerate(spec.allowed):
            if self.argmax:
                self.answer[state] = min(allowed, default=0)
            else:
                self.signs[state, sorted(allowed)] = 1.0

    def margins(self, logits: Array, states: NDArray[np.int64]) -> Array:
        """The least margin of logits (…, outputs) after the states (…)."""
        return self._each(logits, states).min(-1)

    def worst(self, logits: Array, state: int) -> tuple[float, int]:
        """The least margin after one state, and the output that has it."""
        each = self._each(logits, np.asarray(state))
        return float(each.min()), int(each.argmin())

    def wrong(self, margin: float, token: int, state: int) -> bool:
        """Is a decision with this worst margin wrong? A logit of 0 is not positive, and of equal
        ones the first is the largest."""
        if margin == 0:
            return token < self.answer[state] if self.argmax else self.signs[state, token] > 0
        return not margin > 0

    def _each(self, logits: Array, states: NDArray[np.int64]) -> Array:
        if not self.argmax:
            return self.signs[states] * logits
        answer = self.answer[states][..., None]
        each = np.take_along_axis(logits, answer, -1) - logits
        np.put_along_axis(each, answer, np.inf, -1)
        return each

    def apart(self, logits: Points, states: NDArray[np.int64]) -> tuple[Array, Array]:
        """(…, outputs): the margin against each output, and a lower bound of it; ∞ for the
        answer itself."""
        each = self._each(logits.centre, states)
        error = logits.error
        if self.argmax:
            error = error + np.take_along_axis(error, self.answer[states][..., None], -1)
        bound = each - raised(error, 4)
        return each, np.where(each == np.inf, np.inf, bound) if self.argmax else bound

    def differences(
        self, rows: NDArray[np.int64], outputs: NDArray[np.int64], states: NDArray[np.int64]
    ) -> Differences:
        """The margins against some outputs, as differences of logits of the rows."""
        if self.argmax:
            answers = self.answer[states[rows]]
            return Differences(rows, np.ones(len(rows)), answers, outputs)
        signs = self.signs[states[rows], outputs]
        return Differences(rows, signs, outputs, np.full(len(rows), -1))

    def lower(self, logits: ActivationSet, state: int) -> float:
        """A lower bound of all margins in a set of logits; NaN where nothing can be said."""
        return float(self._lower(logits, state).min())

    def _lower(self, logits: ActivationSet, state: int) -> Array:
        if not self.argmax:
            each: Array = self.signs[state] * logits.centre - raised(logits.radius, 4)
            return each - logits.error
        answer = self.answer[state]
        apart = np.abs(logits.generators[:, [answer]] - logits.generators).sum(0)
        each = logits.centre[answer] - logits.centre
        each = each - raised(apart, len(logits.generators) + 4)
        # The difference itself is rounded once, like each of its generators.
        each = each - raised(logits.error[answer] + logits.error, 4) - 2.0**-50 * logits.size
        return np.delete(each, answer)
