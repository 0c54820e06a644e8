"""Which kind of head a pair of query and key matrices is, read off the weights.

The scores of a head are a bilinear form of what its query and key coordinates hold: it must be
one of the forms of `kinds`, and meet the conditions of its theorem. The kinds and labels that a
model carries are not trusted: only the numbers are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from softhat.proof.atoms import Atoms, Direction, Range, Sum
from softhat.proof.cells import (
    Bit,
    Cell,
    Feature,
    Form,
    Mean,
    Raw,
    VoidError,
    Zero,
    literal,
)
from softhat.proof.kinds import (
    Average,
    Entry,
    Kind,
    Latest,
    Previous,
    Scores,
    Side,
    Sign,
    Slope,
    grid_of,
    slope_of,
)
from softhat.transformer.weights import Attention, Mask

Key = str | int
"""A feature's base name, or the coordinate of a bit or a mean."""
Terms = dict[tuple[Key, Key, int], Fraction]
"""(query, key, power of P) -> coefficient of the logit."""


@dataclass(frozen=True, slots=True)
class HeadWeights:
    """One head: its rows over coordinates."""

    attention: Attention
    sinks: int
    mask: Mask
    sharpness: float
    query: tuple[Form, ...]
    key: tuple[Form, ...]
    value: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class _Scored:
    """A head with scores: what its kind is recognised from."""

    head: HeadWeights
    cells: list[Cell]
    number: int
    """Of the head, over all layers."""
    atoms: Atoms
    level: int
    terms: Terms
    scores: Scores
    direction: Direction
    here: str
    """The position feature that falls with the distance: i for the past, r for the future."""

    def values(self) -> list[int]:
        return _values(self.head, self.cells, self.atoms)


def recognise(
    head: HeadWeights, cells: list[Cell], number: int, atoms: Atoms, level: int
) -> tuple[Kind, list[Cell]]:
    """The head's kind, and what each of its value rows makes it return."""
    if head.mask != "<=" and head.sinks < 2:
        raise VoidError("it looks to the right, but there is no sink at the end")
    terms = _logits(head, cells)
    scores = _scores(head, cells)
    if not scores.rows:
        return _average(head, cells, number, atoms)
    if not terms:
        raise VoidError("its scores cancel: rounding would decide")
    match head.mask:
        case "<=":
            scored = _Scored(head, cells, number, atoms, level, terms, scores, "past", "i")
        case ">=":
            scored = _Scored(head, cells, number, atoms, level, terms, scores, "future", "r")
        case "none":
            raise VoidError("it has scores but no mask")
    if any(query == "(-1)^i" for query, _, _ in terms):
        return _previous(scored)
    if (scored.here, "1", 0) in terms:
        return _latest(scored)
    return _sign(scored)


def _logits(head: HeadWeights, cells: list[Cell]) -> Terms:
    """Σ_r query_r ⊗ key_r, with the inverse temperature C·P multiplied in."""
    scaled = head.attention == "temperature"
    if scaled and head.sharpness <= 0:
        raise VoidError("its inverse temperature is not positive")
    factor = Fraction(head.sharpness) if scaled else Fraction(1)
    terms: Terms = {}
    for query, key in zip(head.query, head.key, strict=True):
        if bool(query) != bool(key):
            raise VoidError("a query row and its key row do not both have weights")
        for q_at, q_weight in query.items():
            for k_at, k_weight in key.items():
                (q, q_power), (k, k_power) = _key(cells, q_at), _key(cells, k_at)
                at = (q, k, q_power + k_power + scaled)
                product = factor * Fraction(q_weight) * Fraction(k_weight)
                terms[at] = terms.get(at, Fraction(0)) + product
    return {at: value for at, value in terms.items() if value}


def _key(cells: list[Cell], at: int) -> tuple[Key, int]:
    match cells[at]:
        case Feature(base, power):
            return base, power
        case Bit() | Mean() | Zero():
            return at, 0
        case _:
            raise VoidError(f"it reads coordinate {at}, a head's raw output")


def _scores(head: HeadWeights, cells: list[Cell]) -> Scores:
    def side(form: Form) -> Side:
        entries = []
        for at, weight in form.items():
            match cells[at]:
                case Feature(base, power):
                    entries.append(Entry(base, power, weight))
                case Bit() | Zero():
                    entries.append(Entry("bit", 0, weight))
                case _:
                    entries.append(Entry("mean", 0, weight))
        return tuple(sorted(entries, key=lambda e: (e.base, e.power, e.weight)))

    rows = tuple(
        (side(query), side(key)) for query, key in zip(head.query, head.key, strict=True) if query
    )
    # Without temperature scaling the runtime does not read the sharpness.
    sharpness = head.sharpness if head.attention == "temperature" else 1.0
    return Scores(head.attention, sharpness, rows)


