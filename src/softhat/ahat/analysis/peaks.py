"""Has every row of a head one maximum, in every word of every length? And how close is the rest?

Four proofs. All keys of a row may have different scores (`pairs`). Scores may be quadratic in the
key's position, around an integer, which averages may find (`concave`). Or scores may rise with the
position in steps S, from a level A that depends on the key's class: two keys j, j' then tie only if
S·(j' - j) is the difference of their levels, which the mask (j, j' ≤ i) or residues (j' - j is odd,
say) may forbid.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softhat.ahat.analysis.concave import integer_peak
from softhat.ahat.analysis.pairs import all_pairs, gap_law
from softhat.ahat.analysis.residual import NOTHING, HeadView, bilinear, combined
from softhat.ahat.model import BOS, EOS, Sink
from softhat.numbers.grids import common


def one_maximum(view: HeadView) -> bool:
    """Has every row of every word one maximum? True only where that is proved."""
    if _in_steps(view):
        return True
    # Two sinks look alike to position features: with `<eos>` the other proofs say nothing.
    return not view.state.has_eos and (
        single_peak(view) or integer_peak(view) or all(pair.never_zero for pair in all_pairs(view))
    )


def crowd(view: HeadView) -> int | None:
    """How crowded the maximum is: at most this many keys lie at gap ≥ m·γ for each m = 1, 2, …,
    where γ is the gap law; None if any number of keys may lie at the same gap.

    Scores that are all different and on one grid lie a grid's step apart; around a single peak
    there are two at a time.
    """
    if view.state.has_eos:
        return None
    if single_peak(view):
        return 2
    pairs = list(all_pairs(view))
    grid = common(pair.grid for pair in pairs)
    even = all(g.role in ("global", "lcm") for g, _ in grid.degrees)
    if grid.unit and even and all(p.never_zero for p in pairs) and gap_law(view) == grid.least:
        return 1
    return None


def single_peak(view: HeadView) -> bool:
    """Scores b·j - c·j² that read positions alone, with a peak at an integer: one maximum.

    A strictly concave sequence ties only around a half-integer peak, on any interval of keys.
    """
    atoms = view.state.atoms
    if any(len(set(k.content)) > 1 for q, k in zip(view.query, view.key, strict=True)
           if q.form or any(q.content)):  # fmt: skip
        return False
    queries = {tuple(q.content[k] for q in view.query) for k in range(len(view.state.classes))}
    for contents in queries:
        linear = combined((k.form, q) for q, k in zip(contents, view.key, strict=True))
        by_name = {atoms[a].name: w for a, w in linear.items()}
        square = by_name.pop("i²", NOTHING)
        slope = [by_name.pop("i", NOTHING)]
        if by_name or square >= 0:
            return False
        for x, y, w in bilinear(view):
            if atoms[y].name != "i" or atoms[x].name not in ("i", "n", "n+1-i"):
                return False
            slope.append(w)
        if any((w / (2 * square)).denominator > 1 for w in slope):
            return False
    return True


@dataclass(frozen=True, slots=True)
class _KeyLevel:
    """A key's class as one query sees it: its score is level + slope·p + S·j, where p is how many
    ordinary places the query sees at most, and j the key's place among them (0 at a sink)."""

    level: Fraction
    slope: Fraction
    residue: tuple[int, int] | None  # (m, r): j ≡ r mod m, up to one number for all keys
    sink: Sink | None


def _in_steps(view: HeadView) -> bool:
    """Scores that rise or fall by steps with the place of the key, counted towards the query.

    The near sink is the one that every query sees, at place 0; the far one is seen by itself only,
    and from there all of the word.
    """
    if view.head.mask == "none":
        return False
    back = view.head.mask in ("<=", "<")
    near: Sink = BOS if back else EOS
    far: Sink = EOS if back else BOS
    own = view.head.mask in ("<=", ">=")
    for a, asker in enumerate(view.state.classes):
        if asker.sink == near:
            continue  # it sees itself or nothing
        found = _levels(view, a, "i" if back else "n+1-i")
        if found is None:
            return False
        step, keys = found
        ordinary = list(dict.fromkeys(k for k in keys if k.sink is None))
        ends = [k for k in keys if k.sink == near]
        if asker.sink == far and own:
            ends.append(keys[a])
        if any(_may_tie(k, other, step) for k in ordinary for other in ordinary):
            return False
        if any(_may_meet(k, end, step, back, near) for k in ordinary for end in ends):
            return False
        # Sinks may tie with each other below everything else.
        tied = [e for e in ends if any(_alike(e, other) for other in ends)]
        if not all(_above(k, end, step) for k in ordinary for end in tied):
            return False
    return True


