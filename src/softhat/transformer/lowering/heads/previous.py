"""Previous: the position before."""

from __future__ import annotations

from softhat.numbers.positions import Named
from softhat.program.heads import Previous
from softhat.transformer.lowering.rows import ALTERNATING, ONE, HeadScores, RowPair
from softhat.transformer.lowering.wiring import Wiring


def previous_scores(head: Previous, sharpness: float, wiring: Wiring) -> HeadScores:
    """Theorem 3. Softmax of C(j - i - 2(1 + (-1)^(i+j))) over j <= i puts all but
    (e^-2C + e^-3C)/(1 - e^-2C) on j = i-1, for every n: positions of i's own parity lose 4C,
    those of the other parity 2C a step, and i-1 (`<bos>` for i = 1) is the first of them.
    Mirrored: r for i, over j >= i, with `<eos>` the sink. Machine-checked: `previous_leak` of
    proofs/Previous.v."""
    units = wiring.units
    here = units.toward(head.direction)
    c = units.weight(sharpness, sharpness)
    one = units.unit if units.scaled else ONE
    pairs = [
        RowPair({ONE: c}, {here: 1.0}),
        RowPair({here: -c, one: -2 * c}, {ONE: 1.0}),
        RowPair({ALTERNATING: -2 * c}, {Named("(-1)^i", units.scaled): 1.0}),
    ]
    if head.direction == "past":
        return HeadScores("Previous", "<=", pairs)
    return HeadScores("Next", ">=", pairs)
