"""Temperature laws: β(n) of every head, in closed form, such that softmax is within ε at every n.

Theorem 12. Let γ(n) be a head's gap law, let its scores differ from the exact ones by at most η
(the difference of two of them), and let T be the number of keys. Then the attention of softmax(β·s)
and hard attention differ, in total variation, by at most

    (T-1)·e^(-β(γ-η)) + tanh(βη/4),

the second term only if several keys may be maximal and differ (Theorem 43). So β = γ⁻¹·ln(T·e^θ/δ)
with βη ≤ θ leaves at most δ (θ = 1/2 where keys that share a maximum agree; else θ = δ, and each
term gets half). The head's error is at most that times the range of its values, plus the error of
the values. Machine-checked:
`row_error`, `row_error_benign` and `misplaced_law` of proofs/Ties.v; how layers pass errors on,
`layer_within` of proofs/Errors.v; the weights a_c below are not machine-checked.

Theorem 14. The output must err by at most ε. Going from the last layer to the first, one weight
a_c(n) for each coordinate says how small its error e_c must be: Σ a_c(n)·e_c ≤ 1. Layers pass
weights on through their linear maps, a head takes its share δ of what is left, and heads whose
scores carry error add the weight β/θ on what they read. Ranges and weights are monomials of n
(`magnitudes`); so β is a monomial of n times a logarithm, and each layer above another adds to the
logarithm only.

A head that returns its own score, where scores carry no error, needs less (Theorem 44,
`softhat.proof.simulations.own_score`): β = min(γ⁻¹·ln(T·γ/δ), δ⁻¹·ln((T + 19)/8)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from softhat.ahat.analysis.gap_laws import GapLaws, HeadId, gap_laws
from softhat.ahat.analysis.peaks import crowd
from softhat.ahat.analysis.portrait import Portrait, source_of
from softhat.ahat.analysis.structure import structure
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.magnitudes import Magnitude, number, of_law, of_log, of_polynomial
from softhat.numbers.laws import Constant, Law, Length, Log, rounded_up
from softhat.proof.simulations.errors import (
    SIX_BITS,
    Sharp,
    erring,
    flat_radius,
    inverse,
    least_temperature,
    stake,
)
from softhat.proof.simulations.own_score import OwnScore, own_score
from softhat.proof.simulations.residual import ResidualStream, Sight
from softhat.proof.simulations.sizes import SizeLaw
from softhat.proof.simulations.source import SourceLayer, SourceModel, columns, support

LOOSE = Fraction(1, 2)  # θ where one key is maximal
LEAST = Fraction(3)  # 1/δ is at least this, so that logarithms are at least 1


Weights = dict[int, Magnitude]  # coordinate → a_c


@dataclass(frozen=True, slots=True)
class HeadTemperature:
    """One head: β(n), and what it is computed from."""

    beta: Law
    claim: Sharp
    erroneous: bool  # its scores carry error
    dangerous: bool  # and several keys of different values may be maximal
    short_gaps: tuple[Fraction, ...] = ()  # at n = 1, 2, …, where β is a table of its own


@dataclass(frozen=True, slots=True)
class TemperatureLaws:
    """β(n) of every head; None for structurally uniform heads, which need none."""

    model: AHAT
    heads: Mapping[HeadId, HeadTemperature | None]
    weights: tuple[tuple[Weights, Weights], ...] = ()  # before each layer, and after its heads
    end: Weights = field(default_factory=dict)  # at the output

    @property
    def betas(self) -> dict[HeadId, Law | None]:
        """β(n) of each head."""
        return {name: None if h is None else h.beta for name, h in self.heads.items()}


def temperature_laws(model: AHAT, strictness: Law, own: bool = True) -> TemperatureLaws:
    """β(n) of every head such that every value errs by at most 1/strictness(n), in the reals.
    `own`: by Theorem 44 too, of heads that return their own scores."""
    laws, source = gap_laws(model), source_of(model)
    wrong, middles = _wrong(source, laws.portrait)
    goal = of_law(strictness)
    weights = {
        c: goal.times(abs(w)) for c, w in enumerate(model.output_weights) if w and c in wrong[-1]
    }
    end = weights
    heads: dict[HeadId, HeadTemperature | None] = dict.fromkeys(model.heads, None)
    history: list[tuple[Weights, Weights]] = []
    for l in reversed(range(len(source.layers))):
        layer = source.layers[l]
        if layer.forward is not None:
            weights = _before_forward(layer, laws.portrait.states[l], weights, middles[l])
        middle = weights
        weights = _before_heads(l, layer, laws, weights, wrong[l], heads, own)
        history.append((weights, middle))
    return TemperatureLaws(model, heads, tuple(reversed(history)), end)


def _wrong(
    source: SourceModel, seen: Portrait
) -> tuple[tuple[frozenset[int], ...], tuple[frozenset[int], ...]]:
    """Coordinates that carry error before each layer (and at the end), and after its heads."""
    facts = structure(seen.model)
    wrong: list[frozenset[int]] = [frozenset()]
    middles = []
    for l, layer in enumerate(source.layers):
        uniform = [facts[l, h].uniform for h in range(len(layer.heads))]
        middle, after = erring(layer, seen.states[l], wrong[-1], uniform)
        middles.append(middle)
        wrong.append(after)
    return tuple(wrong), tuple(middles)


def _before_forward(
    layer: SourceLayer, stream: ResidualStream, weights: Weights, wrong: frozenset[int]
) -> Weights:
    """Weights before a ReLU sublayer, which is Lipschitz; a flat stretch only has to be met."""
    forward = layer.forward
    assert forward is not None
    result: Weights = {}
    for d in wrong:
        radius = Fraction(0) if layer.heads else flat_radius(stream, forward, d)
        if radius:
            result[d] = number(1 / radius)
            continue
        total = weights.get(d, Magnitude())
        for u, row in enumerate(forward.into):
            if row[d]:
                for c, a in weights.items():
                    total = total + a.times(abs(forward.out[c][u] * row[d]))
        if total.coefficient:
            result[d] = total
    return result


def _before_heads(
    l: int,
    layer: SourceLayer,
    laws: GapLaws,
    weights: Weights,
    wrong: frozenset[int],
    heads: dict[HeadId, HeadTemperature | None],
    own: bool,
) -> Weights:
    """Choose β of the layer's heads; the weights before the layer."""
    sharp = [h for h in range(len(layer.heads)) if laws.gap[l, h] is not None]
    upstream = 2 if wrong else 1
    result: Weights = {d: weights[d].times(Fraction(2)) for d in wrong if d in weights}
    for head in layer.heads:
        for c, a in weights.items():
            for d, w in enumerate(head.through(c)):
                if w and d in wrong:
                    result[d] = result.get(d, Magnitude()) + a.times(2 * abs(w))
    for h in sharp:
        view = laws.portrait.views[l, h]
        erroneous = bool((columns(view.head.query) | columns(view.head.key)) & wrong)
        # Where a maximum is not crowded, Theorem 12 may ask for less.
        may = own and not erroneous and crowd(view) is None
        returned = own_score(view) if may else None
        share = _influence(view, returned, weights).times(Fraction(upstream * len(sharp)))
        temperature = heads[l, h] = _temperature(laws, (l, h), share, erroneous, returned)
        if erroneous:
            colder = _strictness(temperature)
            for d, a in _read_by_scores(view, wrong).items():
                result[d] = result.get(d, Magnitude()) + a * colder
            for d, a in _queries(view, wrong).items():
                result[d] = result.get(d, Magnitude()) + a
    return result


