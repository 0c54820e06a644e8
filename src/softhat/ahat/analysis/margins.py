"""How far from 0 the model's value is, at every length: an error below that changes no decision.

The value of a position is one number for each class of content plus a number on a grid. It is
bounded away from 0 where its interval is, or where no multiple of the grid's unit is the opposite
of the content; a nonzero number on the grid is at least the grid's least.
"""

from __future__ import annotations

from fractions import Fraction

from softhat.ahat.analysis.portrait import Portrait
from softhat.numbers.grids import common
from softhat.numbers.growth import point
from softhat.numbers.laws import Law, as_law, minimum


def margin_law(seen: Portrait) -> Law | None:
    """|value| is at least this at every position of every word; None if it may be 0."""
    state = seen.states[-1]
    form = seen.output.form
    rest = common(state.atoms[a].whole.scaled(w) for a, w in form.items())
    laws: list[Law] = []
    for value, kind in zip(seen.output.content, state.classes, strict=True):
        if kind.sink is not None:
            continue  # values are asked for at the positions of the word
        interval = point(value)
        for a, w in form.items():
            interval = interval + state.atoms[a].range * w
        apart = max(interval.low.least, (interval * Fraction(-1)).low.least)
        if apart > 0:
            laws.append(as_law(Fraction(apart)))
        elif not form or (not rest.degrees and rest.unit and (value / rest.unit) % 1):
            if not value:
                return None
            part = abs(value) if not form else abs((value / rest.unit) % 1) * rest.unit
            nearest = part if not form else min(part, rest.unit - part)
            laws.append(as_law(nearest))
        else:
            return None
    return minimum(*laws) if laws else None
