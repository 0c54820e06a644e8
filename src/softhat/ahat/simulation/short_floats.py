"""Short lengths in floats, looked at closely: every word run with all that its rounding may do.

Where a model's keys do not see positions, every bag of symbols stands for all its words. A row's
bound rests on its own scores and on keys that nothing tied has touched, so only rows in which keys
of different values tie have to be run: for the others Theorem 31 holds with ties that do no harm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from softhat.ahat.bounds.bags import bags_of
from softhat.ahat.bounds.float_bags import bags_error, rows_of_bags
from softhat.ahat.bounds.float_rows import Steep
from softhat.ahat.bounds.float_words import at_a_time, float_values
from softhat.ahat.bounds.floats import Temperatures, float_error
from softhat.ahat.bounds.weights import weights
from softhat.ahat.exact import ExactTrace, run
from softhat.ahat.model import AHAT
from softhat.ahat.words import all_words
from softhat.numbers.laws import Law
from softhat.numerics.formats import Format
from softhat.proof.simulations.source import HeadId

Betas = tuple[tuple[HeadId, float], ...]
Known = tuple[tuple[HeadId, Law, bool], ...]
"""Of the heads that are not uniform: the gap law, and whether every row has one maximum."""
FEW_WORDS = 600  # always run
FEW_ROWS, MANY_ROWS = 30_000, 5_000_000  # of bags: all are run, or those with ties
LONGEST = 72


@dataclass(frozen=True, slots=True)
class Short:
    """All words of one length, in one number format."""

    error: float  # |float value - hard value| is at most this
    margin: float  # least distance of a float value from the threshold, on its right side
    right: bool  # every decision value > 0 is the AHAT's


def by_words(
    model: AHAT, traces: Iterable[ExactTrace], betas: Mapping[HeadId, float], form: Format
) -> Short | None:
    """What the words of these exact runs give in floats; None if something may overflow."""
    used = weights(model)
    error, margin, right = 0.0, math.inf, True
    for trace in traces:
        values = float_values(used, trace.codes, betas, form)
        if values is None:
            return None
        exact = trace.output.floats()[:, trace.own]
        away = np.abs(values.centre - exact) + values.radius
        error = max(error, float(away.max()) * (1 + 1e-9) + 1e-15 * float(np.abs(exact).max()))
        positive = (trace.output.num[:, trace.own] > 0).astype(bool)
        least = np.where(positive, values.centre, -values.centre) - values.radius
        margin = min(margin, float(least.min()))
        right = right and not bool(np.where(positive, least <= 0, least < 0).any())
    return Short(error, margin, right) if math.isfinite(error) else None


def can_be_short(model: AHAT, n: int) -> bool:
    """Are there few enough words of length n, or bags?"""
    if n > LONGEST or len(model.alphabet) ** n <= FEW_WORDS:
        return n <= LONGEST
    bags = bags_of(model)
    return bags is not None and rows_of_bags(bags, n) <= MANY_ROWS


def short_error(
    model: AHAT, n: int, betas: Mapping[HeadId, float], form: Format, enough: float, known: Known
) -> float:
    """A bound on |float value - hard value| over all words of length n, by bags if they are too
    many; inf if there is none. It need not be less than `enough`."""
    return _short_error(model, n, tuple(sorted(betas.items())), form, enough, known)


@lru_cache(maxsize=4096)
def _short_error(
    model: AHAT, n: int, betas: Betas, form: Format, enough: float, known: Known
) -> float:
    if len(model.alphabet) ** n > FEW_WORDS:
        return bag_error(model, n, dict(betas), form, enough, known)
    batches = all_words(len(model.alphabet), n, at_a_time(weights(model), n))
    short = by_words(model, (run(model, codes) for codes in batches), dict(betas), form)
    return math.inf if short is None else short.error


def bag_error(
    model: AHAT, n: int, betas: Mapping[HeadId, float], form: Format, enough: float, known: Known
) -> float:
    """The same over all bags; inf if there are many, or the model is not one of bags."""
    bags = bags_of(model)
    if bags is None or n > LONGEST or rows_of_bags(bags, n) > MANY_ROWS:
        return math.inf
    gaps = {name: float(law.at(n)) for name, law, _ in known}
    heads = Temperatures(
        beta=betas,
        leak={name: 1.0 if name in gaps else 0.0 for name in betas},
        single={**dict.fromkeys(betas, False), **{name: one for name, _, one in known}},
        near={},
        steep={
            name: Steep(betas[name] * gap * (1 - 1e-12), None, betas[name])
            for name, gap in gaps.items()
        },
        benign=list(gaps),
    )
    harmless = float_error(bags.used, n, n, heads, form)
    if harmless <= enough:
        return max(harmless, bags_error(bags, n, betas, gaps, form, tied=True))
    if rows_of_bags(bags, n) > FEW_ROWS:
        return math.inf
    return bags_error(bags, n, betas, gaps, form, tied=False)
