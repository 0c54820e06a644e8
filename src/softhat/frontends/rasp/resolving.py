"""How attention can follow a condition: masks, windows, one position, or a code.

A condition made of pairs and of distances is sorted into parts, one for each mask or window of
distances: for every class of keys, the queries that select it there. A condition that names one
position, or asks for equal binary codes, is followed by a head of its own kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal as Choice

from softhat.frontends.rasp.conditions import (
    All,
    ClassPairs,
    Code,
    Condition,
    Distance,
    Everything,
    Opposite,
    Point,
    Pointer,
    Some,
    conjuncts,
)
from softhat.frontends.rasp.one_by_one import MOST_POSITIONS, MixedError, one_by_one
from softhat.frontends.rasp.values import CountForm, Order
from softhat.frontends.rasp.workshop import Workshop
from softhat.program.heads import Mask, Selector
from softhat.program.literals import FALSE, TRUE, Literal

MOST_KEYS = 512
"""Classes of keys in one selector."""


@dataclass(frozen=True, slots=True)
class DistanceWindow:
    """Distances low <= j - i <= high that no mask expresses. None is no bound; at least one bound
    is given."""

    low: int | None
    high: int | None

    @property
    def distances(self) -> range | None:
        """All of them, if they are finitely many."""
        if self.low is None or self.high is None:
            return None
        return range(self.low, self.high + 1)


Where = Choice["none", "<=", "<", ">=", ">", "="] | DistanceWindow
_MASKS: dict[tuple[int | None, int | None], Mask] = {
    (None, None): "none", (None, 0): "<=", (None, -1): "<", (0, None): ">=", (1, None): ">",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """The keys of one mask and for each the queries that select it."""

    where: Where
    keys: tuple[Literal, ...]
    queries: tuple[Literal, ...]
    single: bool

    @property
    def pairs(self) -> Iterator[tuple[Literal, Literal]]:
        """Each key, with the query that selects it."""
        return zip(self.keys, self.queries, strict=True)


@dataclass(frozen=True, slots=True)
class Masked:
    """Keys that masks show: what is selected is what one of the parts selects."""

    parts: tuple[Part, ...]
    order: Order | None
    """If what is selected are the j that come before i in an order."""


@dataclass(frozen=True, slots=True)
class AtPoint:
    """One position: at a distance, an affine number, or a pointer; with further conditions."""

    place: int | CountForm | Pointer
    pairs: tuple[ClassPairs, ...]


@dataclass(frozen=True, slots=True)
class AtCode:
    """The positions whose code is mine."""

    keys: tuple[Literal, ...]
    queries: tuple[Literal, ...]
    mask: Mask
    order: Order | None
    pairs: tuple[ClassPairs, ...]


Looked = Masked | AtPoint | AtCode


def resolved(shop: Workshop, condition: Condition) -> Looked:
    """How attention can follow a condition: in short sequences position by position, if in no
    other way."""
    try:
        return _resolved(shop, condition)
    except MixedError as error:
        if shop.longest > MOST_POSITIONS:
            raise shop.fault(
                f"{error}; it is compiled position by position for a max_length of "
                f"{MOST_POSITIONS}, and this one is {shop.longest:,}"
            ) from None
    return _masked(shop, one_by_one(shop, condition))


def _resolved(shop: Workshop, condition: Condition) -> Looked:
    parts = [
        part if isinstance(part, Code) else without_codes(part) for part in conjuncts(condition)
    ]
    condition = parts[0] if len(parts) == 1 else All(tuple(parts))
    codes = [part for part in parts if isinstance(part, Code)]
    if codes:
        return _coded(shop, codes, [part for part in parts if not isinstance(part, Code)])
    points = [part for part in parts if _is_point(part)]
    if points:
        rest = [part for part in parts if part not in points]
        pairs = tuple(part for part in rest if isinstance(part, ClassPairs))
        more = [*points[1:], *(part for part in rest if not isinstance(part, ClassPairs))]
        if more:
            if shop.longest > MOST_POSITIONS:
                raise MixedError("one position and another condition on positions")
            pairs = (*pairs, *(_pairs_alone(shop, part) for part in more))
        point = points[0]
        if isinstance(point, Point | Pointer):
            return AtPoint(point.form if isinstance(point, Point) else point, pairs)
        assert isinstance(point, Distance)
        assert point.low is not None
        return AtPoint(point.low, pairs)
    return _masked(shop, condition)


def without_codes(condition: Condition) -> Condition:
    """Codes go with other conditions by `and` only; classes of values do in every way."""
    match condition:
        case Code():
            return condition.instead() or condition
        case All(parts):
            return All(tuple(map(without_codes, parts)))
        case Some(parts, order):
            return Some(tuple(map(without_codes, parts)), order)
        case Opposite(inner):
            return Opposite(without_codes(inner))
    return condition


def _is_point(part: Condition) -> bool:
    if isinstance(part, Point | Pointer):
        return True
    return isinstance(part, Distance) and part.low == part.high is not None and part.low != 0


def _coded(shop: Workshop, codes: list[Code], rest: list[Condition]) -> AtCode:
    """Codes side by side; pairs of classes become digits too, distances the mask."""
    keys = [literal for code in codes for literal in code.keys]
    queries = [literal for code in codes for literal in code.queries]
    low, high = None, None
    pairs = []
    for part in rest:
        match part:
            case ClassPairs():
                more = _pair_digits(shop, part)
                keys += more[0]
                queries += more[1]
                pairs.append(part)
            case Distance(a, b):
                low = a if low is None else low if a is None else max(a, low)
                high = b if high is None else high if b is None else min(b, high)
            case Everything(True):
                continue
            case _:
                raise MixedError("an equality of counts goes with equalities and masks")
    order = next((code.order for code in codes if code.order is not None), None)
    if shop.causal:
        high = 0 if high is None else min(0, high)
    mask = _MASKS.get((low, high))
    if mask is None:
        raise MixedError("an equality of counts within a window of distances, which is no mask")
    return AtCode(tuple(keys), tuple(queries), mask, order, tuple(pairs))


def _pair_digits(shop: Workshop, pairs: ClassPairs) -> tuple[list[Literal], list[Literal]]:
    """Numbers of the classes, in binary, the same on both sides."""
    for k, query in enumerate(pairs.queries):
        if not all(shop.exclude(query, other) for other in pairs.queries[:k]):
            raise MixedError("an equality of counts with a predicate that is no equality")
    numbered = list(enumerate(zip(pairs.keys, pairs.queries, strict=True), start=1))
    count = len(numbered).bit_length()
    keys = [shop.either(k for n, (k, _) in numbered if n >> b & 1) for b in range(count)]
    queries = [shop.either(q for n, (_, q) in numbered if n >> b & 1) for b in range(count)]
    # Number 0 is no class: such keys are told apart by a digit of their own.
    keys += [shop.either(pairs.keys), TRUE]
    queries += [TRUE, shop.either(pairs.queries)]
    return keys, queries


def _pairs_alone(shop: Workshop, condition: Condition) -> ClassPairs:
    """The condition by classes of keys and nothing else."""
    condition = one_by_one(shop, condition, distances=True)
    leaves = [leaf for leaf in _leaves(condition) if isinstance(leaf, ClassPairs)]
    classes = _key_classes(shop, list(dict.fromkeys(leaves)))
    everywhere = DistanceWindow(None, None)
    queries = [_query(shop, condition, chosen, everywhere) for _, chosen, _ in classes]
    return ClassPairs(tuple(key for key, _, _ in classes), tuple(queries))


# Masks


def _masked(shop: Workshop, condition: Condition) -> Masked:
    leaves = [leaf for leaf in _leaves(condition) if isinstance(leaf, ClassPairs)]
    classes = _key_classes(shop, list(dict.fromkeys(leaves)))
    cells = _cells(condition)
    together: dict[tuple[Where, bool], list[tuple[Literal, Literal]]] = {}
    for key, chosen, single in classes:
        queries = [
            FALSE
            if shop.causal and cell.low is not None and cell.low > 0
            else _query(shop, condition, chosen, cell)
            for cell in cells
        ]
        for where, query in _joined(cells, queries):
            if query != FALSE:
                together.setdefault((where, single), []).append((key, query))
    parts = tuple(
        Part(where, tuple(k for k, _ in pairs), tuple(q for _, q in pairs), single)
        for (where, single), pairs in together.items()
    )
    return Masked(parts, _order(condition, parts))


def _order(condition: Condition, parts: tuple[Part, ...]) -> Order | None:
    """What equal widths of this selector say of two positions."""
    if isinstance(condition, ClassPairs | Some) and condition.order is not None:
        return condition.order
    match parts:
        case [Part("<" | ">", keys, queries, _)] if keys == queries:
            return Order(within=keys)  # numbers the positions of each class
    return None


def _leaves(condition: Condition) -> list[Condition]:
    match condition:
        case All(parts) | Some(parts):
            return [leaf for part in parts for leaf in _leaves(part)]
        case Opposite(inner):
            return _leaves(inner)
    return [condition]


def _key_classes(
    shop: Workshop, leaves: list[ClassPairs]
) -> list[tuple[Literal, dict[ClassPairs, int], bool]]:
    """(bit, which key of each leaf holds, at one position only) for all classes of keys."""
    classes: list[tuple[Literal, dict[ClassPairs, int], bool]] = [(TRUE, {}, False)]
    for leaf in leaves:
        rest = ~shop.either(leaf.keys)
        finer = []
        for bit, chosen, single in classes:
            for k, key in enumerate(leaf.keys):
                finer.append((shop.both(bit, key), {**chosen, leaf: k}, single or leaf.single))
            finer.append((shop.both(bit, rest), chosen, single))
        classes = [entry for entry in finer if entry[0] != FALSE]
        if len(classes) > MOST_KEYS:
            raise shop.fault(f"more than {MOST_KEYS} classes of keys")
    return classes


def _cells(condition: Condition) -> list[DistanceWindow]:
    """Ranges of distances that the condition treats alike: cut at 0 and at every bound in it."""
    starts = {0, 1}
    for leaf in _leaves(condition):
        if isinstance(leaf, Distance):
            if leaf.low is not None:
                starts.add(leaf.low)
            if leaf.high is not None:
                starts.add(leaf.high + 1)
    ordered = sorted(starts)
    ends = [start - 1 for start in ordered]
    lows = [None, *ordered]
    highs = [*ends, None]
    return [DistanceWindow(low, high) for low, high in zip(lows, highs, strict=True)]


def _query(
    shop: Workshop, condition: Condition, chosen: dict[ClassPairs, int], cell: DistanceWindow
) -> Literal:
    """Which queries select a class of keys in a cell."""
    match condition:
        case Everything(value):
            return TRUE if value else FALSE
        case ClassPairs():
            return condition.queries[chosen[condition]] if condition in chosen else FALSE
        case Distance(low, high):
            return TRUE if _inside(low, high, cell) else FALSE
        case All(parts):
            return shop.both(*(_query(shop, part, chosen, cell) for part in parts))
        case Some(parts):
            return shop.either(_query(shop, part, chosen, cell) for part in parts)
        case Opposite(inner):
            return ~_query(shop, inner, chosen, cell)
        case _:
            raise MixedError(
                "a position that depends on i, or an equality of counts, goes with other "
                "conditions by `and`"
            )


def _inside(low: int | None, high: int | None, cell: DistanceWindow) -> bool:
    """Does the cell lie in low <= j - i <= high? It never lies there in part."""
    above = low is None or (cell.low is not None and cell.low >= low)
    below = high is None or (cell.high is not None and cell.high <= high)
    return above and below


def _joined(cells: list[DistanceWindow], queries: list[Literal]) -> list[tuple[Where, Literal]]:
    """Neighbouring cells with the same queries, as masks where they are some."""
    joined: list[tuple[Where, Literal]] = []
    start = 0
    for at in range(1, len(cells) + 1):
        if at == len(cells) or queries[at] != queries[start]:
            ends = (cells[start].low, cells[at - 1].high)
            where: Where = "=" if ends == (0, 0) else _MASKS.get(ends) or DistanceWindow(*ends)
            joined.append((where, queries[start]))
            start = at
    return joined


def selector_of(shop: Workshop, part: Part) -> Selector:
    assert part.where != "=" and not isinstance(part.where, DistanceWindow)
    table = tuple((k, k) for k in range(len(part.keys)))
    return Selector(part.queries, part.keys, table, part.where, shop.longest)
