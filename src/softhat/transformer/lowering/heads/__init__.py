"""The attention heads: one file a kind, whose docstring is its theorem.

A kind gives its scores as rows of the query and key matrices. All scores are *anchored* at the
query's own position: the winner's score is small, so rounding hits only the losers. `head_rows`
is the one place that knows all kinds.
"""

from __future__ import annotations

from fractions import Fraction

from softhat.numbers.laws import ONE, Constant, Law
from softhat.program import heads as planned
from softhat.program.registers import Register
from softhat.program.schedule import HeadGroup
from softhat.program.signals import Signal
from softhat.transformer.lowering.heads.at import at_scores
from softhat.transformer.lowering.heads.average import average_scores
from softhat.transformer.lowering.heads.latest import latest_scores
from softhat.transformer.lowering.heads.match import match_scores
from softhat.transformer.lowering.heads.previous import previous_scores
from softhat.transformer.lowering.heads.shift import shift_scores
from softhat.transformer.lowering.heads.sign import sign_scores
from softhat.transformer.lowering.heads.width import width_scores
from softhat.transformer.lowering.rows import ORDINARY, SINKS, HeadRows, HeadScores, Row, RowPair
from softhat.transformer.lowering.wiring import Wiring
from softhat.transformer.weights import law_of_sharpness

SHARPNESS = 4.0
"""C: leak e^-4 = 0.0183 for Latest, and C' = 4C for Sign. A power of two keeps scores exact."""


def head_rows(group: HeadGroup, wiring: Wiring) -> HeadRows:
    """The head that computes the signals of a group."""
    heads = [_head(wiring.program.signals[at]) for at in group.signals]
    scores = _scores(heads[0], group.wide, wiring)
    labels = "; ".join([wiring.program.labels[at] for at in group.signals])
    return HeadRows(
        label=f"{scores.name}: {labels}",
        scores=_tempered(scores, wiring),
        law=_law(scores, group.wide, wiring),
        values=tuple([_value(head, wiring) for head in heads]),
        targets=tuple([Register(at, True) for at in group.signals]),
    )


def _head(signal: Signal) -> planned.Head:
    """A signal of a group is a head."""
    assert isinstance(signal, planned.Head)
    return signal


def _tempered(scores: HeadScores, wiring: Wiring) -> HeadScores:
    """Without temperature scaling β is part of the weights."""
    if scores.beta is None or wiring.units.scaled:
        return scores
    beta = scores.beta
    pairs = [RowPair({at: beta * w for at, w in q.items()}, k) for q, k in scores.pairs]
    return scores._replace(pairs=pairs)


def _law(scores: HeadScores, wide: bool, wiring: Wiring) -> Law:
    if not wiring.units.scaled:
        return ONE
    if scores.beta is not None:
        return Constant(Fraction(scores.beta))
    return law_of_sharpness(_sharpness(wide), "temperature")


def _sharpness(wide: bool) -> float:
    """Twice as sharp where a gate reads many raw outputs."""
    return SHARPNESS * (2 if wide else 1)


def _scores(head: planned.Head, wide: bool, wiring: Wiring) -> HeadScores:
    sharpness = _sharpness(wide)
    match head:
        case planned.Latest() | planned.StrictLatest():
            return latest_scores(head, sharpness, wiring)
        case planned.Previous():
            return previous_scores(head, sharpness, wiring)
        case planned.Shift():
            return shift_scores(head, sharpness, wiring)
        case planned.Average():
            return average_scores(head)
        case planned.Sign():
            return sign_scores(head, sharpness, wiring)
        case planned.Match(selector, _) | planned.MatchMean(selector, _):
            return match_scores(selector, wide, wiring)
        case planned.Width(selector):
            return width_scores(selector, wiring)
        case planned.At():
            return at_scores(head, wide, wiring)
        case planned.Recall():
            raise TypeError("a recall has no head here: `lower` spells it out")


def _value(head: planned.Head, wiring: Wiring) -> Row:
    match head:
        case (
            planned.Latest(value=value)
            | planned.StrictLatest(value=value)
            | planned.Previous(value=value)
            | planned.Shift(value=value)
            | planned.Match(value=value)
            | planned.At(value=value)
        ):
            return wiring.bit(value)
        case planned.Average(terms=terms) | planned.MatchMean(terms=terms):
            return wiring.weighted(terms)
        case planned.Sign():
            return {ORDINARY: 1.0}
        case planned.Width():
            return dict(SINKS)
        case planned.Recall():
            raise TypeError("a recall has no head here: `lower` spells it out")
