"""Latest: the last position that is not ruled out."""

from __future__ import annotations

from softhat.program.heads import Direction, Latest
from softhat.program.literals import Literal
from softhat.transformer.lowering.rows import ONE, HeadScores, Row, RowPair
from softhat.transformer.lowering.wiring import Wiring


def latest_scores(head: Latest, sharpness: float, wiring: Wiring) -> HeadScores:
    """Theorem 1. Softmax of C(-2i·bad_j + j - i) over j <= i puts at least 1 - e^-C on the last j
    without bad, for every n (mirrored: r for i, over j >= i). The next candidate is one position
    away, so gaps are >= C, 2C, …: the leak is at most Σ e^-kC/(1 + Σ e^-kC) = e^-C. If every
    position is bad the winner is `<bos>` or i itself, where the value is 0. With temperature
    scaling the penalty of bad is 2CP instead of 2Ci. Machine-checked: `since_latest`,
    `latest_unbounded` and `latest_temperature` of proofs/Latest.v."""
    pairs = scores_of_latest(head.bad, head.direction, sharpness, wiring)
    if head.direction == "past":
        return HeadScores("Latest", "<=", pairs)
    return HeadScores("Earliest", ">=", pairs)


def scores_of_latest(
    bad: Literal, direction: Direction, sharpness: float, wiring: Wiring
) -> list[RowPair]:
    """C(-2i·bad_j + j - i), or its mirror image."""
    units = wiring.units
    here = units.toward(direction)
    c = units.weight(sharpness, sharpness)
    penalty: Row = {ONE: -2.0} if units.scaled else {here: -2 * c}
    return [
        RowPair(penalty, wiring.bit(bad)),
        RowPair({ONE: c}, {here: 1.0}),
        RowPair({here: -c}, {ONE: 1.0}),
    ]
