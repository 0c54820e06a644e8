"""Latest and StrictLatest: the last position, or the last one before this, not ruled out."""

from __future__ import annotations

from softhat.program.heads import Latest, StrictLatest
from softhat.transformer.lowering.rows import ONE, HeadScores, Row, RowPair
from softhat.transformer.lowering.wiring import Wiring
from softhat.transformer.weights import Mask


def latest_scores(head: Latest | StrictLatest, sharpness: float, wiring: Wiring) -> HeadScores:
    """Theorem 1. Softmax of C(-2i·bad_j + j - i) over j <= i puts at least 1 - e^-C on the last j
    without bad, for every n (mirrored: r for i, over j >= i). The next candidate is one position
    away, so gaps are >= C, 2C, …: the leak is at most Σ e^-kC/(1 + Σ e^-kC) = e^-C. If every
    position is bad the winner is `<bos>` or i itself, where the value is 0. With temperature
    scaling the penalty of bad is 2CP instead of 2Ci. Machine-checked: `since_latest`,
    `latest_unbounded` and `latest_temperature` of proofs/Latest.v.

    Theorem 2. Over j < i (mirrored: j > i) the scores are the same, and a key less can only raise
    the winner's share. `<bos>` is never bad, so if every j >= 1 is, it wins by more than C, and its
    value is 0; at i = 1 it is the only key. `<bos>` itself sees no key and gets 0. Machine-checked:
    `strict_latest_leak` and `strict_latest_temperature` of proofs/StrictLatest.v."""
    units = wiring.units
    here = units.toward(head.direction)
    c = units.weight(sharpness, sharpness)
    penalty: Row = {ONE: -2.0} if units.scaled else {here: -2 * c}
    pairs = [
        RowPair(penalty, wiring.bit(head.bad)),
        RowPair({ONE: c}, {here: 1.0}),
        RowPair({here: -c}, {ONE: 1.0}),
    ]
    masks: tuple[Mask, Mask] = ("<=", ">=") if isinstance(head, Latest) else ("<", ">")
    strict = "" if isinstance(head, Latest) else "Strict"
    if head.direction == "past":
        return HeadScores(f"{strict}Latest", masks[0], pairs)
    return HeadScores(f"{strict}Earliest", masks[1], pairs)
