"""Intervals of marks: how much a mean would move with other tasks and other seeds.

By bootstrap over tasks, and within a task over its marks: a task in several dresses and with
several seeds counts as one draw, in which dresses and seeds are drawn again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

DRAWS = 1000
SURE = 0.999
"""How sure the marks are before they say that a method is better than chance."""


class Marked(Protocol):
    """A prediction with its marks."""

    @property
    def id(self) -> str: ...

    @property
    def measures(self) -> Mapping[str, float]: ...


def interval(
    marks: Sequence[Marked], asked: Mapping[str, Any], measure: str, sure: float = 0.95
) -> list[float]:
    """[mean, low, high] of a measure. `asked` has the question behind each mark's id, and the
    question's `name` is its task."""
    by_task: dict[str, list[float]] = {}
    for mark in marks:
        by_task.setdefault(str(asked[mark.id]["name"]), []).append(mark.measures[measure])
    groups = [np.array(values) for values in by_task.values()]
    rng = np.random.default_rng(0)
    means = []
    for _ in range(DRAWS):
        chosen = rng.integers(0, len(groups), len(groups))
        drawn = [rng.choice(groups[at], len(groups[at])) for at in chosen]
        means.append(float(np.concatenate(drawn).mean()))
    tail = (1 - sure) / 2
    low, high = np.quantile(means, [tail, 1 - tail]).tolist()
    mean = float(np.concatenate(groups).mean())
    return [round(value, 4) for value in (mean, low, high)]
