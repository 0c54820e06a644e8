"""Marks of directions: the features that a method found against the bits that a model stores.

Each bit gets a feature of its own, so that the sum of their cosines (their size) is greatest. Only
features count that are active at some of the test's places. Measures, each between 0 and 1:

    MCC                 the mean cosine of a bit's direction and its feature's; 0 without a feature
    uniqueness          each feature has a nearest bit: how many bits that are, by the number of
                        features. Features that share a bit lower it
    F1                  of a feature's activity as a test of its bit's truth (of its falsehood,
                        where the feature points the other way); the mean over bits
    balanced accuracy   the mean of the shares of true and of false places that are told right; the
                        mean over bits. A feature that has nothing to do with its bit gets 1/2;
                        its F1 depends on how often the bit is true

MCC and uniqueness are those of `sae_lens.synthetic`; a bit without a feature is left out there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softhat.circuits.exam.directions import Features
from softhat.circuits.exam.intervals import SURE, interval
from softhat.circuits.exam.stored import Bools, marked_places, stored_bits
from softhat.circuits.exam.subject import Subject
from softhat.circuits.network import Array

DIRECTION_MEASURES = ("MCC", "uniqueness", "F1", "balanced accuracy")
MCC_ABOVE, ACCURACY_ABOVE = "MCC above chance", "accuracy above chance"
"""What is left when the marks of random directions, and of the same features with each other's
activity, are taken off."""


@dataclass(frozen=True, slots=True)
class DirectionMark:
    """One prediction of directions, marked."""

    id: str
    seed: int
    measures: Mapping[str, float]
    """The DIRECTION_MEASURES, and two of them above chance."""
    seconds: float


def mark_features(subject: Subject, features: Features, seconds: float = 0.0) -> DirectionMark:
    """Compare what a method found with what is stored."""
    places = marked_places(subject)
    bits = stored_bits(subject, places)
    active = features.readers @ places.residual.T > features.thresholds[:, None]
    alive = active.any(axis=1) & (np.linalg.norm(features.directions, axis=1) > 0)
    directions, active = features.directions[alive], active[alive]
    cosines = _cosines(bits.directions, directions)
    partners = best_matching(np.abs(cosines))
    f1, accuracy, others = [], [], []
    for bit, feature in partners.items():
        wanted = bits.true[bit] if cosines[bit, feature] >= 0 else ~bits.true[bit]
        told = active[feature]
        f1.append(2 * (told & wanted).sum() / (told.sum() + wanted.sum()))
        accuracy.append(_balanced(told, wanted))
        others += [_balanced(active[k], wanted) for k in partners.values() if k != feature]
    count = len(bits.formulas)
    untested = count - len(partners)  # told right by chance
    mcc = _mcc(bits.directions, directions)
    rng = np.random.default_rng([len(directions), *subject.id.encode()])
    chance = _mcc(bits.directions, rng.normal(size=directions.shape))
    nearest = set(np.abs(cosines).argmax(axis=0).tolist()) if len(directions) else set()
    measures = {
        "MCC": mcc,
        "uniqueness": len(nearest) / max(1, len(directions)),
        "F1": float(sum(f1) / count),
        "balanced accuracy": float((sum(accuracy) + 0.5 * untested) / count),
        MCC_ABOVE: mcc - chance,
        ACCURACY_ABOVE: float(np.mean(accuracy or [0.5]) - np.mean(others or [0.5])),
    }
    return DirectionMark(subject.id, subject.seed, measures, seconds)


def _balanced(told: Bools, wanted: Bools) -> float:
    return float(told[wanted].mean() + 1 - told[~wanted].mean()) / 2


def _mcc(stored: Array, directions: Array) -> float:
    similar = np.abs(_cosines(stored, directions))
    return float(sum(similar[pair] for pair in best_matching(similar).items()) / len(stored))


def _cosines(stored: Array, directions: Array) -> Array:
    """(stored, directions)"""
    left, right = (
        each / np.linalg.norm(each, axis=1, keepdims=True) for each in (stored, directions)
    )
    cosines: Array = left @ right.T
    return cosines


def best_matching(gains: Array) -> dict[int, int]:
    """Rows to columns, one to one, as many as there can be, with the greatest sum.

    The Hungarian method: rows come one by one, each by a shortest path of reduced costs to a free
    column. Potentials keep reduced costs at 0 on the matching and above elsewhere.
    """
    if gains.shape[0] > gains.shape[1]:
        return {row: column for column, row in sorted(best_matching(gains.T).items())}
    costs = -gains
    rows, columns = costs.shape
    by_row, by_column = np.zeros(rows), np.zeros(columns)
    owner = np.full(columns, -1)
    for row in range(rows):
        distance = np.full(columns, np.inf)
        before = np.full(columns, -1)
        reached = np.zeros(columns, bool)
        at, last, so_far = row, -1, 0.0
        while True:
            step = so_far + costs[at] - by_row[at] - by_column
            closer = ~reached & (step < distance)
            distance[closer], before[closer] = step[closer], last
            last = int(np.where(reached, np.inf, distance).argmin())
            so_far = float(distance[last])
            if owner[last] < 0:
                break
            reached[last] = True
            at = int(owner[last])
        by_row[row] += so_far
        for column in np.flatnonzero(reached).tolist():
            by_row[owner[column]] += so_far - distance[column]
            by_column[column] -= so_far - distance[column]
        while last >= 0:
            owner[last] = row if before[last] < 0 else owner[before[last]]
            last = int(before[last])
    return {int(owner[k]): k for k in range(columns) if owner[k] >= 0}


def direction_verdict(marks: Sequence[DirectionMark], asked: Mapping[str, Any]) -> str:
    """Are the directions there at all, and are the features active where they should be?"""
    if interval(marks, asked, "balanced accuracy", sure=SURE)[2] < 0.5:
        return "upside down"
    if any(interval(marks, asked, m, sure=SURE)[1] <= 0 for m in (MCC_ABOVE, ACCURACY_ABOVE)):
        return "no better than chance"
    return "sound"