def _levels(view: HeadView, a: int, place: str) -> tuple[Fraction, list[_KeyLevel]] | None:
    """What a query of class a sees: the step S and the level of each class; None if scores are
    otherwise."""
    state = view.state
    at_sink = state.classes[a].sink is not None
    if bilinear(view):
        return None
    linear = combined((k.form, q.content[a]) for q, k in zip(view.query, view.key, strict=True))
    moving = {y: w for y, w in linear.items() if state.atoms[y].spread.unit}
    if len(moving) != 1 or state.atoms[next(iter(moving))].name != place:
        return None
    keys: list[_KeyLevel] = []
    first: dict[int, Fraction] | None = None
    for c, kind in enumerate(state.classes):
        shift = combined((q.form, k.content[c]) for q, k in zip(view.query, view.key, strict=True))
        if at_sink:
            shift = {x: w for x, w in shift.items() if not state.atoms[x].of_position}
        slope = sum((w for x, w in shift.items() if state.atoms[x].name == place), NOTHING)
        rest = {x: w for x, w in shift.items() if state.atoms[x].name != place}
        if first is not None and rest != first:
            return None
        first = rest
        level = sum(
            (q.content[a] * k.content[c] for q, k in zip(view.query, view.key, strict=True)),
            NOTHING,
        )
        keys.append(_KeyLevel(level, slope, _residue(view, c, place), kind.sink))
    return next(iter(moving.values())), keys


def _residue(view: HeadView, c: int, place: str) -> tuple[int, int] | None:
    """Of the place of a key; counted from the end it is n + 1 minus the position."""
    state = view.state
    if place == "i" and state.classes[c].sink is not None:
        return None
    found = state.residue(c)
    return found if found is None or place == "i" else (found[0], -found[1] % found[0])


def _may_tie(k: _KeyLevel, other: _KeyLevel, step: Fraction) -> bool:
    """Two ordinary keys, at most p - 1 places apart."""
    level, slope = k.level - other.level, k.slope - other.slope
    if not level and not slope:
        return False
    if slope:  # beyond |S|·(p - 1) at every p ≥ 1
        towards = level if slope > 0 else -level
        return not (abs(slope) >= abs(step) and towards + abs(slope) > 0)
    places = level / step  # from one to the other
    if places.denominator > 1:
        return False
    if k.residue is None or other.residue is None or k.residue[0] != other.residue[0]:
        return True
    return (other.residue[1] - k.residue[1] - places.numerator) % k.residue[0] == 0


def _may_meet(k: _KeyLevel, end: _KeyLevel, step: Fraction, back: bool, near: Sink) -> bool:
    """An ordinary key, at a place 1 … p, and a sink, at place 0."""
    level, slope = k.level - end.level, k.slope - end.slope
    if slope:  # beyond |S|·p at every p ≥ 1
        towards = level if slope > 0 else -level
        return not (abs(slope) >= abs(step) and towards + abs(slope) - abs(step) > 0)
    place = -level / step
    if place < 1 or place.denominator > 1:
        return False
    if k.residue is None:
        return True
    modulus, residue = k.residue
    if not back:  # places are counted from `<eos>`, whose residue is that of n + 1
        if end.sink != near or end.residue is None or end.residue[0] != modulus:
            return True
        residue -= end.residue[1]
    return (place.numerator - residue) % modulus == 0


def _alike(one: _KeyLevel, other: _KeyLevel) -> bool:
    """Have the two sinks the same score?"""
    same = (one.level, one.slope) == (other.level, other.slope)
    return same and one.sink != other.sink


def _above(k: _KeyLevel, end: _KeyLevel, step: Fraction) -> bool:
    """Is an ordinary key above the sink wherever it stands?"""
    return step > 0 and k.slope == end.slope and k.level + step > end.level
