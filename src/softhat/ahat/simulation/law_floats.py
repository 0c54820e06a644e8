"""How far each number format can follow temperature laws: the greatest length proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

from softhat.ahat.analysis.gap_laws import HeadId, gap_laws
from softhat.ahat.bounds.floats import Steep, Temperatures, float_error, longest
from softhat.ahat.bounds.weights import weights
from softhat.ahat.simulation.temperature_laws import TemperatureLaws
from softhat.formats import Format
from softhat.laws import log_of


def law_lengths(
    laws: TemperatureLaws,
    allowed: Callable[[int], float],
    share: float,
    forms: Iterable[Format],
) -> dict[str, int]:
    """For each format the greatest n such that floats are within what is allowed to length n.

    `allowed(n)` is ε, or the decisions' margin; softmax in the reals uses at most that share of it.
    Either rounding fits the rest, or floats are within all of it of hard attention itself.
    """
    top = laws.model.longest
    used = weights(laws.model)
    result = {}
    for form in forms:

        def fits(low: int, high: int, form: Format = form) -> bool:
            if top is not None and high > top:
                return False
            least = allowed(high)  # what is allowed never rises with n
            heads = _temperatures(laws, low, high, form)
            if float_error(used, high, heads, form) <= (1 - share) * least:
                return True
            heads = replace(heads, steep=_steep(laws, low, high))
            return float_error(used, high, heads, form) <= least

        result[form.name] = longest(fits)
    return result


def _temperatures(laws: TemperatureLaws, low: int, high: int, form: Format) -> Temperatures:
    """The greatest β and the greatest leaks over the stretch."""
    copies = gap_laws(laws.model).portrait.copies
    beta: dict[HeadId, float] = {}
    leak: dict[HeadId, float] = {}
    near: dict[HeadId, int] = {}
    for name, head in laws.heads.items():
        if head is None:
            beta[name], leak[name] = 1.0, 0.0
            continue
        # Laws rise with n; entries of a table need not.
        short = [float(head.beta.at(n)) for n in range(low, min(high, head.tabled) + 1)]
        logarithm = head.beta.log_at(high)
        beta[name] = max(float(head.beta.at(high)) if logarithm < 700 else math.inf, *short, 0.0)
        leak[name] = math.exp(-log_of(head.leak.law.at(low)))
        if head.crowd is not None and not short:  # the m-th nearest key lies at m times the gap
            steps = (form.lost + 2) / float(head.logarithm.at(low))
            near[name] = head.crowd * math.ceil(steps) + 1
    return Temperatures(beta, leak, copies, near)


def _steep(laws: TemperatureLaws, low: int, high: int) -> dict[HeadId, Steep]:
    """βγ over the stretch: at least the law's logarithm, which rises with n."""
    result = {}
    for name, head in laws.heads.items():
        if head is None:
            continue
        short = range(low, min(high, head.tabled) + 1)
        drops = [float(Fraction(head.beta.at(n)) * head.short_gaps[n - 1]) for n in short]
        if high > head.tabled:
            drops.append(float(head.logarithm.at(max(low, head.tabled + 1))))
        result[name] = Steep(min(drops) * (1 - 1e-12), None if len(short) else head.crowd)
    return result
