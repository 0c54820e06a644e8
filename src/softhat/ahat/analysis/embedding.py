"""The residual stream before the first layer: tokens and residues are content, positions atoms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from softhat.ahat.analysis.residual import (
    NOTHING,
    ContentClass,
    PositionAtom,
    StreamState,
    combined,
)
from softhat.ahat.model import AHAT, BOS, EOS, Vector
from softhat.numbers.grids import ZERO, Generator, Grid
from softhat.numbers.growth import Interval, Polynomial, constant, hull
from softhat.numbers.positions import (
    PLACES,
    SHARES,
    DigitFeature,
    Feature,
    Holds,
    Mod,
    Named,
    Table,
)
from softhat.numbers.rationals import common_divisor

MAX_PERIOD = 24  # of all residues together


def embedded(model: AHAT) -> StreamState:
    """Tokens and residues are content; the other position features are atoms."""
    atoms: list[PositionAtom] = []
    place: dict[int, int] = {}  # position feature → atom
    finite: list[int] = []
    period = math.lcm(*(_period(f) for f in model.positions))
    for k, feature in enumerate(model.positions):
        if _is_finite(feature, period):
            finite.append(k)
        else:
            place[k] = len(atoms)
            atoms.append(_position_atom(feature, model.eos))
    forms = tuple(
        combined(({place[k]: Fraction(1)}, w) for k, w in enumerate(row) if w and k in place)
        for row in model.position_embedding
    )
    ends = [(False, False)]
    if any(f in (Named("first"), Named("last")) for f in model.positions):
        ends = [(a, b) for a in (False, True) for b in (False, True)]
    seen: dict[ContentClass, None] = {}
    residues = period if period <= MAX_PERIOD else 1
    for residue in range(residues):
        for first, last in ends:
            values = {k: _finite(model.positions[k], residue, first, last) for k in finite}
            for token in model.embedding:
                seen[ContentClass(_placed(model, token, values))] = None
    if model.bos_embedding is not None:
        values = {k: _finite_at_bos(model.positions[k]) for k in finite}
        seen[ContentClass(_placed(model, model.bos_embedding, values), BOS)] = None
    for residue in range(residues if model.eos_embedding is not None else 0):
        values = {k: _finite_at_eos(model.positions[k], residue) for k in finite}
        seen[ContentClass(_placed(model, model.eos_embedding or (), values), EOS)] = None
    return StreamState(tuple(seen), forms, tuple(atoms), _residues(model, finite))


def _residues(model: AHAT, finite: list[int]) -> dict[int, dict[Fraction, tuple[int, int]]]:
    """Coordinates that nothing but one periodic feature writes: what their contents say."""
    result = {}
    for c, row in enumerate(model.position_embedding):
        used = [k for k, w in enumerate(row) if w]
        if len(used) != 1 or used[0] not in finite or any(v[c] for v in model.vectors):
            continue
        weight = row[used[0]]
        match model.positions[used[0]]:
            case Mod(modulus, remainder):
                result[c] = {weight: (modulus, remainder)}
            case Named("(-1)^i"):
                result[c] = {weight: (2, 0), -weight: (2, 1)}
    return result


def _placed(model: AHAT, token: Vector, values: Mapping[int, Fraction]) -> Vector:
    return tuple(
        t + sum((row[k] * v for k, v in values.items()), NOTHING)
        for t, row in zip(token, model.position_embedding, strict=True)
    )


def _period(feature: Feature) -> int:
    match feature:
        case Mod(modulus):
            return modulus
        case Named("(-1)^i"):
            return 2
    return 1


def _is_finite(feature: Feature, period: int) -> bool:
    if isinstance(feature, Mod) or feature == Named("(-1)^i"):
        return period <= MAX_PERIOD
    return isinstance(feature, Named) and feature.name in ("1", "ordinary", "first", "last")


def _finite(feature: Feature, residue: int, first: bool, last: bool) -> Fraction:
    """A finite feature at an ordinary position."""
    match feature:
        case Mod(modulus, remainder):
            return Fraction(int(residue % modulus == remainder))
        case Named("(-1)^i"):
            return Fraction(1 - 2 * (residue % 2))
        case Named("first"):
            return Fraction(int(first))
        case Named("last"):
            return Fraction(int(last))
    return Fraction(1)


def _finite_at_bos(feature: Feature) -> Fraction:
    match feature:
        case Mod(_, remainder, sinks):
            return Fraction(int(sinks and remainder == 0))
        case Named("1" | "(-1)^i"):
            return Fraction(1)
    return NOTHING


def _finite_at_eos(feature: Feature, residue: int) -> Fraction:
    """The same at `<eos>`, where the other position features are 0 as they are at `<bos>`."""
    match feature:
        case Mod(modulus, remainder, sinks):
            return Fraction(int(sinks and residue % modulus == remainder))
        case Named("(-1)^i"):
            return Fraction(1 - 2 * (residue % 2))
        case Named("1"):
            return Fraction(1)
    return NOTHING


def _position_atom(feature: Feature, eos: bool) -> PositionAtom:
    whole = Grid(Fraction(1))
    one, n = constant(1), Polynomial(((1, Fraction(1)),))
    share = Polynomial(((-1, Fraction(1)),))
    match feature:
        case Named("i"):
            return PositionAtom("i", whole, whole, Interval(one, n), 1, True)
        case Named("r"):
            return PositionAtom("n+1-i", whole, whole, Interval(one, n), -1, True)
        case Named("n"):
            return PositionAtom("n", whole, ZERO, Interval(n, n))
        case Named("i/n"):
            grid = Grid(Fraction(1), ((Generator("global", "n", 0), 1),))
            return PositionAtom("i/n", grid, grid, Interval(share, one), 1, True)
        case Named(name) if name in SHARES:
            degree = SHARES[name]
            grid = Grid(Fraction(1), ((Generator("global", "n", 0), degree),))
            ends = [Polynomial(((k, Fraction(1)),)) for k in (-degree, 1 - degree)]
            return PositionAtom(name, grid, grid, Interval(*ends), 1, True)
        case Named(name) if name in PLACES:  # (n + 1)/n^k <= 2/n^(k-1)
            degree = PLACES[name]
            grid = Grid(Fraction(1), ((Generator("global", "n", 0), degree),))
            most = Polynomial(((1 - degree, Fraction(2)),))
            return PositionAtom(name, grid, grid, Interval(constant(0), most), 1)
        case Named("1/i"):
            grid = Grid(Fraction(1), ((Generator("local", "i", 0), 1),))
            return PositionAtom("1/i", grid, grid, Interval(share, one), -1, True)
        case Named("i^2"):
            square = Polynomial(((2, Fraction(1)),))
            return PositionAtom("i²", whole, whole, Interval(one, square), 1, True)
        case Table(entries):
            values = entries if entries and not eos else (*entries, NOTHING)  # 0 at `<eos>`
            spread = common_divisor(e - values[0] for e in values)
            return PositionAtom("table", Grid(common_divisor(values)), Grid(spread), hull(values))
        case Mod() | DigitFeature() | Holds() | Named("(-1)^i"):
            low = Fraction(-1) if isinstance(feature, Named) else NOTHING
            unit = 1 - low
            return PositionAtom(str(feature), whole, Grid(unit), Interval(constant(low), one))
    raise AssertionError(f"a position feature without an atom: {feature}")  # all are above
