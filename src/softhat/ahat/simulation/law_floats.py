"""How far each number format can follow temperature laws: the greatest length proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from softhat.ahat.analysis.gap_laws import HeadId, gap_laws
from softhat.ahat.bounds.floats import Temperatures, float_error, longest
from softhat.ahat.bounds.weights import weights
from softhat.ahat.simulation.temperature_laws import TemperatureLaws
from softhat.formats import Format
from softhat.laws import Tabled, log_of


def law_error(laws: TemperatureLaws, low: int, high: int, form: Format) -> float:
    """A bound on |float value - softmax value| for all words of lengths low … high."""
    return float_error(weights(laws.model), high, _temperatures(laws, low, high, form), form)


def law_lengths(
    laws: TemperatureLaws, budget: Callable[[int, int], float], forms: Iterable[Format]
) -> dict[str, int]:
    """For each format the greatest n such that floats stay within the budget to length n.

    `budget(low, high)` is what is left of ε, or of the decisions' margin, over these lengths.
    """
    top = laws.model.longest
    used = weights(laws.model)
    result = {}
    for form in forms:

        def fits(low: int, high: int, form: Format = form) -> bool:
            if top is not None and high > top:
                return False
            found = float_error(used, high, _temperatures(laws, low, high, form), form)
            return found <= budget(low, high)

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
        tabled = isinstance(head.beta, Tabled) and low <= len(head.beta.entries)
        if head.crowd is not None and not tabled:  # the m-th nearest key lies at m times the gap
            steps = (form.lost + 2) / float(head.logarithm.at(low))
            near[name] = head.crowd * math.ceil(steps) + 1
    return Temperatures(beta, leak, copies, near)
