"""Atoms that depend on the position alone: after a start they repeat with a period.

Words that differ in nothing else look alike at positions that are a period apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softhat.numbers.predicates import Periodic, column
from softhat.proof.boolean import Key

Bools = NDArray[np.bool_]


def period_of(key: Key) -> tuple[int, int] | None:
    """(start, period) of an atom that only depends on the position."""
    match key:
        case ("mod", modulus, _):
            return 0, modulus
        case ("at", Periodic(_, start, period)):
            return len(start), len(period)
        case ("positions", int(), bytes()):
            table = _table(key)
            changes = np.flatnonzero(table != table[-1])
            return (int(changes[-1]) + 1 if len(changes) else 0), 1
    return None


def _table(key: Key) -> Bools:
    """A table of the positions 1, 2, … of a model whose words are not longer. What it says of later
    ones does not matter: the last entry stays."""
    _, most, packed = key
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=most).astype(np.bool_)


def held_at(key: Key, places: int) -> Bools:
    """Whether such an atom holds at each place from 0 on."""
    positions = np.arange(places + 1)
    match key:
        case ("mod", modulus, remainder):
            return np.asarray(positions % modulus == remainder)
        case ("at", Periodic() as predicate):
            return np.asarray(column(predicate, positions, places))
        case ("positions", int(), bytes()):
            table = _table(key)
            return np.concatenate([[False], table[np.minimum(positions[1:], len(table)) - 1]])
    raise TypeError(f"not an atom of the position: {key!r}")
