"""Certified error over all words of a length at once, on the reachable sets.

The same bounds of one row as for single words (Theorem 33), where every key position takes the
worst of the vectors it can hold (Theorem 35, in `set_rows`). An error belongs to each vector a
position can hold, joined over the ways to reach it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.reach import Reach, ReachStage
from softhat.ahat.bounds.functionals import ErrorPlan
from softhat.ahat.bounds.relu import through_forward
from softhat.ahat.bounds.set_rows import HeadSets
from softhat.numerics.exact import Scaled, linear, ratio, scaled

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SetErrors:
    """Bounds that hold for every word of the length."""

    error: float  # |soft value - exact value| at every ordinary position
    wrong_side: bool  # can some decision value > 0 differ?
    margin: float  # least distance of a soft value from the threshold, on the right side
    leaks: Mapping[tuple[int, int], float]
    head_errors: Mapping[tuple[int, int], float]  # greatest error a head adds to what is tracked


class SetBounds:
    """Bounds over the reachable sets of one length, for one β after another.

    A layer whose β, and those of all layers below, are the last ones is not bounded again: a
    search over β goes from the last layer to the first.
    """

    def __init__(self, plan: ErrorPlan, sets: Reach) -> None:
        self.plan, self.sets = plan, sets
        self._heads = [
            [
                HeadSets(head, Scaled(np.concatenate(stage.before), stage.before_den), *rows)
                for head, *rows in zip(layer.heads, stage.rows, stage.shared, strict=True)
            ]
            for layer, stage in zip(plan.layers, sets.stages, strict=True)
        ]
        self._known: list[_SetLayer] = []

    def errors(self, betas: Mapping[tuple[int, int], float]) -> SetErrors:
        """The certified error of the softmax model over all words of this length."""
        places = self.sets.stages[0].before if self.sets.stages else self.sets.final
        error = np.zeros((sum(map(len, places)), 2 * len(self.plan.start.rows)))
        for l in range(len(self.sets.stages)):
            mine = tuple(betas.get((l, h), 1.0) for h in range(len(self._heads[l])))
            if l < len(self._known) and self._known[l].betas != mine:
                del self._known[l:]
            if l == len(self._known):
                self._known.append(self._layer(l, error, mine))
            error = self._known[l].after
        leaks = {(l, h): x for l, k in enumerate(self._known) for h, x in enumerate(k.leaks)}
        added = {(l, h): x for l, k in enumerate(self._known) for h, x in enumerate(k.added)}
        return _read(self.plan, self.sets, error, leaks, added)

    def _layer(self, l: int, error: Floats, betas: tuple[float, ...]) -> _SetLayer:
        layer, stage = self.plan.layers[l], self.sets.stages[l]
        results, leaks, added = [], [], []
        for head, beta in zip(self._heads[l], betas, strict=True):
            bounds, leak = head.bounds(error, beta)
            results.append(bounds)
            leaks.append(leak)
            added.append(max((float(b.max(initial=0.0)) for p in bounds for b in p), default=0.0))
        middle = _middle(stage, error @ layer.residual, results)
        pre = None if stage.pre is None else ratio(np.concatenate(stage.pre), stage.pre_den)
        after = _joined(stage, through_forward(layer, np.concatenate(middle), pre))
        return _SetLayer(betas, after, tuple(leaks), tuple(added))


@dataclass(frozen=True, slots=True)
class _SetLayer:
    """A layer's bounds at the β for which they were computed last."""

    betas: tuple[float, ...]
    after: Floats  # error after it
    leaks: tuple[float, ...]
    added: tuple[float, ...]


def _read(
    plan: ErrorPlan,
    sets: Reach,
    error: Floats,
    leaks: Mapping[tuple[int, int], float],
    added: Mapping[tuple[int, int], float],
) -> SetErrors:
    x = Scaled(np.concatenate(sets.final), sets.final_den)
    value = error @ plan.value
    counts = [len(place) for place in sets.final]
    first = sum(counts[: int(plan.model.bos)])
    own = slice(first, first + sum(counts[int(plan.model.bos) :][: sets.length]))
    high, low = value[own, 0], -value[own, 1]
    exact = linear(x, scaled((plan.model.output_weights,)), scaled(((plan.model.output_bias,),)))
    positive = (exact.num[own, 0] > 0).astype(bool)
    number = exact.floats()[own, 0]
    margins = np.where(positive, number + low, -(number + high))
    # A value of exactly 0 is on the right side (not positive) as long as nothing pushes it up.
    wrong = np.where(positive, margins <= 0, margins < 0)
    worst = float(np.maximum(high, -low).max(initial=0.0))
    return SetErrors(worst, bool(wrong.any()), float(margins.min()), leaks, added)


def _middle(stage: ReachStage, residual: Floats, results: list[list[list[Floats]]]) -> list[Floats]:
    """Bounds after attention: residual plus every head, joined over the ways to each vector."""
    middle, start = [], 0
    for i, moves in enumerate(stage.moves):
        bounds = np.full((len(stage.middle[i]), residual.shape[1]), -np.inf)
        for v, choice, target in moves:
            total = residual[start + v]
            for h, c in enumerate(choice):
                total = total + results[h][i][v][c]
            np.maximum(bounds[target], total, out=bounds[target])
        middle.append(bounds)
        start += len(stage.before[i])
    return middle


def _joined(stage: ReachStage, after: Floats) -> Floats:
    """Bounds of the vectors after the feed-forward: joined where vectors coincide."""
    parts, start = [], 0
    for target in stage.target:
        part = np.full((int(target.max()) + 1, after.shape[1]), -np.inf)
        np.maximum.at(part, target, after[start : start + len(target)])
        parts.append(part)
        start += len(target)
    return np.concatenate(parts)
