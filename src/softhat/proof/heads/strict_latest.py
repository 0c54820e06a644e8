"""StrictLatest (mirrored: StrictEarliest): the value at the last j < i that is not ruled out.

    score = B(j - i) - A·i·bad_j over j < i,  A >= 2B   (with temperature scaling A·P·bad_j)

**Theorem 2** (`strict_latest_leak` of proofs/StrictLatest.v). The scores are Latest's, and a key
less can only raise the winner's share: all but e^-B is on the last j < i without bad, for every n.
`<bos>` is never bad, so it is there to be found; it sees no key itself and gets 0. So the head
computes Y of what Latest computes, and Latest's bounds hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from softhat.proof.cells import Cell, Raw
from softhat.proof.heads import latest
from softhat.proof.heads.kind import Kind
from softhat.proof.heads.latest import LatestKind
from softhat.proof.heads.reading import Reading

NAMES = {
    "StrictLatest": "looks back to the last position before it that decides",
    "StrictEarliest": "looks ahead to the first position after it that decides",
}


@dataclass(frozen=True, slots=True)
class StrictLatestKind(LatestKind):
    """Softmax of B(j - i) - A·i·bad_j over j < i."""

    CALLED = tuple(NAMES)


def fits(reading: Reading) -> bool:
    return reading.head.mask in ("<", ">")


def recognise(reading: Reading) -> tuple[Kind, list[Cell]]:
    kind, cells = latest.recognise(reading)
    assert isinstance(kind, LatestKind)
    raws: list[Cell] = []
    for cell in cells:
        assert isinstance(cell, Raw)
        before = reading.atoms.previous(cell.function, reading.direction, reading.level)
        raws.append(Raw(before, reading.number))
    return StrictLatestKind(kind.direction, kind.scores, kind.slope, kind.penalty), raws
