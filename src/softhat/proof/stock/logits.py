"""How far logits may be off, and whether they still say what they must.

A logit is a row over variables. What it adds up may be far larger than the logit itself, where a
row reads constants that cancel: so errors are measured against what is added, and the logit that is
left of them against what the weights were found to compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from softhat.numerics.formats import Format
from softhat.proof.stock.distribution import ReadHead, distribution_bounds
from softhat.proof.stock.storage import HUGE, SECOND, U, need
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell, TableCell, magnitude

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class ReadVariables:
    """What a read-out reads: variables as the last norm returns them, off by `off` before it and by
    the factor `scale` of their size after it; and `spill`, which is added to every product."""

    cells: Sequence[Cell]
    off: Vector
    scale: float
    spill: float = 0.0

    def at(self, bos: bool) -> tuple[Vector, NDArray[np.bool_], Vector]:
        """At `<bos>`, or on the word: what variables hold, which of them are known to hold just
        that, and how large they are."""
        held, known = np.zeros(len(self.cells)), np.ones(len(self.cells), np.bool_)
        for p, cell in enumerate(self.cells):
            match cell:
                case ConstantCell(ordinary, start):
                    held[p] = start if bos else ordinary
                case TableCell(values=values) if bos:
                    held[p] = values[0]
                case BitCell() if bos:
                    held[p] = -1.0
                case _:
                    held[p], known[p] = magnitude(cell), False
        return held, known, np.abs(held)


def logit_errors(
    rows: Vector, products: int, read: ReadVariables, storage: Format, is_lm: bool
) -> Vector:
    """Of rows (logits, variables), each weight in so many products: by what is read, by these and
    their sum, and by storing it. At `<bos>` only a language model's logits are read."""
    errors = np.zeros(len(rows))
    weights = np.abs(rows)
    terms = products * (rows != 0).sum(axis=1) + 1
    for bos in (False, True) if is_lm else (False,):
        held, known, size = read.at(bos)
        error = SECOND * weights @ (read.off + read.scale * size)
        error += SECOND * terms * U * (weights @ (size + read.spill))
        # No sum over variables is larger; known ones cancel.
        fixed = np.abs(rows[:, known] @ held[known])
        largest = fixed + weights[:, ~known] @ held[~known] + error
        need(bool((weights @ size < HUGE).all()), "read-out: sums overflow")
        need(bool((largest < storage.largest).all()), "read-out: logits overflow")
        error += storage.unit * largest + storage.floor
        errors = np.maximum(errors, error)
    return errors


def check_logits(
    head: ReadHead, errors: Iterable[float], margin: float | None, unit: float = 1.0
) -> dict[str, float]:
    """Logits that are off by at most these keep their sign, or a language model its margin, and its
    log-weights what they are. `unit`: that of the logits in `head`."""
    errors = [*errors]
    if margin is None:
        for size, error in zip(head.sizes, errors, strict=True):
            need(error < unit * size / 2, "read-out: logits may be off too far")
        return {}
    worst = max(errors, default=inf)
    if head.stated is not None:
        return distribution_bounds(head.stated, worst, margin, len(errors))
    assert head.margin is not None
    need(unit * head.margin - 2 * worst >= margin, "read-out: the margin may not be kept")
    return {}