def _values(head: HeadWeights, cells: list[Cell], atoms: Atoms) -> list[int]:
    values = []
    for form in head.value:
        function = literal(cells, form, atoms)
        if function is None:
            raise VoidError("its value is not a stored bit or the negation of one")
        values.append(function)
    return values


def _average(
    head: HeadWeights, cells: list[Cell], number: int, atoms: Atoms
) -> tuple[Kind, list[Cell]]:
    ranges: dict[Mask, Range] = {"<=": "past", ">=": "future", "none": "total"}
    over = ranges[head.mask]
    low = high = mass = 0.0
    grid = float("inf")
    made: list[Cell] = []
    weights: list[float] = []
    for form in head.value:
        terms = []
        for at, weight in form.items():
            match cells[at]:
                case Bit(function):
                    terms.append((Fraction(weight), function))
                case Zero():
                    terms.append((Fraction(weight), atoms.space.false))
                case Feature("ordinary", 0):
                    terms.append((Fraction(weight), atoms.space.true))
                case _:
                    raise VoidError("it averages something that is not a stored bit")
            weights.append(weight)
            grid = min(grid, grid_of(weight))
        mass = max(mass, sum(map(abs, form.values())))
        bounds = atoms.space.range_of_sum(terms)
        low, high = min(low, float(bounds[0])), max(high, float(bounds[1]))
        made.append(Mean(over, tuple(terms), number))
    kind = Average(over, head.attention, low, high, grid, mass, tuple(sorted(set(weights))))
    return kind, made


def _latest(scored: _Scored) -> tuple[Kind, list[Cell]]:
    cells, atoms, terms = scored.cells, scored.atoms, dict(scored.terms)
    slope = _slope(terms, scored.here)
    # The penalty of a bad key: A·i with unbounded positions, A·P with temperature scaling.
    across = ("1", 1) if scored.head.attention == "temperature" else (scored.here, 0)
    form: Form = {}
    penalty = max((abs(value) for value in terms.values()), default=Fraction(0))
    for (query, key, power), value in terms.items():
        if (query, power) != across or not (isinstance(key, int) or key == "ordinary"):
            raise VoidError("its scores have a term that no kind of head has")
        form[_at(cells, key)] = float(-value / penalty)
    bad = literal(cells, form, atoms)
    if bad is None:
        raise VoidError("the keys that it rules out are not a stored bit or the negation of one")
    if form and penalty < 2 * slope:
        raise VoidError(
            f"ruling out a key costs {float(penalty)}·{scored.here}, less than twice the slope"
        )
    _no_averages(scored.scores.rows)
    _one_row_rules_out(scored, bad, across)
    made: list[Cell] = []
    for held in scored.values():
        if atoms.space.both(bad, held) != atoms.space.false:
            raise VoidError("its value does not imply that the key is not ruled out")
        made.append(Raw(atoms.since(bad, held, scored.direction, scored.level), scored.number))
    return Latest(scored.direction, scored.scores, float(slope), float(penalty)), made


def _one_row_rules_out(scored: _Scored, bad: int, across: tuple[Key, int]) -> None:
    """Keys are ruled out by one row, whose key is a multiple of `bad` and whose query has one
    sign: so the penalty of other keys is exactly 0, and that of these is off by a share of it."""
    cells = scored.cells
    rows = zip(scored.head.query, scored.head.key, strict=True)
    ruling = [
        (query, key)
        for query, key in rows
        if any(
            isinstance(_key(cells, at)[0], int) or _key(cells, at)[0] == "ordinary" for at in key
        )
    ]
    if len(ruling) > 1:
        raise VoidError("several rows rule out keys, and could cancel")
    for query, key in ruling:
        scaled = scored.head.attention == "temperature"
        if any((_key(cells, at)[0], _key(cells, at)[1] + scaled) != across for at in query):
            raise VoidError("the row that rules out keys has a query of another form")
        size = max(map(abs, key.values()))
        sign = -1.0 if min(query.values()) > 0 else 1.0
        if sign < 0 < -min(query.values()) or max(query.values()) > 0 > min(query.values()):
            raise VoidError("the weights that rule out keys cancel")
        if literal(cells, {at: sign * w / size for at, w in key.items()}, scored.atoms) != bad:
            raise VoidError("a row mixes positions with the keys that it rules out")


def _no_averages(rows: tuple[tuple[Side, Side], ...]) -> None:
    if any(entry.base == "mean" for row in rows for side in row for entry in side):
        raise VoidError("its scores read an average, and it compares nothing")


def _previous(scored: _Scored) -> tuple[Kind, list[Cell]]:
    terms = dict(scored.terms)
    _no_averages(scored.scores.rows)
    slope = _slope(terms, scored.here)
    alternation = -terms.pop(("(-1)^i", "(-1)^i", 0), Fraction(0))
    offset = -sum((terms.pop((one, "1", 0), Fraction(0)) for one in ("1", "ordinary")), Fraction(0))
    if terms:
        raise VoidError("its scores have a term that no kind of head has")
    if 2 * alternation <= slope:
        raise VoidError("keys of the query's own parity are not ruled out")
    made: list[Cell] = [
        Raw(scored.atoms.previous(value, scored.direction, scored.level), scored.number)
        for value in scored.values()
    ]
    kind = Previous(
        scored.direction, scored.scores, float(slope), float(offset), float(alternation)
    )
    return kind, made


