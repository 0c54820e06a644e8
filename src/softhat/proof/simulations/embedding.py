"""The residual stream before the first layer.

Features with finitely many values (residues, `first`, …) become content. Which values come together
is not derived but seen: they depend on the position's residue, on whether it is the first or last,
and on the sink, so the lengths to twice the period and two show all cases. The other features are
atoms. A position table has finitely many entries, and 0 at `<eos>`.
"""

from __future__ import annotations

import math
from fractions import Fraction

from softhat.numbers.grids import ZERO, Generator, Grid
from softhat.numbers.growth import GrowingInterval, Polynomial, constant, hull
from softhat.numbers.positions import PLACES, SHARES, Feature, Mod, Named, Table, exact
from softhat.numbers.rationals import common_divisor
from softhat.proof.simulations.residual import Atom, Class, Form, ResidualStream, Residues, combined
from softhat.proof.simulations.source import BOS, EOS, NOTHING, SourceModel, Vector

MOST = 24  # residues that are told apart


def embedded(source: SourceModel) -> ResidualStream:
    """What tokens and positions give."""
    finite, period = _finite(source)
    atoms: list[Atom] = []
    place: dict[int, int] = {}
    for k, feature in enumerate(source.features):
        if k not in finite:
            place[k] = len(atoms)
            atoms.append(_atom(feature, source.eos is not None))
    forms: tuple[Form, ...] = tuple(
        combined(({place[k]: Fraction(1)}, w) for k, w in enumerate(row) if w and k in place)
        for row in source.places
    )
    seen: dict[Class, None] = {}
    vectors: dict[str | None, tuple[Vector, ...]] = {None: source.tokens}
    vectors |= {BOS: (source.bos,)} if source.bos is not None else {}
    vectors |= {EOS: (source.eos,)} if source.eos is not None else {}
    for sink, values in _together(source, finite, period):
        moved = [
            sum((row[k] * v for k, v in zip(finite, values, strict=True)), NOTHING)
            for row in source.places
        ]
        for vector in vectors[sink]:
            seen[Class(tuple(a + b for a, b in zip(vector, moved, strict=True)), sink)] = None
    return ResidualStream(tuple(seen), forms, tuple(atoms), _residues(source, finite))


def _finite(source: SourceModel) -> tuple[list[int], int]:
    """The features that become content, and their common period."""
    period = math.lcm(1, *(_period(f) for f in source.features))
    named = ("1", "ordinary", "first", "last")
    content = []
    for k, f in enumerate(source.features):
        periodic = isinstance(f, Mod) or f == Named("(-1)^i")
        if (periodic and period <= MOST) or (isinstance(f, Named) and f.name in named):
            content.append(k)
    return content, period if period <= MOST else 1


def _period(feature: Feature) -> int:
    if isinstance(feature, Mod):
        return feature.modulus
    return 2 if feature == Named("(-1)^i") else 1


def _together(
    source: SourceModel, finite: list[int], period: int
) -> dict[tuple[str | None, tuple[Fraction, ...]], None]:
    """Which values the finite features have at one position, and at which kind of position."""
    features = [source.features[k] for k in finite]
    bos, eos = source.bos is not None, source.eos is not None
    seen: dict[tuple[str | None, tuple[Fraction, ...]], None] = {}
    for n in range(1, 2 * period + 3):
        rows = exact(features, n, bos=bos, eos=eos)
        kinds = [BOS] * bos + [None] * n + [EOS] * eos
        seen |= dict.fromkeys(zip(kinds, rows, strict=True))
    return seen


def _residues(source: SourceModel, finite: list[int]) -> Residues:
    """Coordinates that nothing but one periodic feature writes."""
    vectors = [*source.tokens, *(v for v in (source.bos, source.eos) if v is not None)]
    result: dict[int, dict[Fraction, tuple[int, int]]] = {}
    for c, row in enumerate(source.places):
        used = [k for k, w in enumerate(row) if w]
        if len(used) != 1 or used[0] not in finite or any(v[c] for v in vectors):
            continue
        match source.features[used[0]]:
            case Mod(modulus, remainder):
                result[c] = {row[used[0]]: (modulus, remainder)}
            case Named("(-1)^i"):
                result[c] = {row[used[0]]: (2, 0), -row[used[0]]: (2, 1)}
    return result


def _power(k: int, coefficient: int = 1) -> Polynomial:
    """coefficient · n^k."""
    return Polynomial(((k, Fraction(coefficient)),))


def _atom(feature: Feature, eos: bool) -> Atom:
    """Grid, differences and range of a feature that is not finite."""
    integers = Grid(Fraction(1))

    def over_n(degree: int) -> Grid:
        return Grid(Fraction(1), ((Generator("global", "n", 0), degree),))

    match feature:
        case Named("i"):
            return Atom("i", integers, integers, GrowingInterval(constant(1), _power(1)), 1, True)
        case Named("r"):
            return Atom("r", integers, integers, GrowingInterval(constant(1), _power(1)), -1, True)
        case Named("n"):
            return Atom("n", integers, ZERO, GrowingInterval(_power(1), _power(1)))
        case Named("i^2"):
            return Atom("i^2", integers, integers, GrowingInterval(constant(1), _power(2)), 1, True)
        case Named("1/i"):
            own = Grid(Fraction(1), ((Generator("local", "i", 0), 1),))
            return Atom("1/i", own, own, GrowingInterval(_power(-1), constant(1)), -1, True)
        case Named(name) if name == "i/n" or name in SHARES:
            k = SHARES.get(name, 1)
            return Atom(
                name, over_n(k), over_n(k), GrowingInterval(_power(-k), _power(1 - k)), 1, True
            )
        case Named(name) if name in PLACES:  # 0 … n + 1 ≤ 2n
            k = PLACES[name]
            return Atom(
                name, over_n(k), over_n(k), GrowingInterval(constant(0), _power(1 - k, 2)), 1
            )
        case Table(entries):
            values = (*entries, NOTHING) if eos or not entries else entries
            apart = Grid(common_divisor(x - values[0] for x in values))
            return Atom("table", Grid(common_divisor(values)), apart, hull(values))
        case Named("(-1)^i"):
            return Atom("(-1)^i", integers, Grid(Fraction(2)), hull((Fraction(-1), Fraction(1))))
    # A bit: residues of large periods, digits, predicates.
    return Atom("bit", integers, integers, hull((NOTHING, Fraction(1))))
