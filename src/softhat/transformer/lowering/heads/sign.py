"""Sign: whether a sum of counts reaches a threshold."""

from __future__ import annotations

from softhat.numerics.formats import NARROW
from softhat.program.heads import Direction, Sign
from softhat.transformer.lowering.rows import ONE, ORDINARY, HeadScores, Row, RowPair, added
from softhat.transformer.lowering.wiring import Wiring


def sign_scores(head: Sign, sharpness: float, wiring: Wiring) -> HeadScores:
    """Theorem 6. With y = Σcounts + position·i + length·n - (threshold - 1/2), a half-integer,
    softmax of C'(x_i(j+1) + t_i(n+2) + z_i(r_j+1) + position·i + length·n - threshold + 1/2)
    + D(j-i) on ordinary j <= i, and of 0 on `<bos>`, gives the ordinary positions all but
    e^(-C'/2) of the weight if y > 0 and at most e^(-C'/2)/(1 - e^-C') if y < 0, for every n.
    x, t, z are the past, total and future averages, so at j = i the bracket is y, |C'y| >= C'/2;
    each step away from i costs D + C'(x - z) >= C'. The value is 1 on ordinary positions.
    Mirrored for comparisons of future counts only: over j >= i, with `<eos>` the sink. C' is 4C,
    more than the leak needs: rounding eats a share of C'/2, and what is left must still tell.
    Machine-checked: `sign_positive` and `sign_negative` of proofs/Sign.v."""
    units = wiring.units
    direction: Direction = "future" if head.averages == (head.future,) else "past"
    here = units.toward(direction)
    gain = units.weight(4 * sharpness, sharpness)  # C' = 4C
    steep = units.weight(steepness(4 * sharpness, _opposed(head, direction, wiring)), sharpness)
    pairs: list[RowPair] = []
    ranges: list[tuple[int | None, Row]] = [
        (head.past, {units.i: 1.0, units.unit: 1.0}),
        (head.total, {units.i: 1.0, units.r: 1.0, units.unit: 1.0}),
        (head.future, {units.r: 1.0, units.unit: 1.0}),
    ]
    for average, key in ranges:
        if average is not None:
            mean = wiring.average(average)
            pairs.append(RowPair({at: gain * w for at, w in mean.items()}, key))
    # n = i + r - 1; the constant has a row of its own so that neither row needs more bits. The
    # large factors are in the keys: a query such as D·i would overflow float16 first.
    offset = head.threshold - 0.5 + head.length
    pairs.append(RowPair({units.unit: -offset}, {ORDINARY: gain}))
    pairs.append(RowPair({ONE: steep}, {here: 1.0}))
    # p·i + q·n and -D·i share a row where that takes no more digits than p·i + q·n alone, or than
    # several averages leave anyway. Scores of more than three products are summed more exactly.
    sizes = added([{units.i: float(head.position + head.length)}, {units.r: float(head.length)}])
    falling = added([sizes, {here: -steep / gain}])
    digits = max(_largest(sizes), _reach(head, wiring) if len(head.averages) > 1 else 0.0)
    together = [RowPair(falling, {ORDINARY: gain})] if falling else []
    if _largest(falling) <= digits and len(pairs) + len(together) > NARROW:
        pairs += together
    else:
        if sizes:
            pairs.append(RowPair(sizes, {ORDINARY: gain}))
        pairs.append(RowPair({here: -1.0}, {ORDINARY: steep}))
    return HeadScores("Sign", "<=" if direction == "past" else ">=", pairs)


def _largest(row: Row) -> float:
    return max(map(abs, row.values()), default=0.0)


def _reach(head: Sign, wiring: Wiring) -> float:
    """How large the averages' sum can be, a position: past and future ones share positions."""
    past, future, total = (
        0.0 if average is None else max(map(abs, wiring.range(wiring.terms(average))))
        for average in (head.past, head.future, head.total)
    )
    return max(past, future) + total


def _opposed(head: Sign, direction: Direction, wiring: Wiring) -> float:
    """How much a step away from i can gain: max (z - x) (mirrored: max (x - z)), at least 0."""

    def range_of(average: int) -> tuple[float, float]:
        return wiring.range(wiring.terms(average))

    falling = head.future if direction == "future" else head.past
    opposed = 0.0 if falling is None else max(0.0, -range_of(falling)[0])
    if head.future is not None and head.future != falling:
        opposed += max(0.0, range_of(head.future)[1])
    return opposed


def steepness(gain: float, opposed: float) -> float:
    """D: the least power of two >= C'(opposed + 1). A small D leaves more digits to the rest."""
    steep = 1.0
    while steep < gain * (opposed + 1):
        steep *= 2
    return steep
