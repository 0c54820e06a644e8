"""How far each number format can follow temperature laws: the greatest length proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from softhat.ahat.bounds.float_rows import Steep
from softhat.ahat.bounds.floats import FOREVER, Temperatures, float_error, longest
from softhat.ahat.bounds.weights import weights
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.short_floats import Known, can_be_short, short_error
from softhat.ahat.simulation.temperature_laws import HeadTemperature, proved_temperature
from softhat.numbers.laws import Law, log_of
from softhat.numbers.positions import needs_end
from softhat.numerics.formats import Format
from softhat.proof.simulations.check import EvidenceVerdict
from softhat.proof.simulations.source import HeadId


def law_lengths(
    model: AHAT,
    verdict: EvidenceVerdict,
    betas: Mapping[HeadId, Law],
    allowed: Callable[[int], float],
    share: float,
    forms: Iterable[Format],
    asked: str | None,
    enough: int = FOREVER,
) -> dict[str, int]:
    """For each format the greatest n such that floats are within what is allowed to length n, or
    one that is `enough`.

    What is known of the heads in the reals is what the checker has found (`verdict`).

    `allowed(n)` is ε, or the decisions' margin; softmax in the reals uses at most that share of it.
    Either floats are within all of it of hard attention itself, or rounding fits the rest. Short
    lengths are looked at closely if need be, in narrow formats only if they are `asked` for: those
    end early otherwise, whatever is looked at.
    """
    top = model.longest
    used = weights(model)
    facts = _facts(model, verdict, betas)
    known = tuple(
        (name, fact.gap, fact.single)
        for name, fact in sorted(verdict.heads.items())
        if fact is not None
    )
    result = {}
    for form in forms:

        def fits(low: int, high: int, form: Format = form) -> bool:
            if top is not None and high > top:
                return False
            least = allowed(high)  # what is allowed never rises with n
            heads = _temperatures(facts, low, high, form)
            direct = replace(heads, steep=_steep(facts, low, high))
            if float_error(used, low, high, direct, form) <= least:
                return True
            if float_error(used, low, high, heads, form) <= (1 - share) * least:
                return True
            if form.digits != form.sum_digits and form.name != asked:
                return False
            short = range(low, high + 1)
            return all(
                _closely(model, facts, known, n, form, allowed(n)) <= allowed(n) for n in short
            )

        result[form.name] = longest(fits, enough)
    return result


def _closely(
    model: AHAT,
    facts: Mapping[HeadId, _Fact],
    known: Known,
    n: int,
    form: Format,
    enough: float,
) -> float:
    """The error at a short length, from all its words; inf if they are many."""
    if not can_be_short(model, n):
        return math.inf
    heads = {name: fact.head for name, fact in facts.items()}
    logarithms = [h.beta.log_at(n) for h in heads.values() if h is not None]
    if max(logarithms, default=0.0) > 700:
        return math.inf
    betas = {name: 1.0 if h is None else float(h.beta.at(n)) for name, h in heads.items()}
    return short_error(model, n, betas, form, enough, known)


@dataclass(frozen=True, slots=True)
class _Fact:
    """What is known of a head at every length."""

    head: HeadTemperature | None
    single: bool  # one key is maximal in every row
    agreed: bool  # or those that are have one value
    crowd: int | None  # at most so many keys at each multiple of the gap
    bends: tuple[tuple[Fraction, Fraction], ...] | None  # of concave scores, the rows that count
    prefix: bool  # row i is the last row of the word's prefix of length i


def _facts(
    model: AHAT, verdict: EvidenceVerdict, betas: Mapping[HeadId, Law]
) -> Mapping[HeadId, _Fact]:
    result = {}
    for name, fact in verdict.heads.items():
        if fact is None:
            result[name] = _Fact(None, False, False, None, None, False)
            continue
        head = proved_temperature(fact, betas[name])
        crowd = 2 if fact.crowd is None and fact.bends is not None else fact.crowd
        prefix = _of_prefixes(model, name[0])
        result[name] = _Fact(head, fact.single, fact.agreed, crowd, fact.bends, prefix)
    return result


def _of_prefixes(model: AHAT, layer: int) -> bool:
    """Are the rows of heads in this layer those of the word's prefixes?"""
    backward = all(h.mask in ("<=", "<") for l in model.layers[: layer + 1] for h in l.heads)
    return backward and not model.eos and not any(needs_end(f) for f in model.positions)


def _temperatures(facts: Mapping[HeadId, _Fact], low: int, high: int, form: Format) -> Temperatures:
    """The greatest β and the greatest leaks over the stretch."""
    beta: dict[HeadId, float] = {}
    leak: dict[HeadId, float] = {}
    near: dict[HeadId, int] = {}
    for name, fact in facts.items():
        head = fact.head
        if head is None:
            beta[name], leak[name] = 1.0, 0.0
            continue
        # Laws rise with n; entries of a table need not.
        short = [float(head.beta.at(n)) for n in range(low, min(high, head.tabled) + 1)]
        logarithm = head.beta.log_at(high)
        beta[name] = max(float(head.beta.at(high)) if logarithm < 700 else math.inf, *short, 0.0)
        leak[name] = math.exp(-log_of(head.leak.law.at(low)))
        if fact.crowd is not None and not short:  # the m-th nearest key lies at m times the gap
            steps = (form.lost + 2) / float(head.logarithm.at(low))
            near[name] = fact.crowd * math.ceil(steps) + 1
    single = {name: fact.single for name, fact in facts.items()}
    benign = [name for name, fact in facts.items() if fact.agreed]
    return Temperatures(beta, leak, single, near, benign=benign)


def _steep(facts: Mapping[HeadId, _Fact], low: int, high: int) -> dict[HeadId, Steep]:
    """βγ over the stretch: at least the law's logarithm, which rises with n."""
    result = {}
    for name, fact in facts.items():
        head = fact.head
        if head is None:
            continue
        short = range(low, min(high, head.tabled) + 1)
        betas = [Fraction(head.beta.at(n)) for n in short]
        drops = [float(b * head.short_gaps[n - 1]) for n, b in zip(short, betas, strict=True)]
        least = [float(b) for b in betas]
        if high > head.tabled:
            start = max(low, head.tabled + 1)
            drops.append(float(head.logarithm.at(start)))
            least.append(math.exp(min(head.beta.log_at(start), 700.0)))
        steep = Steep(min(drops) * (1 - 1e-12), None, min(least) * (1 - 1e-9))
        if not short:  # in units of the law's gaps
            slopes = None
            if fact.bends is not None:
                slopes = tuple(float(abs(a) + 2 * high * abs(c)) for a, c in fact.bends)
            gap = head.gap if fact.prefix else None
            steep = replace(steep, crowd=fact.crowd, gap=gap, slopes=slopes)
        result[name] = steep
    return result
