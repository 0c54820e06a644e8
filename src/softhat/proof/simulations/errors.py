"""How error passes through the layers: the weights that a simulation claims, layer by layer.

Theorem 14, forwards. Before each sublayer the evidence gives a weight a_c(n) for each coordinate c
that may carry error, and claims Σ a_c·e_c ≤ 1, where e_c is how far coordinate c of the softmax
model is from that of hard attention. At the start nothing errs. A head whose attention is off by at
most δ in total variation (Theorem 12) adds δ times the range of what it writes, and passes the
errors of its values on; so Σ b_c·e'_c ≤ 1 after the heads if

    a_d ≥ 2·(b_d + Σ_heads Σ_c b_c·|output·value|_cd)     and     δ_h·Σ_c b_c·width_hc ≤ 1/(2·heads)

(without the factor 2 where nothing errs before). Of a head that returns its own score, which does
not err, δ says how far the mean of its scores is below the greatest, and |λ_hc| stands for width_hc
(Theorem 44). A ReLU sublayer is Lipschitz, or flat around the exact values and sets an error to 0.
At the end a_c ≥ |w_c|/allowed makes the value's error at most what is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from softhat.io.errors import VoidError
from softhat.numbers.growth import Polynomial, constant
from softhat.numbers.laws import (
    Constant,
    Law,
    Length,
    Log,
    Maximum,
    Minimum,
    Sum,
    as_law,
    product,
)  # fmt: skip
from softhat.proof.simulations.own_score import OwnScore, own_score, temperature
from softhat.proof.simulations.residual import ResidualStream, Sight
from softhat.proof.simulations.sizes import SizeLaw, exactly, number, of_law, of_polynomial
from softhat.proof.simulations.source import Forward, SourceLayer, columns, support

Weights = Mapping[int, SizeLaw]
ROOT_E = Fraction(7, 4)
"""e^θ for θ ≤ 1/2, with 6% to spare: more than the 10⁻¹³ by which a β is rounded up before it goes
to 6 bits."""
SIX_BITS = Fraction(33, 32)  # what rounding a β up to 6 significant bits costs at most


@dataclass(frozen=True, slots=True)
class Sharp:
    """What is claimed of a head that is not uniform: γ, the argument of β's logarithm (None: the
    head returns its own score), 1/δ, and how many keys lie at each multiple of the gap (None: any
    number)."""

    gap: Law
    inside: Law | None
    leak: SizeLaw
    crowd: int | None


def inverse(law: Law) -> Law:
    """1/law; the least of laws becomes the greatest of their inverses."""
    if isinstance(law, Minimum):
        return Maximum(tuple(inverse(part) for part in law.of))
    return as_law(1) / law


def least_temperature(claim: Sharp, sinks: int) -> Law:
    """β that the claim rests on, before it is rounded up."""
    if claim.inside is None:
        return temperature(claim.gap, claim.leak.law, sinks)
    return product(inverse(claim.gap), Log(claim.inside))


def require(holds: bool, what: str) -> None:
    """An error if a claim does not hold."""
    if not holds:
        raise VoidError(f"the evidence does not prove it: {what}")


def check_heads(
    l: int,
    layer: SourceLayer,
    sights: list[Sight],
    claims: list[Sharp | None],
    agreed: list[bool],
    before: Weights,
    after: Weights,
    wrong: frozenset[int],
) -> None:
    """Do the weights after the heads of layer l follow from those before? `claims` has None for
    uniform heads, `agreed` says whether keys that share a maximum have one value, `wrong` are the
    coordinates that may err before."""
    share = (2 if wrong else 1) * sum(claim is not None for claim in claims)
    owns = [
        _own(f"layer {l}, head {h}", seen, wrong)
        if claim is not None and claim.inside is None
        else None
        for h, (seen, claim) in enumerate(zip(sights, claims, strict=True))
    ]
    for d in wrong:
        passed = after.get(d, SizeLaw())
        for head in layer.heads:
            for c, b in after.items():
                w = head.through(c)[d] if any(head.output[c]) else Fraction(0)
                passed = passed + b.times(abs(w)) if w else passed
        require(_at(before, d).covers(passed.times(2)), f"layer {l}: the error of coordinate {d}")
    for h, (sight, claim, own) in enumerate(zip(sights, claims, owns, strict=True)):
        if claim is None:
            continue
        where = f"layer {l}, head {h}"
        strict = SizeLaw()
        for c, b in after.items():
            strict = strict + b * of_polynomial(stake(sight, own, c))
        require(claim.leak.covers(strict.times(share)), f"{where}: its share of the error")
        if own is None:
            require(claim.leak.covers(number(3)), f"{where}: its leak")
            _check_temperature(where, sight, claim, agreed[h], before, wrong)
        else:
            require(claim.leak.coefficient > 0, f"{where}: its leak")


def _own(where: str, sight: Sight, wrong: frozenset[int]) -> OwnScore:
    """The score that a head returns, which must not err: then its gaps are those of the claim."""
    own = own_score(sight)
    if own is None or (columns(sight.head.query) | columns(sight.head.key)) & wrong:
        raise VoidError(f"the evidence does not prove it: {where}: that it returns its own score")
    return own


def stake(sight: Sight, own: OwnScore | None, c: int) -> Polynomial:
    """How far a head's δ may move coordinate c, at most: the width of what it writes there, or |λ|
    of its own score."""
    if not any(sight.head.output[c]):
        return Polynomial()
    if own is not None:
        return constant(abs(own.slope(sight.head, c)))
    return sight.stream.range(sight.stream.read(sight.head.through(c))).width


def _check_temperature(
    where: str, sight: Sight, claim: Sharp, agreed: bool, before: Weights, wrong: frozenset[int]
) -> None:
    """Theorem 12: with η the error of a difference of scores, the attention is off by at most
    (T - 1)·e^(-β(γ-η)), or crowd/(e^(βγ) - 1)·e^(βη), plus tanh(βη/4) where several keys may be
    maximal and differ (Theorem 43). βη ≤ θ, and β is at least the logarithm over γ."""
    assert claim.inside is not None
    head, stream = sight.head, sight.stream
    errs = bool((columns(head.query) | columns(head.key)) & wrong)
    dangerous = errs and not agreed
    needed = claim.leak.times((2 if dangerous else 1) * (ROOT_E if errs else 1))
    if claim.crowd is None:
        keys = Length((stream.has("<bos>")) + (stream.has("<eos>")))
        needed, inside = needed * of_law(keys), claim.inside
    else:
        needed = needed.times(claim.crowd)
        inside = _less_one(where, claim.inside)
    require(exactly(inside).covers(needed), f"{where}: its temperature leaks more")
    if not errs:
        return
    strictness = claim.leak if dangerous else number(2)  # 1/θ
    beta = of_law(inverse(claim.gap)) * of_law(Log(claim.inside)).times(SIX_BITS)
    moved: dict[int, SizeLaw] = {}
    for q, k, query, key in zip(head.query, head.key, sight.query, sight.key, strict=True):
        apart = of_polynomial(stream.range(key).width)
        size = of_polynomial(stream.range(query).size)
        both = bool(support(q) & wrong) and bool(support(k) & wrong)
        size = size + number(1) if support(q) & wrong else size
        for d in wrong:
            if q[d]:
                moved[d] = moved.get(d, SizeLaw()) + apart.times(abs(q[d]))
                # |error of the query's row| ≤ 1, which `size` and `apart` allow for
                require(not both or _at(before, d).covers(number(abs(q[d]))), f"{where}: queries")
            if k[d]:
                moved[d] = moved.get(d, SizeLaw()) + size.times(2 * abs(k[d]))
    for d, a in moved.items():
        require(
            _at(before, d).covers(a * beta * strictness), f"{where}: the error of its scores ({d})"
        )


def _less_one(where: str, law: Law) -> Law:
    """law - 1, of a constant or of a sum with the term 1."""
    match law:
        case Constant(x) if x > 1:
            return Constant(x - 1)
        case Sum((term, Constant(x))) | Sum((Constant(x), term)) if x == 1:
            return term
    raise VoidError(f"the evidence does not prove it: {where}: its logarithm")


def check_forward(
    l: int,
    layer: SourceLayer,
    stream: ResidualStream,
    before: Weights,
    after: Weights,
    wrong: frozenset[int],
) -> None:
    """Do the weights after the ReLU sublayer follow from those before it? `stream` is the one
    before the layer, `wrong` are the coordinates that may err before the sublayer."""
    forward = layer.forward
    assert forward is not None
    for d in wrong:
        radius = Fraction(0) if layer.heads else flat_radius(stream, forward, d)
        if radius:
            require(_at(before, d).covers(number(1 / radius)), f"layer {l}: the snap of {d}")
            continue
        passed = after.get(d, SizeLaw())
        for u, row in enumerate(forward.into):
            if row[d]:
                for c, a in after.items():
                    passed = passed + a.times(abs(forward.out[c][u] * row[d]))
        require(
            _at(before, d).covers(passed), f"layer {l}: the error of coordinate {d} in its ReLUs"
        )


def flat_radius(stream: ResidualStream, forward: Forward, c: int) -> Fraction:
    """How far coordinate c may be off before the sublayer and still come out exactly: its units
    read and write one coordinate each, c holds finitely many values, and around each the sum of x
    and its units is flat. 0 if not so."""
    units = []
    for u, row in enumerate(forward.into):
        reads, writes = support(row), {k for k, out in enumerate(forward.out) if out[u]}
        if len(reads) != 1 or reads != writes:
            return Fraction(0)
        if c in reads:
            units.append((row[c], forward.into_bias[u], forward.out[c][u]))
    if not units or stream.forms[c]:
        return Fraction(0)
    radii = [Fraction(1)]
    for x in {k.content[c] for k in stream.classes}:
        for side in (-1, 1):
            slope = Fraction(1)
            for w, b, out in units:
                z = w * x + b
                slope += out * w if z > 0 or (z == 0 and w * side > 0) else 0
            if slope:
                return Fraction(0)
        kinks = [abs(x + b / w) for w, b, _ in units if w * x + b]
        radii.append(min(kinks, default=Fraction(1)))
    return min(radii)


def erring(
    layer: SourceLayer, stream: ResidualStream, wrong: frozenset[int], uniform: list[bool]
) -> tuple[frozenset[int], frozenset[int]]:
    """The coordinates that may err after the heads of a layer, and after the layer."""
    middle = set(wrong)
    for head, even in zip(layer.heads, uniform, strict=True):
        if not even or columns(head.value) & wrong:
            middle |= {c for c, row in enumerate(head.output) if any(row)}
    after = set(middle)
    forward = layer.forward
    if forward is not None:
        for u, row in enumerate(forward.into):
            if support(row) & middle:
                after |= {c for c, out in enumerate(forward.out) if out[u]}
        if not layer.heads:
            after -= {c for c in after if flat_radius(stream, forward, c)}
    return frozenset(middle), frozenset(after)


def _at(weights: Weights, c: int) -> SizeLaw:
    return weights.get(c, SizeLaw())
