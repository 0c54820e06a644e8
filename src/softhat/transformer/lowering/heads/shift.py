"""Shift: the position at a fixed distance."""

from __future__ import annotations

from softhat.program.heads import Shift
from softhat.transformer.lowering.rows import ONE, HeadScores, RowPair
from softhat.transformer.lowering.wiring import Wiring


def shift_scores(head: Shift, sharpness: float, wiring: Wiring) -> HeadScores:
    """Theorem 4. For distance c and a modulus m > c, softmax of C(j - i - (c+3)·[j ≢ i-c mod m])
    over j <= i, `<bos>` matching every residue, puts all but
    e^-C + e^-3C/(1 - e^-C) + e^-mC/(1 - e^-mC) on j = i-c (on `<bos>` if that is no position),
    for every n. No other j > i-c has its residue; those lose at least C(3 + i - j) against it,
    the j of its residue m positions away lose mC, 2mC, …, and `<bos>` loses C(i-c) >= C where it
    is not the winner itself. Mirrored: r for i, over j >= i, i+c for i-c, with `<eos>` the sink.
    All shifts of a program share one modulus. With temperature scaling the penalty is 2CP, which
    is more, because c < n < P. Two units of c+3 keep the winner first; the third is for rounding,
    which reaches losers before winners. Machine-checked: `shift_leak` of proofs/Shift.v."""
    units = wiring.units
    here = units.toward(head.direction)
    c = units.weight(sharpness, sharpness)
    back = head.distance if head.direction == "past" else -head.distance
    penalty = 2.0 if units.scaled else c * (head.distance + 3)
    pairs = [RowPair({ONE: c}, {here: 1.0}), RowPair({here: -c}, {ONE: 1.0})]
    for residue, key in enumerate(wiring.elsewhere):  # the key's; the query's is `back` further
        query = wiring.residues[(residue + back) % wiring.modulus]
        pairs.append(RowPair({query: -penalty}, key))
    if head.direction == "past":
        return HeadScores("Shift", "<=", pairs)
    return HeadScores("ShiftAhead", ">=", pairs)
