"""The certificate of a simulation: what is proved, for which lengths, in which arithmetic."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from softhat.ahat.analysis.structure import structure
from softhat.ahat.file import dumps
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.evidence import evidence_to_length
from softhat.ahat.simulation.finite_floats import FiniteFloats
from softhat.ahat.simulation.interrupted import Interrupted
from softhat.ahat.simulation.lengths import HeadId, LengthBound, Lengths
from softhat.ahat.simulation.temperature import BetaChoice
from softhat.io.errors import SofthatError
from softhat.numbers.laws import Constant, Law
from softhat.numbers.laws.stored import from_json as law_from_json
from softhat.numerics.formats import FORMATS, Format
from softhat.proof.document import document, kind_of
from softhat.proof.proved import ProvedLengths
from softhat.proof.simulations.lengths import Reached, check_to

MANY_LENGTHS = 256
ASSUMPTIONS = (
    "masked keys are excluded, not given a finite score",
    "softmax subtracts the row's maximum and divides once, after summing",
    "exp is correct to 2 ulps",
    "sums of n terms in any order, in the format itself or wider (no TF32)",
    "weights are the nearest floats; scores are multiplied by β, a number of 6 significant bits",
    "float16 and bfloat16 are summed in float32 and rounded after every step",
)


@dataclass(frozen=True, slots=True)
class SimulatedHead:
    """One head over all certified lengths."""

    layer: int
    head: int
    name: str
    kind: (
        str  # structurally uniform | tieless | uniform by accident | exact, benign, dangerous ties
    )
    beta: float
    gap: str  # the least gap, exactly; "inf" if every row is uniform
    leak: float
    error: float  # what it adds, along the directions that are read later; upstream error included
    law: Law | None = None  # β(n), where it is one; `beta` is then β(1) and `gap` the gap's law


@dataclass(frozen=True, slots=True)
class LengthCertificate:
    """All words of one length: the certified error in each arithmetic."""

    method: str  # structure | laws | words | sets
    error: Mapping[str, float]
    decisions: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class SimulationCertificate(ProvedLengths):
    """What is proved about a simulation. `epsilon` None: only the decisions were asked for."""

    epsilon: float | None
    error: float  # in the reals, over all lengths
    guarantee: str
    length: int | None  # to which length it holds in the reals; None: every length
    max_length: Mapping[str, int]
    heads: tuple[SimulatedHead, ...]
    lengths: Mapping[int, LengthCertificate]
    evidence: Mapping[str, Any] | None = None  # for the checker in `proof.simulations`

    def to_json(self) -> dict[str, Any]:
        """A JSON document; infinities become null."""
        return document(
            "simulation",
            self.max_length,
            ASSUMPTIONS,
            attention="temperature",
            epsilon=self.epsilon,
            error=_finite(self.error),
            guarantee=self.guarantee,
            length=self.length,
            heads=[_head_json(h) for h in self.heads],
            lengths={
                str(n): {
                    "method": c.method,
                    "error": {k: _finite(e) for k, e in c.error.items()},
                    "decisions": dict(c.decisions),
                }
                for n, c in self.lengths.items()
            },
            **({} if self.evidence is None else {"evidence": self.evidence}),
        )

    def __repr__(self) -> str:
        reach = "every length" if self.length is None else f"length {self.length}"
        return f"<softhat.SimulationCertificate {self.guarantee}, to {reach}>"

    def explain(self) -> str:
        """The certificate in words."""
        if self.epsilon is None:
            aim = "every decision value > 0 is the AHAT's"
        else:
            aim = f"every value is within {self.epsilon:g} of the AHAT's"
        level = {
            "proved_all": "for words of every length",
            "proved_to_length": f"for every word to length {self.length}",
            "exhaustive": f"for every word to length {self.length}, each of them run",
        }[self.guarantee]
        lines = [f"{aim} {level} (in the reals; certified error {self.error:.3g})"]
        for kind, n in self.max_length.items():
            lines.append(f"  {kind}: to length {n}" if n else f"  {kind}: not certified")
        for h in self.heads:
            what = f"layer {h.layer}, head {h.head}" + (f" ({h.name})" if h.name else "")
            if h.kind == "structurally uniform":
                lines.append(f"  {what}: structurally uniform, no temperature needed")
            elif h.law is not None:
                lines.append(f"  {what}: {h.kind}, gap ≥ {h.gap}, β(n) = {h.law.text}")
            else:
                lines.append(
                    f"  {what}: {h.kind}, least gap {h.gap}, β = {h.beta:g}, "
                    f"leak ≤ {h.leak:.3g}, error ≤ {h.error:.3g}"
                )
        return "\n".join(lines)


def certify(
    lengths: Lengths, choice: BetaChoice, epsilon: float | None, evidence: Any = None
) -> SimulationCertificate:
    """Certify the chosen β in every number format, and put everything together.

    In the reals nothing is claimed but what the checker (`proof.simulations.lengths`) accepts, by
    the evidence that is given, or by that which follows from the model.
    """
    if evidence is None:
        evidence = evidence_to_length(lengths.model)
    proved = _checked(lengths.source, choice, evidence, epsilon)
    if not proved:
        return nothing_proved(epsilon)
    choice = BetaChoice(choice.betas, {n: choice.bounds[n] for n in proved})
    by_length: dict[int, dict[str, LengthBound]] = {
        n: {"reals": b} for n, b in choice.bounds.items()
    }
    max_length = dict.fromkeys(FORMATS, 0)
    going = dict(FORMATS)

    def certificate() -> SimulationCertificate:
        return _certificate(lengths, choice, epsilon, max_length, by_length, proved, evidence)

    try:
        floats = FiniteFloats(lengths, choice.betas)
        for low, high in _stretches(lengths, max(choice.bounds), epsilon):
            for name, form in list(going.items()):
                bounds = _in_floats(floats, choice, low, high, form, epsilon)
                for n, bound in bounds.items():
                    by_length[n][name] = bound
                    if not bound.holds(epsilon):
                        del going[name]
                        break
                    max_length[name] = n
    except KeyboardInterrupt:  # the rest holds in the reals only
        raise Interrupted(certificate()) from None
    return certificate()


def nothing_proved(epsilon: float | None) -> SimulationCertificate:
    """The certificate of a claim that does not hold for the shortest words."""
    nothing = dict.fromkeys(FORMATS, 0)
    return SimulationCertificate(epsilon, math.inf, "exhaustive", 0, nothing, (), {})


def _checked(
    model: AHAT, choice: BetaChoice, evidence: Any, epsilon: float | None
) -> dict[int, Reached]:
    """The lengths that the checker accepts."""
    laws = {name: Constant(Fraction(beta)) for name, beta in choice.betas.items()}
    wanted = None if epsilon is None else Fraction(epsilon)
    claim = json.loads(dumps(model)), laws, evidence, wanted, max(choice.bounds)
    return {n: reached for n, reached in check_to(*claim).items() if n in choice.bounds}


def _stretches(lengths: Lengths, top: int, epsilon: float | None) -> Iterator[tuple[int, int]]:
    """All lengths, long ones many at a time; decisions of a uniform model one by one, since the
    margin at a length says nothing about shorter ones."""
    alone = top if lengths.uniform and epsilon is None else min(top, MANY_LENGTHS)
    yield from ((n, n) for n in range(1, alone + 1))
    for low in range(alone + 1, top + 1, MANY_LENGTHS):
        yield low, min(low + MANY_LENGTHS - 1, top)


def _in_floats(
    floats: FiniteFloats,
    choice: BetaChoice,
    low: int,
    high: int,
    form: Format,
    epsilon: float | None,
) -> dict[int, LengthBound]:
    """Bounds of the lengths low … high, in order, to the first that is not good.

    What is bounded at the greatest length, with the worst of all of them in the reals, holds for
    each: β is the same, and gaps never widen.
    """
    reals = [choice.bounds[n] for n in range(low, high + 1)]
    worst = _worst(reals) if low < high else reals[0]
    bound = floats.bound(high, worst, form, epsilon)
    if low == high or bound.holds(epsilon):
        return dict.fromkeys(range(low, high + 1), bound)
    result = {}
    for n in range(low, high + 1):
        result[n] = floats.bound(n, choice.bounds[n], form, epsilon)
        if not result[n].holds(epsilon):
            break
    return result


def _worst(bounds: Sequence[LengthBound]) -> LengthBound:
    """One bound for several lengths."""
    return LengthBound(
        error=max(b.error for b in bounds),
        margin=min(b.margin for b in bounds),
        decisions=all(b.decisions for b in bounds),
        leaks={name: max(b.leaks[name] for b in bounds) for name in bounds[0].leaks},
        head_errors={
            name: max(b.head_errors[name] for b in bounds) for name in bounds[0].head_errors
        },
        method="laws",  # nothing is known of ties but what holds at every length
    )


def _of_length(bounds: Mapping[str, LengthBound], proved: Reached) -> LengthCertificate:
    return LengthCertificate(
        proved.method,
        {name: b.error for name, b in bounds.items()} | {"reals": proved.error},
        {name: b.decisions for name, b in bounds.items()},
    )


def _certificate(
    lengths: Lengths,
    choice: BetaChoice,
    epsilon: float | None,
    max_length: Mapping[str, int],
    by_length: Mapping[int, Mapping[str, LengthBound]],
    proved: Mapping[int, Reached],
    evidence: Any,
) -> SimulationCertificate:
    top = max(choice.bounds)
    # In the reals a uniform model errs nowhere: of its many lengths some are enough to tell.
    told = [n for n in by_length if not lengths.uniform or n <= MANY_LENGTHS or _told(n, top)]
    return SimulationCertificate(
        epsilon=epsilon,
        error=max(reached.error for reached in proved.values()),
        guarantee=_guarantee(proved),
        length=top,
        max_length=max_length,
        heads=_heads(lengths, choice, top),
        lengths={n: _of_length(by_length[n], proved[n]) for n in told},
        evidence=evidence,
    )


def _told(n: int, top: int) -> bool:
    return n % MANY_LENGTHS == 0 or n == top


def _guarantee(proved: Mapping[int, Reached]) -> str:
    methods = {reached.method for reached in proved.values()}
    if methods == {"structure"}:
        return "proved_all"
    return "exhaustive" if methods == {"words"} else "proved_to_length"


def _heads(lengths: Lengths, choice: BetaChoice, reached: int) -> tuple[SimulatedHead, ...]:
    facts = structure(lengths.model)
    least: dict[HeadId, Any] = dict.fromkeys(lengths.model.heads, math.inf)
    ties = dict.fromkeys(lengths.model.heads, False)
    varying = dict.fromkeys(lengths.model.heads, False)
    tied = dict.fromkeys(lengths.model.heads, False)
    closely = [n for n, bound in choice.bounds.items() if bound.method != "laws"]
    for n in sorted({*closely, reached}):  # gaps never widen, and ties only come with length
        for name, gap in lengths.gaps(n).items():
            least[name] = min(least[name], gap)
        for name, tie in lengths.ties(n).items():
            ties[name] |= tie.several
            varying[name] |= tie.varies
            tied[name] |= tie.partial
    result = []
    for (l, h), fact in facts.items():
        unique = lengths.model.layers[l].heads[h].ties != "average"
        if fact.uniform:
            kind = "structurally uniform"
        elif not ties[l, h] or unique:
            kind = "tieless"
        elif fact.exact_scores and not tied[l, h]:
            kind = "uniform by accident"
        elif fact.exact_scores:
            kind = "exact ties"
        else:
            kind = "dangerous ties" if varying[l, h] else "benign ties"
        result.append(
            SimulatedHead(
                layer=l,
                head=h,
                name=lengths.model.layers[l].heads[h].name,
                kind=kind,
                beta=choice.betas[l, h],
                gap=str(least[l, h]),
                leak=max(b.leaks[l, h] for b in choice.bounds.values()),
                error=max(b.head_errors[l, h] for b in choice.bounds.values()),
            )
        )
    return tuple(result)


def _head_json(head: SimulatedHead) -> dict[str, Any]:
    data = {k: getattr(head, k) for k in SimulatedHead.__slots__ if k != "law"}
    if head.law is not None:
        data["law"] = {"text": head.law.text, "beta": head.law.to_json()}
    return data


def _head_from_json(data: Mapping[str, Any]) -> SimulatedHead:
    law = data.get("law")
    rest = {k: v for k, v in data.items() if k != "law"}
    return SimulatedHead(**rest, law=None if law is None else law_from_json(law["beta"]))


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def from_json(data: Mapping[str, Any]) -> SimulationCertificate:
    """A certificate as it was saved."""
    if kind_of(data) != "simulation":
        raise SofthatError(f"expected the certificate of a simulation, not {data.get('kind')!r}")
    return SimulationCertificate(
        epsilon=data["epsilon"],
        error=math.inf if data["error"] is None else data["error"],
        guarantee=data["guarantee"],
        length=data["length"],
        max_length=dict(data["max_length"]),
        heads=tuple(_head_from_json(h) for h in data["heads"]),
        lengths={
            int(n): LengthCertificate(
                c["method"],
                {k: math.inf if e is None else e for k, e in c["error"].items()},
                dict(c["decisions"]),
            )
            for n, c in data["lengths"].items()
        },
        evidence=data.get("evidence"),
    )