def _sign(scored: _Scored) -> tuple[Kind, list[Cell]]:
    cells, atoms, terms, here = scored.cells, scored.atoms, dict(scored.terms), scored.here
    _averages_stand_alone(scored)
    if any(value != atoms.space.true for value in scored.values()):
        raise VoidError("it compares, but its value is not 1 on the word's own positions")
    steep = terms.pop(("1", here, 0), Fraction(0))
    at: dict[str, Fraction] = {
        base: terms.pop((base, "ordinary", 0), Fraction(0)) for base in ("i", "r", "ordinary")
    }
    at[here] += steep
    slopes: list[Slope] = []
    weighted: dict[tuple[Range, int], Fraction] = {}
    for query in [q for q in dict.fromkeys(q for q, _, _ in terms) if isinstance(q, int)]:
        mean = cells[query]
        if not isinstance(mean, Mean):
            raise VoidError(f"it compares coordinate {query}, which is not an average")
        needed = {"past": ("i",), "future": ("r",), "total": ("i", "r")}[mean.over]
        found = [terms.pop((query, base, 0), Fraction(0)) for base in (*needed, "ordinary")]
        if len(set(found)) != 1:
            raise VoidError("an average is not multiplied by the number of positions it is over")
        scaled = [(found[0] * a, f) for a, f in mean.terms]
        low, high = atoms.space.range_of_sum(scaled)
        (weight,) = (row[query] for row in scored.head.query if query in row)
        held = max(map(abs, atoms.space.range_of_sum(list(mean.terms))))
        slopes.append(Slope(mean.over, float(low), float(high), float(held) * abs(weight)))
        for a, f in scaled:
            weighted[mean.over, f] = weighted.get((mean.over, f), Fraction(0)) + a
    if terms:
        raise VoidError("its scores have a term that no kind of head has")
    unit = _common([*weighted.values(), at["i"], at["r"]]) or 2 * abs(at["ordinary"])
    if not unit:
        raise VoidError("it compares nothing")
    whole = -at["ordinary"] / unit  # Σ + … >= whole, of integers: the least that counts is
    least = -((-whole.numerator) // whole.denominator)
    up = float(unit * least + at["ordinary"])
    down = float(unit) - up
    if up <= 0:
        raise VoidError("its threshold is an integer, so that the sign of 0 would decide")
    i, r = int(at["i"] / unit), int(at["r"] / unit)
    total = Sum(
        {key: int(a / unit) for key, a in weighted.items() if a}, i - r, r, r
    )  # r = n + 1 - i
    function = atoms.at_least(total, least, scored.level)
    kind = Sign(
        scored.direction, scored.scores, tuple(slopes), float(at["i"]), float(at["r"]),
        float(at["ordinary"]), up, down, float(unit), float(steep), scored.head.sinks > 1,
    )  # fmt: skip
    if slope_of(kind) <= 0:
        raise VoidError("its scores do not fall with the distance")
    return kind, [Raw(function, scored.number) for _ in scored.head.value]


def _averages_stand_alone(scored: _Scored) -> None:
    """Each average is the whole query of one row: then nothing that it adds can cancel."""
    cells = scored.cells
    read = [at for query in scored.head.query for at in query if isinstance(cells[at], Mean)]
    alone = [at for query in scored.head.query for at in query if len(query) == 1]
    if len(set(read)) != len(read) or not set(read) <= set(alone):
        raise VoidError("an average is read by several rows, or beside something else")
    if any(isinstance(cells[at], Mean) for key in scored.head.key for at in key):
        raise VoidError("a key reads an average")


def _slope(terms: Terms, here: str) -> Fraction:
    """What a step away from the query's position costs, taken out of the terms."""
    slope = terms.pop(("1", here, 0), Fraction(0))
    anchor = terms.pop((here, "1", 0), Fraction(0))
    if slope <= 0 or anchor != -slope:
        raise VoidError(
            f"its scores do not fall by one slope with the distance ({slope}, {anchor})"
        )
    return slope


def _at(cells: list[Cell], key: Key) -> int:
    if isinstance(key, int):
        return key
    return cells.index(Feature("ordinary", 0))


def _common(values: list[Fraction]) -> Fraction:
    """The greatest common divisor of rationals."""
    result = Fraction(0)
    for value in values:
        if value:
            a, b = result, abs(value)
            numerator = gcd(a.numerator * b.denominator, b.numerator * a.denominator)
            result = Fraction(numerator, a.denominator * b.denominator)
    return result
