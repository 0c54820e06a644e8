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
from softhat.numbers.laws import Law, Log, log_of
from softhat.numbers.positions import needs_end
from softhat.numerics.formats import Format
from softhat.proof.simulations.check import EvidenceVerdict, HeadFact
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
        (name, fact.claim.gap, fact.single)
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
    facts: Mapping[HeadId, _LawHead],
    known: Known,
    n: int,
    form: Format,
    enough: float,
) -> float:
    """The error at a short length, from all its words; inf if they are many."""
    if not can_be_short(model, n):
        return math.inf
    if max((head.beta.log_at(n) for head in facts.values()), default=0.0) > 700:
        return math.inf
    betas = {name: float(head.beta.at(n)) for name, head in facts.items()}
    return short_error(model, n, betas, form, enough, known)


@dataclass(frozen=True, slots=True)
class _LawHead:
    """What is known of a head at every length."""

    beta: Law
    proved: HeadFact | None  # None: it is uniform
    crowd: int | None  # at most so many keys at each multiple of the gap
    prefix: bool  # row i is the last row of the word's prefix of length i

    @property
    def tabled(self) -> int:
        """β is a table to this length."""
        return 0 if self.proved is None else len(self.proved.short_gaps)


def _facts(
    model: AHAT, verdict: EvidenceVerdict, betas: Mapping[HeadId, Law]
) -> Mapping[HeadId, _LawHead]:
    result = {}
    for name, fact in verdict.heads.items():
        crowd = None if fact is None else fact.claim.crowd
        if crowd is None and fact is not None and fact.bends is not None:
            crowd = 2
        result[name] = _LawHead(betas[name], fact, crowd, _of_prefixes(model, name[0]))
    return result


def _of_prefixes(model: AHAT, layer: int) -> bool:
    """Are the rows of heads in this layer those of the word's prefixes?"""
    backward = all(h.mask in ("<=", "<") for l in model.layers[: layer + 1] for h in l.heads)
    return backward and not model.eos and not any(needs_end(f) for f in model.positions)


def _temperatures(
    facts: Mapping[HeadId, _LawHead], low: int, high: int, form: Format
) -> Temperatures:
    """The greatest β and the greatest leaks over the stretch."""
    beta: dict[HeadId, float] = {}
    leak: dict[HeadId, float] = {}
    near: dict[HeadId, int] = {}
    for name, head in facts.items():
        if head.proved is None:
            beta[name], leak[name] = 1.0, 0.0
            continue
        claim = head.proved.claim
        # Laws rise with n; entries of a table need not.
        short = [float(head.beta.at(n)) for n in range(low, min(high, head.tabled) + 1)]
        logarithm = head.beta.log_at(high)
        beta[name] = max(float(head.beta.at(high)) if logarithm < 700 else math.inf, *short, 0.0)
        leak[name] = 1.0
        if claim.inside is None:
            continue  # its attention may lie anywhere
        leak[name] = math.exp(-log_of(claim.leak.law.at(low)))
        if head.crowd is not None and not short:  # the m-th nearest key lies at m times the gap
            steps = (form.lost + 2) / float(Log(claim.inside).at(low))
            near[name] = head.crowd * math.ceil(steps) + 1
    single = {name: h.proved is not None and h.proved.single for name, h in facts.items()}
    benign = [name for name, h in facts.items() if h.proved is not None and h.proved.agreed]
    return Temperatures(beta, leak, single, near, benign=benign)


def _steep(facts: Mapping[HeadId, _LawHead], low: int, high: int) -> dict[HeadId, Steep]:
    """βγ over the stretch: at least the law's logarithm, which rises with n; or, of a head that
    returns its own score, β at its start times γ at its end, since β rises and γ falls."""
    result = {}
    for name, head in facts.items():
        if head.proved is None:
            continue
        fact, claim = head.proved, head.proved.claim
        short = range(low, min(high, head.tabled) + 1)
        betas = [Fraction(head.beta.at(n)) for n in short]
        drops = [float(b * fact.short_gaps[n - 1]) for n, b in zip(short, betas, strict=True)]
        least = [float(b) for b in betas]
        if high > head.tabled:
            start = max(low, head.tabled + 1)
            if claim.inside is None:
                steepest = head.beta.log_at(start) + claim.gap.log_at(high)
                drops.append(math.exp(min(steepest, 700.0)) * (1 - 1e-10))
            else:
                drops.append(float(Log(claim.inside).at(start)))
            least.append(math.exp(min(head.beta.log_at(start), 700.0)))
        steep = Steep(min(drops) * (1 - 1e-12), None, min(least) * (1 - 1e-9))
        if fact.slopes is not None:
            below = (1 + 1e-9) / float(claim.leak.law.at(low))
            steep = replace(steep, own=tuple(float(abs(x)) * below for x in fact.slopes))
        if not short:  # in units of the law's gaps
            slopes = None
            if fact.bends is not None:
                slopes = tuple(float(abs(a) + 2 * high * abs(c)) for a, c in fact.bends)
            gap = claim.gap if head.prefix else None
            steep = replace(steep, crowd=head.crowd, gap=gap, slopes=slopes)
        result[name] = steep
    return result