def _temperature(
    laws: GapLaws, name: HeadId, share: Magnitude, erroneous: bool, own: OwnScore | None
) -> HeadTemperature:
    """β for a head that must leave at most 1/share, of its own score or of its attention."""
    gap, sinks = laws.gap[name], laws.portrait.model.sinks
    assert gap is not None
    dangerous = erroneous and not laws.portrait.agreed[name]
    rows = crowd(laws.portrait.views[name])
    if own is not None and share.coefficient:
        claim = Sharp(gap, None, share, rows)
    else:
        leak = share.at_least(LEAST)
        claim = Sharp(gap, needed(leak, rows, sinks, erroneous, dangerous), leak, rows)
    return HeadTemperature(rounded_up(least_temperature(claim, sinks)), claim, erroneous, dangerous)


def needed(leak: SizeLaw, rows: int | None, sinks: int, erroneous: bool, dangerous: bool) -> Law:
    """The argument of β's logarithm, by Theorem 12."""
    keys = Length(sinks) if rows is None else Constant(Fraction(rows))
    inside = leak.law * keys * (2 if dangerous else 1)
    if erroneous:
        inside = inside * Fraction(7, 4)  # e^θ, for θ ≤ 1/2
    return inside if rows is None else inside + 1


def _strictness(head: HeadTemperature) -> Magnitude:
    """β/θ, rounding up included: how small the error of a difference of scores must be."""
    claim = head.claim
    assert claim.inside is not None
    size = of_law(inverse(claim.gap)) * of_log(Log(claim.inside)) * number(SIX_BITS)
    return size * (
        Magnitude(claim.leak.coefficient, claim.leak.degrees)
        if head.dangerous
        else number(1 / LOOSE)
    )


def _influence(view: Sight, own: OwnScore | None, weights: Weights) -> Magnitude:
    """Σ a_c · what a head's δ moves in coordinate c: the weight of its δ."""
    total = Magnitude()
    for c, a in weights.items():
        total = total + a * of_polynomial(stake(view, own, c))
    return total


def _read_by_scores(view: Sight, wrong: frozenset[int]) -> Weights:
    """What the error of each coordinate adds to the difference of two scores (|err q| ≤ 1)."""
    result: Weights = {}
    state = view.stream
    for r, (q, k) in enumerate(zip(view.head.query, view.head.key, strict=True)):
        apart = of_polynomial(state.range(view.key[r]).width)
        size = of_polynomial(state.range(view.query[r]).size)
        if support(q) & wrong:
            size = size + number(1)
        for d in wrong:
            if q[d]:
                result[d] = result.get(d, Magnitude()) + apart.times(abs(q[d]))
            if k[d]:
                result[d] = result.get(d, Magnitude()) + size.times(2 * abs(k[d]))
    return result


def _queries(view: Sight, wrong: frozenset[int]) -> Weights:
    """|err q_r| ≤ 1 for the rows where the key errs too."""
    result: Weights = {}
    for q, k in zip(view.head.query, view.head.key, strict=True):
        if support(q) & wrong and support(k) & wrong:
            for d in support(q) & wrong:
                result[d] = result.get(d, Magnitude()) + number(abs(q[d]))
    return result
