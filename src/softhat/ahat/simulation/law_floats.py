"""How far each number format can follow temperature laws: the greatest length proved."""

from __future__ import annotations

import math
from collections.abc import Callable

from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.bounds.floats import Temperatures, float_error, longest
from softhat.ahat.simulation.temperature_laws import HeadId, TemperatureLaws
from softhat.formats import FORMATS, Format
from softhat.laws import log_of


def law_error(laws: TemperatureLaws, low: int, high: int, form: Format) -> float:
    """A bound on |float value - softmax value| for all words of lengths low … high."""
    return float_error(laws.model, high, _temperatures(laws, low, high, form), form)


def law_lengths(
    laws: TemperatureLaws, budget: Callable[[int, int], float]
) -> dict[str, int]:
    """For each format the greatest n such that floats stay within the budget to length n.

    `budget(low, high)` is what is left of ε, or of the decisions' margin, over these lengths.
    """
    top = laws.model.longest
    result = {}
    for form in FORMATS.values():

        def fits(low: int, high: int, form: Format = form) -> bool:
            if top is not None and high > top:
                return False
            return law_error(laws, low, high, form) <= budget(low, high)

        result[form.name] = longest(fits)
    return result


def _temperatures(laws: TemperatureLaws, low: int, high: int, form: Format) -> Temperatures:
    """β rises with n and leaks fall: their worst over the stretch."""
    copies = gap_laws(laws.model).portrait.copies
    beta: dict[HeadId, float] = {}
    leak: dict[HeadId, float] = {}
    near: dict[HeadId, int] = {}
    for name, head in laws.heads.items():
        if head is None:
            beta[name], leak[name] = 1.0, 0.0
            continue
        logarithm = head.beta.log_at(high)
        beta[name] = float(head.beta.at(high)) if logarithm < 700 else math.inf
        leak[name] = math.exp(-log_of(head.leak.law.at(low)))
        if head.crowd is not None:  # the m-th nearest key lies at m times the gap
            steps = (form.lost + 2) / float(head.logarithm.at(low))
            near[name] = head.crowd * math.ceil(steps) + 1
    return Temperatures(beta, leak, copies, near, exact=low == high)
