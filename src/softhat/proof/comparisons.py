"""How far the output of a comparison can be from its bit at length n, in a number format."""

from __future__ import annotations

from math import exp, expm1, inf

from softhat.proof.arithmetic import Format
from softhat.proof.kinds import Scores, Side, Sign, one_sided, slope_of
from softhat.proof.scores import (
    BETA,
    CARE,
    Failure,
    Row,
    power_of_two,
    row_of,
    scale,
    stored,
    temperature_fits,
)
from softhat.proof.softmax import EXACT, Bound, checked, softmax

_NEAR = "counts next to the threshold are not told from it"


def sign_bound(kind: Sign, n: int, form: Format) -> Bound | Failure:
    """At j = i the logit is at least `up` above 0 or `down` below; it falls with the distance."""
    scores = kind.scores
    if not temperature_fits(scores, n, form):
        return Failure(BETA)
    if any(mean.query > form.largest for mean in kind.means):
        return Failure("an average times its weight overflows")
    rows: list[Row] = []
    means = 0
    absolute = 0.0
    for query, key in scores.rows:
        if any(entry.base == "mean" for entry in query):
            found = _mean_error(query, key, n, scores, form)
            if isinstance(found, Failure):
                return found
            absolute += found
            means += 1
            continue
        row = row_of(query, key, n, scale(scores.attention, n), form)
        if isinstance(row, Failure):
            return row
        rows.append(row)
    rest = [kind.at_i * i + kind.at_r * r + kind.constant for i, r in ((1, 1), (1, n), (n, 1))]
    most = sum(n * max(0.0, mean.high) for mean in kind.means) + max(rest)
    least = sum(n * min(0.0, mean.low) for mean in kind.means) + min(rest)
    # The other sink's query, where only averages and D·j are not 0, sees every key. Were its
    # score infinite, its row would not be a number, and no gate makes that 0.
    at_sink = sum((n + 1) * max(0.0, mean.high) for mean in kind.means) + kind.steep * n
    parts = sum(max(-row.low, row.high) + row.error for row in rows)
    parts += (n + 2) * sum(max(-mean.low, mean.high) for mean in kind.means) / scores.sharpness
    if parts > form.sum_largest:
        return Failure("the parts of scores overflow")
    summed = sum(row.error for row in rows) + (means + len(rows)) * form.grid_of_score(
        parts, means + len(rows)
    )
    rising = sum(
        n * max(0.0, mean.high) * (form.roundoff(mean.query) + 2 * form.u_sum)
        for mean in kind.means
    )
    # What rounds to the largest number is stored as such.
    room = form.largest * (1 + 2.0 ** -(form.digits + 1)) - scores.sharpness * summed - absolute
    if max(most + rising * CARE, at_sink if kind.seen_by_sink else 0.0) >= room:
        return Failure("scores overflow")
    yes = kind.up if least <= 0 else max(kind.up, least)
    no = kind.down if most >= 0 else max(kind.down, -most)
    if one_sided(kind):
        no = min(no, -kind.constant)
    slope = slope_of(kind) * (1 - 3 * form.u_sum - form.u)

    def left(logit: float) -> tuple[float, float]:
        """What errors leave of a logit of at least this size: at j = i, and at other j."""
        found = []
        for size, coarser in (
            (logit, 1),
            (logit + kind.unit, 2),
        ):  # the next binade at the earliest
            here, there = _score_errors(
                kind, n, form, rows, means, (min(rest), max(rest)), size, coarser
            )
            kept = size * (1 - 3 * form.u_sum - form.u) - absolute
            found.append((kept - here * CARE, kept - there * CARE))
        return min(here for here, _ in found), min(there for _, there in found)

    far = inf
    low = high = 0.0
    if most >= 0:
        here, there = left(yes)
        if here <= 0:
            return Failure(_NEAR)
        low, far = exp(-here), min(far, there - yes)
    if least <= 0:
        here, there = left(no)
        if here <= 0 or there + slope <= 0:
            return Failure(_NEAR)
        high = exp(-here) + exp(-there - slope) / -expm1(-slope)
        far = min(far, there - no)
    if scores.attention == "hard":
        return EXACT
    terms = min(n + 2.0, 4 + (form.visible - 4 * far) / slope)
    tail = 2 * form.normal / -expm1(-slope)
    return checked(softmax(low, high, terms, tail, form))


def _mean_error(query: Side, key: Side, n: int, scores: Scores, form: Format) -> float | Failure:
    """The absolute error that a mean's row adds to a logit: of means below the normal numbers."""
    scaled = scale(scores.attention, n)
    found = stored(key, n, scaled, form)
    if isinstance(found, Failure):
        return found
    keys, off = found
    (entry,) = query
    if off:
        return Failure("positions are not representable")
    if not power_of_two(abs(entry.weight)) or abs(entry.weight) > form.largest:
        return Failure("an average is multiplied by a weight that is not a power of two")
    return (abs(entry.weight) + 1) * form.smallest * keys.size * scaled * scores.sharpness


def _score_errors(
    kind: Sign,
    n: int,
    form: Format,
    rows: list[Row],
    means: int,
    rest: tuple[float, float],
    logit: float,
    coarser: int,
) -> tuple[float, float]:
    """The error of a comparison's score where the logit is `logit`: at j = i, and at other j.

    Past and future averages share the n positions. At j = i the averages' terms and the rest add
    up to ± the logit, which bounds the positive and the negative terms. There the last addition
    has a small result and is nearly exact: of m terms, m - 2 additions can be off, and no more
    than there are inexact terms (`coarse`) at each spacing. `coarser` multiplies the spacing.
    """
    sizes = dict.fromkeys(("past", "future", "total"), 0.0)
    for mean in kind.means:
        sizes[mean.over] += max(-mean.low, mean.high, 0.0)
    near = (n + 1) * (max(sizes["past"], sizes["future"]) + sizes["total"])
    far = (n + 1) * sum(sizes.values())
    if len(kind.means) == 1 and kind.means[0].over in ("total", kind.direction):
        near = far = min(near, logit + max(-rest[0], rest[1]))
    sharpness = kind.scores.sharpness
    above, below = sum(row.high for row in rows), -sum(row.low for row in rows)
    operands = sum(row.error for row in rows)
    relative = (form.u_sum + form.u) * (1 + form.u_sum + form.u)
    added = max(0.0, min(near, (near - rest[0] + logit) / 2)) / sharpness
    taken = max(0.0, min(near, (near + rest[1] + logit) / 2)) / sharpness
    terms = means + len(rows)
    spacing = coarser * form.grid_of_score(max(above + added, below + taken), terms)
    coarse = means + sum(row.grid < spacing for row in rows)
    additions = sum(spacing / 2 / 2 ** (at // coarse) for at in range(max(0, terms - 2)) if coarse)
    own = [min(near, (n + 1) * max(-mean.low, mean.high, 0.0)) for mean in kind.means]
    products = sum(form.grid_of_score(size / sharpness, terms) for size in [*own, 2 * logit]) / 2
    here = sharpness * (operands + additions + products) + near * relative
    spacing = coarser * form.grid_of_score(max(above, below) + far / sharpness, terms)
    coarse = means + sum(row.grid < spacing for row in rows)
    there = sharpness * (operands + coarse * spacing) + far * relative
    return here, there
