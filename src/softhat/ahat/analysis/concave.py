"""Scores that are concave in the key's position: they fall off on both sides of the maximum.

On an interval of positions the steps of a concave sequence never rise. So beyond the argmax set the
first neighbour on each side lies at least a gap below the maximum, the m-th at least m gaps.
"""

from __future__ import annotations

from fractions import Fraction

from softhat.ahat.analysis.residual import NOTHING, Functional, HeadView, combined


def concave(view: HeadView) -> tuple[tuple[Fraction, Fraction], ...] | None:
    """For each row of the key that the query reads, a and c of its a·j + c·j² + constant, if all
    rows are of that form and every query makes the scores concave; else None."""
    found = _parabolas(view)
    if found is None:
        return None
    bend = view.state.range(_read(view, [c for _, c in found])) * Fraction(-1)
    return tuple(found) if bend.low.least >= 0 else None


def integer_peak(view: HeadView) -> bool:
    """Has every row one maximum, since its scores b·j - c·j² are strictly concave, with c = s/T and
    b a multiple of 2s/T, where T is the number of positions and sinks? The peak b/2c is an integer.
    """
    found, state = _parabolas(view), view.state
    if found is None:
        return False
    curve, slope = _read(view, [c for _, c in found]), _read(view, [a for a, _ in found])
    if any(curve.content) or len(curve.form) != 1:
        return False
    ((atom, weight),) = curve.form.items()
    size = weight * state.atoms[atom].share
    grid = state.whole(slope)
    return (
        size < 0
        and (not grid.unit or grid.degrees == state.atoms[atom].whole.degrees)
        and (grid.unit / (2 * size)).denominator == 1
    )


def _parabolas(view: HeadView) -> list[tuple[Fraction, Fraction]] | None:
    """a and c of each row of the key, a·j + c·j² + constant; (0, 0) where no query reads it."""
    if view.state.has_eos:
        return None
    found = []
    for query, key in zip(view.query, view.key, strict=True):
        if not query.form and not any(query.content):
            found.append((NOTHING, NOTHING))
            continue
        by_name = {view.state.atoms[atom].name: w for atom, w in key.form.items()}
        linear, square = by_name.pop("i", NOTHING), by_name.pop("i²", NOTHING)
        if by_name or len(set(key.content)) > 1:
            return None
        found.append((linear, square))
    return found


def _read(view: HeadView, weights: list[Fraction]) -> Functional:
    """Σ weight · row of the query."""
    content = tuple(
        sum((w * q.content[k] for w, q in zip(weights, view.query, strict=True)), NOTHING)
        for k in range(len(view.state.classes))
    )
    return Functional(
        content, combined((q.form, w) for q, w in zip(view.query, weights, strict=True))
    )
