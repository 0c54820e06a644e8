"""Functions of the position i and the length n: at which positions they have which value.

Such a function is tried on every pair that occurs, so what is said of it is exact. It is written
as a function of one affine number where it is one (i - n, say, or 2i - n: the first half), of such
a number and the parities of i and n, or else by the binary digits of i and n.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softhat.frontends.rasp.cubes import cubes_of
from softhat.frontends.rasp.number_functions import digit_table, plain, positions_of
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.values import (
    Categories,
    CountForm,
    Known,
    Placed,
    Quantity,
    exact,
    is_number,
    tagged,
)
from softhat.frontends.rasp.workshop import MOST_ENTRIES, Workshop
from softhat.program.literals import FALSE, TRUE, Literal

Ints = NDArray[np.int64]
MOST_PLACES = 200_000
"""Pairs of a position and a length on which a function is tried: to length 632."""
_DIRECTIONS = ((1, 0), (0, 1), (1, -1), (2, -1), (1, 1), (2, 1), (1, -2), (3, -1), (3, -2))
"""Affine numbers a·i + b·n, as (a, b): a function may depend on one of them alone."""
_I, _N = CountForm({}, position=exact(1)), CountForm({}, length=exact(1))


def occurring(shop: Workshop, position: bool, length: bool) -> tuple[Ints, Ints]:
    """All positions and lengths that go together; 0 for what does not count."""
    one = np.arange(1, shop.longest + 1)
    if position and length:
        pairs = shop.longest * (shop.longest + 1) // 2
        if pairs > MOST_PLACES:
            raise shop.fault(
                f"a function of position and length would have to be tried on {pairs:,} pairs, and "
                f"{MOST_PLACES:,} are the most: use + - and comparisons of them, or compile to a "
                "max_length of 632"
            )
        return np.concatenate([one[:n] for n in one]), np.repeat(one, one)
    if position:
        return one, np.zeros_like(one)
    if length:
        return np.zeros_like(one), one
    return np.zeros(1, np.int64), np.zeros(1, np.int64)


def tried(shop: Workshop, f: Callable[..., Value], *sides: CountForm | Placed) -> Known:
    """`f` of functions of i and n, as the simplest kind of knowledge."""
    position, length = (any(bool(getattr(s, of)) for s in sides) for of in ("position", "length"))
    i, n = occurring(shop, position, length)
    rows = zip(*(column(side, i, n) for side in sides), strict=True)
    known: dict[Hashable, Value] = {}

    def answer(row: tuple[Value, ...]) -> Value:
        if any(value is None for value in row):
            return None
        tag = tuple(map(tagged, row))
        if tag not in known:
            known[tag] = shop.apply(f, *row)
        return known[tag]

    placed = Placed(tuple(map(answer, rows)), position, length)
    if len({tagged(value) for value in placed.values}) <= 2:
        return categories_at(shop, placed)
    return _plane(shop, placed, i, n) or placed


def column(side: CountForm | Placed, i: Ints, n: Ints) -> Sequence[Value]:
    """The values of one function at given places."""
    if isinstance(side, CountForm):
        if side.scale == 1:
            a, b, c = int(side.position), int(side.length), int(side.constant)
            return (a * i + b * n + c).tolist()
        pairs = zip(i.tolist(), n.tolist(), strict=True)
        return [plain(side.position * x + side.length * y + side.constant) for x, y in pairs]
    if side.position and side.length:
        at = n * (n - 1) // 2 + i - 1
    elif side.position or side.length:
        at = (i if side.position else n) - 1
    else:
        at = np.zeros_like(i)
    return [side.values[k] for k in at.tolist()]


def _plane(shop: Workshop, placed: Placed, i: Ints, n: Ints) -> Quantity | None:
    """The function as an affine number, if it is one."""
    if not all(is_number(v) and not isinstance(v, bool) for v in placed.values):
        return None
    values = list(map(exact, placed.values))
    at = dict(zip(zip(i.tolist(), n.tolist(), strict=True), values, strict=True))
    if shop.longest < 3:
        return None
    a = b = Fraction(0)
    if placed.position:
        far = 3 if placed.length else 0
        a = at[2, far] - at[1, far]
    if placed.length:
        near = 1 if placed.position else 0
        b = at[near, 3] - at[near, 2]
    first = (int(i[0]), int(n[0]))
    form = CountForm({}, a, b, at[first] - a * first[0] - b * first[1])
    if any(a * x + b * y + form.constant != v for (x, y), v in at.items()):
        return None
    return shop.number(form)


def categories_at(shop: Workshop, placed: Placed) -> Categories:
    """One bit for each value of a function of i and n."""
    numbers: dict[Hashable, int] = {}
    labels = np.array([numbers.setdefault(tagged(v), len(numbers)) for v in placed.values])
    bits = where(shop, labels, placed.position, placed.length)
    values = {tagged(v): v for v in placed.values}
    pairs = [(values[tag], bits[label]) for tag, label in numbers.items()]
    return shop.categories(pairs, all(v is not None for v in placed.values))


def where(shop: Workshop, labels: Ints, position: bool, length: bool) -> dict[int, Literal]:
    """For each label a bit that says where it is."""
    i, n = occurring(shop, position, length)
    if labels.min() == labels.max():
        return {int(labels[0]): TRUE}
    if not (position and length):
        return _bits(shop, _I if position else _N, (i if position else n).tolist(), labels.tolist())
    for a, b in _DIRECTIONS:
        if _decides(a * i + b * n, labels):
            form = CountForm({}, exact(a), exact(b))
            return _bits(shop, form, (a * i + b * n).tolist(), labels.tolist())
    for a, b in _DIRECTIONS:
        if _decides(4 * (a * i + b * n) + 2 * (i % 2) + n % 2, labels):
            return _by_parity(shop, labels, a, b, i, n)
    return _by_digits(shop, labels, i, n)


def _decides(number: Ints, labels: Ints) -> bool:
    """Is the label a function of the number?"""
    _, group = np.unique(number, return_inverse=True)
    least = np.full(group.max() + 1, labels.max())
    most = np.zeros_like(least)
    np.minimum.at(least, group, labels)
    np.maximum.at(most, group, labels)
    return bool((least == most).all())


def _bits(
    shop: Workshop, form: CountForm, numbers: list[int], labels: list[int]
) -> dict[int, Literal]:
    known = dict(zip(numbers, labels, strict=True))
    few = positions_of(shop, form, known.get)
    return dict(zip(few.values, few.bits, strict=True))


def _by_parity(
    shop: Workshop, labels: Ints, a: int, b: int, i: Ints, n: Ints
) -> dict[int, Literal]:
    form = CountForm({}, exact(a), exact(b))
    odd = {0: shop.position_digit(_I, 0), 1: shop.position_digit(_N, 0)}
    parts: dict[int, list[Literal]] = {}
    for p in (0, 1):
        for q in (0, 1):
            here = (i % 2 == p) & (n % 2 == q)
            parity = shop.both(odd[0] if p else ~odd[0], odd[1] if q else ~odd[1])
            numbers, chosen = (a * i + b * n)[here], labels[here]
            if not len(chosen):
                continue
            if chosen.min() == chosen.max():
                parts.setdefault(int(chosen[0]), []).append(parity)
                continue
            for label, bit in _bits(shop, form, numbers.tolist(), chosen.tolist()).items():
                parts.setdefault(label, []).append(shop.both(parity, bit))
    return {label: shop.either(bits) for label, bits in parts.items()}


def _by_digits(shop: Workshop, labels: Ints, i: Ints, n: Ints) -> dict[int, Literal]:
    """A table of the binary digits of i and n."""
    count = shop.longest.bit_length()
    codes = (n << count) + i
    covers = cubes_of(codes, labels, 2 * count)
    rows = sum(map(len, covers.values()))
    if rows > MOST_ENTRIES:
        raise shop.fault(f"a table of {rows:,} rows; {MOST_ENTRIES:,} are the most")
    digits = [shop.position_digit(form, bit) for form in (_I, _N) for bit in range(count)]
    return {label: digit_table(shop, digits, cubes) for label, cubes in covers.items()}


# Pointers

MOST_PIECES = 4
"""A pointer may consist of so many numbers; one of more pieces is a table of digits."""


class Piece(NamedTuple):
    """⌊(a·i + b·n + c) / 2^halved⌋."""

    a: int
    b: int
    c: int
    halved: int

    def at(self, i: Ints, n: Ints) -> Ints:
        return (self.a * i + self.b * n + self.c) >> self.halved

    def digit(self, shop: Workshop, bit: int) -> Literal:
        """Halving leaves out the lowest digit."""
        form = CountForm({}, exact(self.a), exact(self.b), exact(self.c))
        return shop.position_digit(form, bit + self.halved)


def pointer_digits(
    shop: Workshop, targets: Ints, position: bool, length: bool
) -> tuple[tuple[Literal, ...], Literal]:
    """The binary digits of a position that i and n determine, and whether there is one (0: none).

    A pointer is some affine numbers or halves of them, each where a function of i and n says so:
    mirrored halves are two. If that does not fit, every digit is a function by itself.
    """
    i, n = occurring(shop, position, length)
    count = shop.longest.bit_length()
    pieces, labels = _pieces(i, n, targets, length)
    if not pieces:
        digits = tuple(
            where(shop, (targets >> bit) & 1, position, length).get(1, FALSE)
            for bit in range(count)
        )
        return digits, where(shop, (targets > 0).astype(np.int64), position, length).get(1, FALSE)
    here = where(shop, labels, position, length)
    digits = tuple(
        shop.either(
            shop.both(when, pieces[label - 1].digit(shop, bit))
            for label, when in here.items()
            if label
        )
        for bit in range(count)
    )
    return digits, ~here.get(0, FALSE)


def _pieces(i: Ints, n: Ints, targets: Ints, length: bool) -> tuple[list[Piece], Ints]:
    """A few numbers that are the targets between them, and at each place the label of one, from 1;
    0 is no position. No pieces if many would be needed."""
    for halved in (0, 1):
        labels = np.where(targets > 0, -1, 0)
        pieces: list[Piece] = []
        while (labels < 0).any() and len(pieces) < MOST_PIECES:
            open_ = labels < 0
            pieces.append(_best_piece(i[open_], n[open_], targets[open_], length, halved))
            labels[open_ & (pieces[-1].at(i, n) == targets)] = len(pieces)
        if not (labels < 0).any():
            return pieces, labels
    return [], labels


def _best_piece(i: Ints, n: Ints, targets: Ints, length: bool, halved: int) -> Piece:
    """The piece that is the target at most places; of equals that with the smallest factors."""
    most = 2 << halved
    slopes = [(a, b) for a in range(-most, most + 1) for b in range(-most, most + 1)]
    slopes = sorted(slopes, key=lambda slope: abs(slope[0]) + abs(slope[1]))
    best, places = Piece(0, 0, 0, halved), 0
    for a, b in slopes:
        if b and not length:
            continue
        rest = (targets << halved) - a * i - b * n
        for c in (rest, rest + 1) if halved else (rest,):
            constants, counts = np.unique(c, return_counts=True)
            piece = Piece(a, b, int(constants[counts.argmax()]), halved)
            there = int((piece.at(i, n) == targets).sum())
            if there > places:
                best, places = piece, there
    return best


def places_of(known: Known) -> CountForm | Placed | None:
    """What depends on position and length alone."""
    if isinstance(known, Placed):
        return known
    return known.affine if isinstance(known, Quantity) else None


def words_of_places(shop: Workshop, length: bool) -> Iterator[tuple[int, range]]:
    """The lengths that matter, each with its positions; without `length` the longest alone."""
    for n in range(1, shop.longest + 1) if length else [shop.longest]:
        yield n, range(1, n + 1)
