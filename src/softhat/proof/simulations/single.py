"""Rows with one maximum, in every word of every length; and how crowded the maximum is.

Proofs: any two keys have different scores; or scores are b·j - c·j² of the key's position j, with
the peak at an integer; or they rise in steps S with the key's place, from a level of its class, and
mask or residues forbid the ties that levels would allow; or a term κ·j decides among ties
(`decided`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from softhat.numbers.grids import common
from softhat.numbers.laws import Law, Length
from softhat.numbers.positions import PLACES, SHARES, Feature, Named
from softhat.proof.simulations.residual import LinearReading, Sight, combined
from softhat.proof.simulations.scores import ScoreDifference, at_most, monomials
from softhat.proof.simulations.source import BOS, EOS, NOTHING, SourceHead, SourceModel, Vector


def one_maximum(sight: Sight, differences: Iterable[ScoreDifference]) -> bool:
    """Has every row one maximum? `differences` has all pairs of the head."""
    if _in_steps(sight):
        return True
    if all(pair.never_zero for pair in differences):
        return True
    return not sight.stream.has(EOS) and (single_peak(sight) or integer_peak(sight))


def crowded(sight: Sight, differences: list[ScoreDifference], gap: Law) -> int | None:
    """At most this many keys lie m to m + 1 gaps below the maximum, for each m = 1, 2, …; None if
    that is not known."""
    if sight.stream.has(EOS):
        return None
    if single_peak(sight):
        return 2
    grid = common(pair.whole for pair in differences)
    even = all(g.role in ("global", "lcm") for g, _ in grid.degrees)  # one grid for all keys
    if grid.unit and even and all(p.never_zero for p in differences) and at_most(gap, grid.least):
        return 1
    return None


def single_peak(sight: Sight) -> bool:
    """Scores that read positions alone, strictly concave with the peak at an integer."""
    atoms, stream = sight.stream.atoms, sight.stream
    used = [(q, k) for q, k in zip(sight.query, sight.key, strict=True) if not q.zero]
    if any(len(set(k.content)) > 1 for _, k in used):
        return False
    for a in range(len(stream.classes)):
        linear = combined((k.form, q.content[a]) for q, k in used)
        by_name = {atoms[y].name: w for y, w in linear.items()}
        square, slopes = by_name.pop("i^2", NOTHING), [by_name.pop("i", NOTHING)]
        if by_name or square >= 0:
            return False
        for x, y, w in sight.bilinear:
            if atoms[y].name != "i" or atoms[x].name not in ("i", "n", "r"):
                return False
            slopes.append(w)
        if any((w / (2 * square)).denominator > 1 for w in slopes):
            return False
    return True


def parabolas(sight: Sight) -> list[tuple[Fraction, Fraction]] | None:
    """a and c of each row of the key, a·j + c·j² + constant ((0, 0) where no query reads it)."""
    if sight.stream.has(EOS):
        return None
    curves = []
    for q, k in zip(sight.query, sight.key, strict=True):
        if q.zero:
            curves.append((NOTHING, NOTHING))
            continue
        by_name = {sight.stream.atoms[y].name: w for y, w in k.form.items()}
        linear, square = by_name.pop("i", NOTHING), by_name.pop("i^2", NOTHING)
        if by_name or len(set(k.content)) > 1:
            return None
        curves.append((linear, square))
    return curves


def asked_of(sight: Sight, weights: list[Fraction]) -> LinearReading:
    """Σ weight · row of the query."""
    content = tuple(
        sum((w * q.content[k] for w, q in zip(weights, sight.query, strict=True)), NOTHING)
        for k in range(len(sight.stream.classes))
    )
    return LinearReading(
        content, combined((q.form, w) for q, w in zip(sight.query, weights, strict=True))
    )


def integer_peak(sight: Sight) -> bool:
    """Scores b·j - c·j² with c = s/T and b a multiple of 2s/T, T the number of all positions."""
    curves = parabolas(sight)
    if curves is None:
        return False
    curve, slope = (asked_of(sight, [pair[k] for pair in curves]) for k in (1, 0))
    if any(curve.content) or len(curve.form) != 1:
        return False
    ((atom, weight),) = curve.form.items()
    size = weight * sight.stream.atoms[atom].share
    grid = sight.stream.whole(slope)
    return (
        size < 0
        and (not grid.unit or grid.degrees == sight.stream.atoms[atom].whole.degrees)
        and (grid.unit / (2 * size)).denominator == 1
    )


@dataclass(frozen=True, slots=True)
class _Level:
    """A class of keys as one query sees it: the score is level + slope·p + S·j, where the query
    sees at most p places of the word and the key stands at the j-th (0: a sink)."""

    level: Fraction
    slope: Fraction
    residue: tuple[int, int] | None
    sink: str | None


def _in_steps(sight: Sight) -> bool:
    """Places are counted from the *near* sink, which every query sees; the *far* one sees itself
    and all of the word."""
    if sight.head.mask == "none" or sight.bilinear:
        return False
    back = sight.head.mask in ("<=", "<")
    near, far = (BOS, EOS) if back else (EOS, BOS)
    for a, asker in enumerate(sight.stream.classes):
        if asker.sink == near:
            continue  # it sees itself or nothing
        levels = _levels(sight, a, "i" if back else "r")
        if levels is None:
            return False
        step, keys = levels
        word = list(dict.fromkeys(k for k in keys if k.sink is None))
        ends = [k for k in keys if k.sink == near]
        if asker.sink == far and sight.head.mask in ("<=", ">="):
            ends.append(keys[a])
        if any(_may_tie(u, v, step) for u in word for v in word):
            return False
        if any(_may_meet(u, end, step, back, near) for u in word for end in ends):
            return False
        # Two sinks may tie if every key of the word is above them.
        for one in ends:
            for other in ends:
                alike = (one.level, one.slope) == (other.level, other.slope)
                if alike and one.sink != other.sink and not all(_above(u, one, step) for u in word):
                    return False
    return True


def _levels(sight: Sight, a: int, place: str) -> tuple[Fraction, list[_Level]] | None:
    """The step S and the level of each class, for a query of class a; None if scores are not so."""
    stream = sight.stream
    rows = list(zip(sight.query, sight.key, strict=True))
    linear = combined((k.form, q.content[a]) for q, k in rows)
    moving = {y: w for y, w in linear.items() if stream.atoms[y].apart.unit}
    if len(moving) != 1 or stream.atoms[next(iter(moving))].name != place:
        return None
    keys: list[_Level] = []
    rests = []
    for c, kind in enumerate(stream.classes):
        shift = combined((q.form, k.content[c]) for q, k in rows)
        if stream.classes[a].sink is not None:
            shift = {x: w for x, w in shift.items() if not stream.atoms[x].inner}
        slope = sum((w for x, w in shift.items() if stream.atoms[x].name == place), NOTHING)
        rests.append({x: w for x, w in shift.items() if stream.atoms[x].name != place})
        level = sum((q.content[a] * k.content[c] for q, k in rows), NOTHING)
        residue = stream.residue(c)
        if place == "i" and kind.sink is not None:
            residue = None
        if place == "r" and residue is not None:  # n + 1 minus the position
            residue = residue[0], -residue[1] % residue[0]
        keys.append(_Level(level, slope, residue, kind.sink))
    if any(rest != rests[0] for rest in rests):
        return None
    return next(iter(moving.values())), keys


def _may_tie(u: _Level, v: _Level, step: Fraction) -> bool:
    """Two keys of the word, at most p - 1 places apart."""
    level, slope = u.level - v.level, u.slope - v.slope
    if not level and not slope:
        return False  # they differ by a multiple of the step
    if slope:  # never 0 if beyond |S|·(p - 1) at every p ≥ 1
        towards = level if slope > 0 else -level
        return not (abs(slope) >= abs(step) and towards + abs(slope) > 0)
    places = level / step
    if places.denominator > 1:
        return False
    if u.residue is None or v.residue is None or u.residue[0] != v.residue[0]:
        return True
    return (v.residue[1] - u.residue[1] - places.numerator) % u.residue[0] == 0


def _may_meet(u: _Level, end: _Level, step: Fraction, back: bool, near: str) -> bool:
    """A key of the word, at a place 1 … p, and a sink, at place 0."""
    level, slope = u.level - end.level, u.slope - end.slope
    if slope:
        towards = level if slope > 0 else -level
        return not (abs(slope) >= abs(step) and towards + abs(slope) - abs(step) > 0)
    place = -level / step
    if place < 1 or place.denominator > 1:
        return False
    if u.residue is None:
        return True
    modulus, residue = u.residue
    if not back:  # places are counted from `<eos>`, whose residue is that of n + 1
        if end.sink != near or end.residue is None or end.residue[0] != modulus:
            return True
        residue -= end.residue[1]
    return (place.numerator - residue) % modulus == 0


def _above(u: _Level, end: _Level, step: Fraction) -> bool:
    """Is a key of the word above the sink wherever it stands?"""
    return step > 0 and u.slope == end.slope and u.level + step > end.level


def decided(source: SourceModel, head: SourceHead, others: Law | None, top: int | None) -> bool:
    """Theorem 15. Is the last row of query and key a term κ·s(j), with s rising over all positions
    and κ·s at most half of `others`, the least difference of what the other rows score? `top`: the
    greatest length that is asked for."""
    if not head.query:
        return False
    asks, steps = (_feature_alone(source, m[-1]) for m in (head.query, head.key))
    if asks is None or steps is None or asks[0] != Named("1") or not isinstance(steps[0], Named):
        return False
    weight = asks[1] * steps[1] * (1 if head.ties == "rightmost" else -1)
    eos = source.eos is not None
    powers = dict(PLACES) if eos else PLACES | SHARES | {"i": 0, "i/n": 1}
    if weight <= 0 or steps[0].name not in powers:
        return False
    # s(j) ≤ n/n^k, or (n + 1)/n^k ≤ 2n/n^k where `<eos>` stands at n + 1.
    degree, most = powers[steps[0].name] - 1, 2 * weight * (2 if eos else 1)
    if others is None:
        return True
    if top is not None:
        falls = all(k <= 0 for _, degrees in monomials(others) or () for k in degrees.values())
        small = most * Fraction(top) ** max(0, -degree) <= Fraction(others.at(top))
        return falls and monomials(others) is not None and small
    return all(most <= unit and degree >= power for unit, power in in_powers_of_n(others))


def in_powers_of_n(law: Law) -> list[tuple[Fraction, int]]:
    """(unit, power): the law is at least the least of unit/n^power at every n, since n + s is at
    most (1 + s)·n. A unit of 0 where lcm(1 … n) takes part."""
    result = []
    for unit, degrees in monomials(law) or [(NOTHING, {})]:
        power = 0
        for base, k in degrees.items():
            if not isinstance(base, Length):
                unit = NOTHING
            elif k < 0:
                unit, power = unit / Fraction(1 + max(0, base.shift)) ** -k, power - k
        result.append((unit, power))
    return result


def _feature_alone(source: SourceModel, row: Vector) -> tuple[Feature, Fraction] | None:
    """The one feature that a row reads, from a coordinate that holds nothing else; its weight."""
    used = [c for c, w in enumerate(row) if w]
    if len(used) != 1:
        return None
    (c,) = used
    vectors = [*source.tokens, *(v for v in (source.bos, source.eos) if v is not None)]
    held = [k for k, w in enumerate(source.places[c]) if w]
    written = any(
        any(any(head.output[c]) for head in layer.heads)
        or (layer.forward is not None and (any(layer.forward.out[c]) or layer.forward.out_bias[c]))
        for layer in source.layers
    )
    if len(held) != 1 or written or any(v[c] for v in vectors):
        return None
    return source.features[held[0]], row[c] * source.places[c][held[0]]
