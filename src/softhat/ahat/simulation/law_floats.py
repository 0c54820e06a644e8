"""How far each number format can follow temperature laws: the greatest length proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

from softhat.ahat.analysis.concave import concave
from softhat.ahat.analysis.gap_laws import HeadId, gap_laws
from softhat.ahat.bounds.float_rows import Steep
from softhat.ahat.bounds.floats import Temperatures, float_error, longest
from softhat.ahat.bounds.weights import weights
from softhat.ahat.model import AHAT, Matrix
from softhat.ahat.simulation.temperature_laws import TemperatureLaws
from softhat.formats import Format
from softhat.laws import log_of
from softhat.positions import needs_end


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
            if float_error(used, low, high, heads, form) <= (1 - share) * least:
                return True
            heads = replace(heads, steep=_steep(laws, low, high))
            return float_error(used, low, high, heads, form) <= least

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
        crowd = _crowd(laws, name)
        if crowd is not None and not short:  # the m-th nearest key lies at m times the gap
            steps = (form.lost + 2) / float(head.logarithm.at(low))
            near[name] = crowd * math.ceil(steps) + 1
    return Temperatures(beta, leak, copies, near)


def _steep(laws: TemperatureLaws, low: int, high: int) -> dict[HeadId, Steep]:
    """βγ over the stretch: at least the law's logarithm, which rises with n."""
    result = {}
    views = gap_laws(laws.model).portrait.views
    for name, head in laws.heads.items():
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
        bends = None if short else concave(views[name])
        used = [any(q) and any(k) for q, k in zip(*_scored(laws.model, name), strict=True)]
        result[name] = Steep(
            drop=min(drops) * (1 - 1e-12),
            crowd=None if short else _crowd(laws, name),
            least=min(least) * (1 - 1e-9),
            gap=None if short or not prefixes(laws.model, name[0]) else head.gap,
            slopes=None
            if bends is None
            else tuple(
                float(abs(a) + 2 * high * abs(c))
                for (a, c), is_used in zip(bends, used, strict=True)
                if is_used
            ),
        )
    return result


def _scored(model: AHAT, name: HeadId) -> tuple[Matrix, Matrix]:
    head = model.layers[name[0]].heads[name[1]]
    return head.query, head.key


def _crowd(laws: TemperatureLaws, name: HeadId) -> int | None:
    """At most so many keys at each multiple of the gap."""
    head = laws.heads[name]
    assert head is not None
    bends = concave(gap_laws(laws.model).portrait.views[name])
    return 2 if head.crowd is None and bends is not None else head.crowd


def prefixes(model: AHAT, layer: int) -> bool:
    """Are the rows of heads in this layer those of the word's prefixes?"""
    backward = all(h.mask in ("<=", "<") for l in model.layers[: layer + 1] for h in l.heads)
    return backward and not model.eos and not any(needs_end(f) for f in model.positions)
