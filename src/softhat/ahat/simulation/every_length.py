"""Simulation at every length: temperature laws, their certificate, what each format can follow."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from softhat.ahat.analysis.averaging import averaging
from softhat.ahat.analysis.gap_laws import HeadId, gap_laws
from softhat.ahat.analysis.guard import hold_against, ties_are_broken
from softhat.ahat.analysis.margins import margin_law
from softhat.ahat.analysis.structure import error_free
from softhat.ahat.analysis.tally import row_tally
from softhat.ahat.bounds.floats import FOREVER
from softhat.ahat.file import dumps
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.certificate import SimulatedHead, SimulationCertificate
from softhat.ahat.simulation.evidence import evidence_of
from softhat.ahat.simulation.law_floats import law_lengths
from softhat.ahat.simulation.snap import snapped_everywhere
from softhat.ahat.simulation.temperature import NoTemperatureError
from softhat.ahat.simulation.temperature_laws import (
    HeadTemperature,
    TemperatureLaws,
    needed,
    temperature_laws,
)
from softhat.ahat.simulation.unique import require_broken, tie_broken
from softhat.numbers.laws import ONE, Law, Tabled, as_law, rounded_up
from softhat.numerics.formats import FORMATS, Format, format_of
from softhat.proof.simulations.check import EvidenceVerdict, check
from softhat.proof.simulations.errors import Sharp, inverse, least_temperature

SHARES = {
    None: Fraction(15, 16),
    "float64": Fraction(15, 16),
    "float32": Fraction(1, 1 << 24),
    "float16": Fraction(1, 1 << 11),
    "bfloat16": Fraction(1, 1 << 8),
}
"""What softmax in the reals may use of ε. A colder β costs a factor of about 3 in the size of the
scores and leaves them room to be off: with what leaks below the format's own rounding, scores in
floats only have to keep their order."""
SHARPENED_TO = 6  # lengths whose exact gaps are found by running all words …
FEW_WORDS = 128  # … of which there may be so many


@dataclass(frozen=True)
class EveryLength:
    """A model prepared for softmax, its laws of temperature (1 for uniform heads) with the evidence
    for what they do, and what was asked of them. `verdict` is what the checker makes of it."""

    model: AHAT
    laws: Mapping[HeadId, Law]
    evidence: Mapping[str, Any]
    epsilon: float | None
    dtype: str | None

    @cached_property
    def verdict(self) -> EvidenceVerdict:
        """What is proved; an error where the evidence does not prove it."""
        epsilon = None if self.epsilon is None else Fraction(self.epsilon)
        return check(json.loads(dumps(self.model)), self.laws, self.evidence, epsilon)


def every_length(
    model: AHAT, epsilon: float | None, snap: bool = False, dtype: str | None = None
) -> EveryLength:
    """Laws with an error of at most ε (None: with the AHAT's decisions) at every length.

    Ties that agree need not be broken, and β is warmer. In floats it may not be better: a mean of
    many keys is rounded, that of one is not. With a `dtype` whichever reaches further is taken.
    """
    warm = _claim(tie_broken(model), epsilon, snap, dtype)
    if dtype is None:
        return warm
    try:
        broken = tie_broken(model, every=True)
        if broken == tie_broken(model):
            return warm
        cold = _claim(broken, epsilon, snap, dtype)
    except NoTemperatureError:  # no position feature is fine enough
        return warm
    form = format_of(dtype)
    return max(warm, cold, key=lambda claim: lengths_in(claim, [form])[form.name])


def _claim(broken: AHAT, epsilon: float | None, snap: bool, dtype: str | None) -> EveryLength:
    return derived(snapped_everywhere(broken) if snap else broken, epsilon, dtype)


def derived(prepared: AHAT, epsilon: float | None, dtype: str | None) -> EveryLength:
    """The laws of a model whose ties are broken (and whose errors are snapped) already; an error
    if they are not."""
    require_broken(prepared)
    allowed = _decisive(prepared) if epsilon is None else as_law(Fraction(epsilon))
    strict = as_law(1) if allowed is None else inverse(allowed * SHARES[dtype])
    # In floats what leaks has to be less than what rounds, whatever it adds to the mean.
    temperatures = _sharpened(temperature_laws(averaging(prepared), strict, own=dtype is None))
    share = Fraction(0) if error_free(prepared) else SHARES[dtype]
    laws = {name: ONE if law is None else law for name, law in temperatures.betas.items()}
    return EveryLength(prepared, laws, evidence_of(temperatures, allowed, share), epsilon, dtype)


def reaches(claim: EveryLength, dtype: str, n: int) -> bool:
    """Is the laws' model proved right to length n in a format? That is asked of lengths to n only,
    and of no other format."""
    return n <= FOREVER and lengths_in(claim, [format_of(dtype)], n)[format_of(dtype).name] >= n


def lengths_in(
    claim: EveryLength, forms: Iterable[Format], enough: int = FOREVER
) -> dict[str, int]:
    """For each format the length to which the laws' model is proved right in it, or one that is
    `enough`."""
    verdict = claim.verdict

    def allowed(n: int) -> float:
        if verdict.allowed is None:
            return -1.0
        return float(verdict.allowed.at(n)) * (1 - 1e-9)  # the threshold is no decision

    share = float(verdict.share)
    return law_lengths(
        averaging(claim.model), verdict, claim.laws, allowed, share, forms, claim.dtype, enough
    )


def certify_laws(claim: EveryLength) -> SimulationCertificate:
    """What is proved: the error in the reals at every n, and in floats to which length."""
    verdict = claim.verdict
    # What is allowed never rises with n.
    error = 0.0 if verdict.allowed is None else float(verdict.allowed.at(1) * verdict.share)
    return SimulationCertificate(
        epsilon=claim.epsilon,
        error=error,
        guarantee="proved_all" if verdict.longest is None else "proved_to_length",
        length=verdict.longest,
        max_length=lengths_in(claim, FORMATS.values()),
        heads=tuple(_head(claim, name, error) for name in claim.model.heads),
        lengths={},
        evidence=claim.evidence,
    )


def _head(claim: EveryLength, name: HeadId, error: float) -> SimulatedHead:
    l, h = name
    title = claim.model.layers[l].heads[h].name
    fact, law = claim.verdict.heads[name], claim.laws[name]
    if fact is None:
        return SimulatedHead(l, h, title, "structurally uniform", 1.0, "inf", 0.0, 0.0)
    harm = "benign ties" if fact.agreed else "dangerous ties"
    tied = harm if fact.erroneous else "exact ties"
    return SimulatedHead(
        layer=l,
        head=h,
        name=title,
        kind="tieless" if fact.single else tied,
        beta=float(law.at(1)),
        gap=fact.claim.gap.text,
        leak=1 / float(fact.claim.leak.law.at(1)) if fact.slopes is None else 1.0,
        error=error,
        law=law,
    )


def _decisive(model: AHAT) -> Law | None:
    """The margin of decisions, at every length."""
    margin = margin_law(gap_laws(model).portrait)
    if margin is None and not error_free(model):  # softmax in the reals errs
        raise NoTemperatureError(
            "the exact value may be 0, on the threshold itself, or it is not proved that it never "
            "is: any error may change the decision there; give an epsilon, a max_length, or add a "
            "bias that keeps values off 0"
        )
    return margin


def _sharpened(temperatures: TemperatureLaws) -> TemperatureLaws:
    """Warmer β for the shortest words, where their exact gaps are larger than the law says."""
    model = temperatures.model
    top = 0
    while top < SHARPENED_TO and len(model.alphabet) ** (top + 1) <= FEW_WORDS:
        top += 1
    top = min(top, model.longest or top)
    loose = [name for name, h in temperatures.heads.items() if h is not None]
    if not loose:
        return temperatures
    gaps = {}
    for n in range(1, top + 1):
        tally = row_tally(model, n, 1e-3)
        hold_against(gap_laws(model), tally)
        ties_are_broken(tally)
        gaps[n] = tally.gaps[n]
    heads = dict(temperatures.heads)
    for name in loose:
        head = heads[name]
        assert head is not None
        law, short = head.claim.gap, [gaps[n][name] for n in range(1, top + 1)]
        wider = [
            Fraction(law.at(n)) if g == math.inf else max(Fraction(g), Fraction(law.at(n)))
            for n, g in enumerate(short, 1)
        ]
        entries = [_warmer(head, gap, n, model.sinks) for n, gap in enumerate(wider, 1)]
        while entries and entries[-1] == head.beta.at(len(entries)):
            entries.pop()
        if entries:
            table = Tabled(tuple(entries), head.beta)
            heads[name] = replace(head, beta=table, short_gaps=tuple(wider[: len(entries)]))
    return replace(temperatures, heads=heads)


def _warmer(head: HeadTemperature, gap: Fraction, n: int, sinks: int) -> Fraction:
    by_law, claim = Fraction(head.beta.at(n)), head.claim
    if gap <= claim.gap.at(n):
        return by_law
    inside = needed(claim.leak, None, sinks, head.erroneous, head.dangerous)
    here = Sharp(as_law(gap), None if claim.inside is None else inside, claim.leak, None)
    return min(by_law, Fraction(rounded_up(least_temperature(here, sinks)).at(n)))
