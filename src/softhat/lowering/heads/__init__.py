"""The attention heads: one file a kind, whose docstring is its theorem.

A kind gives its scores as rows of the query and key matrices. All scores are *anchored* at the
query's own position: the winner's score is small, so rounding hits only the losers. `head_rows`
is the one place that knows all kinds.
"""

from __future__ import annotations

from softhat.lowering.heads.average import average_scores
from softhat.lowering.heads.latest import latest_scores
from softhat.lowering.heads.previous import previous_scores
from softhat.lowering.heads.shift import shift_scores
from softhat.lowering.heads.sign import sign_scores
from softhat.lowering.heads.strict_latest import strict_latest_scores
from softhat.lowering.rows import ORDINARY, HeadRows, Row, Scores
from softhat.lowering.wiring import Wiring
from softhat.program.heads import Average, Head, Latest, Previous, Shift, Sign, StrictLatest
from softhat.program.registers import Register
from softhat.program.schedule import HeadGroup

SHARPNESS = 4.0
"""C: leak e^-4 = 0.0183 for Latest, and C' = 4C for Sign. A power of two keeps scores exact."""


def head_rows(group: HeadGroup, wiring: Wiring) -> HeadRows:
    """The head that computes the signals of a group."""
    sharpness = SHARPNESS * (2 if group.wide else 1)
    signals = [wiring.program.signals[at] for at in group.signals]
    scores = _scores(signals[0], sharpness, wiring)  # type: ignore[arg-type]  # groups are heads
    labels = "; ".join(wiring.program.labels[at] for at in group.signals)
    return HeadRows(
        label=f"{scores.name}: {labels}",
        scores=scores,
        sharpness=sharpness,
        values=tuple(_value(signal, wiring) for signal in signals),  # type: ignore[arg-type]
        targets=tuple(Register(at, True) for at in group.signals),
    )


def _scores(head: Head, sharpness: float, wiring: Wiring) -> Scores:
    match head:
        case Latest():
            return latest_scores(head, sharpness, wiring)
        case StrictLatest():
            return strict_latest_scores(head, sharpness, wiring)
        case Previous():
            return previous_scores(head, sharpness, wiring)
        case Shift():
            return shift_scores(head, sharpness, wiring)
        case Average():
            return average_scores(head)
        case Sign():
            return sign_scores(head, sharpness, wiring)
        case _:
            raise TypeError(f"no weights for {head!r}")


def _value(head: Head, wiring: Wiring) -> Row:
    match head:
        case Latest(_, value, _) | StrictLatest(_, value, _) | Previous(value, _):
            return wiring.bit(value)
        case Shift(value, _, _):
            return wiring.bit(value)
        case Average(terms, _):
            return wiring.weighted(terms)
        case Sign():
            return {ORDINARY: 1.0}
        case _:
            raise TypeError(f"no weights for {head!r}")
