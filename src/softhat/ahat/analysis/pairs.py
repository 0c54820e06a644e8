"""Lower bounds of a head's gap, from every pair of keys that its queries can tell apart.

For a query and two keys the difference of their scores is a constant T (content against content)
plus a part in atoms, of which the grid and an interval are known. So a nonzero difference is at
least the grid's least number, and at least T minus the interval where that is positive. The least
over all pairs of classes is a lower bound of the head's gap, for every word of every length.
"""

from __future__ import annotations

from fractions import Fraction

from softhat.numbers.grids import Grid
from softhat.numbers.laws import Law, as_law, minimum
from softhat.proof.simulations.residual import Sight
from softhat.proof.simulations.scores import pairs


def gap_law(view: Sight) -> Law:
    """A lower bound of the head's gap, at every n; 1 if no two keys ever differ."""
    grids: dict[tuple[object, ...], Grid] = {}
    constants: list[Fraction] = []
    for pair in pairs(view):
        grid, margin = pair.whole, pair.margin
        if not grid.unit:
            continue
        if margin > 0 and (grid.degrees or margin > grid.unit):
            constants.append(Fraction(margin))
            continue
        known = grids.get(grid.degrees)
        if known is None or grid.unit < known.unit:
            grids[grid.degrees] = grid
    # A grid's least number is at most its unit: larger constants say nothing.
    units = [grid.unit for grid in grids.values()]
    smaller = [c for c in constants if not units or c < min(units)]
    laws = [grid.least for grid in _minimal(list(grids.values()))]
    if smaller:
        laws.append(as_law(min(smaller)))
    return minimum(*laws) if laws else as_law(1)


def _minimal(grids: list[Grid]) -> list[Grid]:
    """Without those that another one is finer than at every n."""

    def finer(a: Grid, b: Grid) -> bool:
        degrees = dict(a.degrees)
        return a.unit <= b.unit and all(degrees.get(g, 0) >= k for g, k in b.degrees)

    return [
        b
        for k, b in enumerate(grids)
        if not any(
            finer(a, b) and (not finer(b, a) or m < k) for m, a in enumerate(grids) if m != k
        )
    ]
