"""What heads compute, as canonical atoms: the common ground of weights and formulas.

The checker derives these from weights, and the claimed formula is translated to them; both say
the same exactly if they end in the same function. An atom is named by its kind and by the
numbers of the functions it reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import gcd
from typing import Literal

from softhat.io.errors import SofthatError
from softhat.numbers.predicates import Predicate
from softhat.proof.boolean import Space

Direction = Literal["past", "future"]
Range = Literal["past", "future", "total"]

FEW_BEFORE = 9
"""From this position on, and from earlier ones on, is said by `Y`."""
MOST_DIGITS = 8
"""Of a recall that is spelled out: 256 cases."""
LONGEST = 2**40
"""A comparison that no word up to this length can meet (or miss) is a constant."""


@dataclass(slots=True)
class CountSum:
    """Σ a·#(f) over ranges + position·i + length·n + constant."""

    counts: dict[tuple[Range, int], int] = field(default_factory=dict)
    position: int = 0
    length: int = 0
    constant: int = 0

    def plus(self, other: CountSum, factor: int) -> CountSum:
        counts = dict(self.counts)
        for key, a in other.counts.items():
            counts[key] = counts.get(key, 0) + factor * a
        return CountSum(
            counts,
            self.position + factor * other.position,
            self.length + factor * other.length,
            self.constant + factor * other.constant,
        )


class Atoms:
    """The atoms of one model. `longest` is the length up to which equalities used here hold."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.longest: int | None = None
        self.edge: dict[Direction, int] = {
            "past": space.atom(("first",), -2),
            "future": space.atom(("last",), -1),
        }
        """Above all other atoms: `Y` and `X` depend on them."""
        self.residues: dict[int, tuple[int, int]] = {}
        """(modulus, remainder) of the functions that are one."""

    def digit(self, bit: int, position: int, length: int, constant: int, level: int) -> int:
        """Binary digit `bit` of position·i + length·n + constant, 0 where that is negative."""
        return self.space.atom(("digit", bit, position, length, constant), level)

    def limit(self, longest: int | None) -> None:
        """Nothing is claimed beyond this length."""
        if longest is not None:
            self.longest = longest if self.longest is None else min(longest, self.longest)

    def exchange_limit(self, longest: int | None) -> int | None:
        """Another limit in place of the one that there is, which is returned."""
        before, self.longest = self.longest, longest
        return before

    def since(self, bad: int, value: int, direction: Direction, level: int) -> int:
        """`bad S value` (`bad U value`) for disjoint bad and value: what Latest computes."""
        if value == self.space.false or bad == self.space.false:
            return value
        return self.space.atom(("since", direction, bad, value), level)

    def recall(self, bad: int, digits: Iterable[tuple[int, int]], value: int, level: int) -> int:
        """`value` at the last j <= i without bad at which every digit's key is what its query is
        at i; false if there is none. Digits are (query, key); both negated say the same.

        By definition: whichever code the queries have, `value` at the last key with that code."""
        same = self.same_digits(digits)
        space, no = self.space, self.space.negation
        if len(same) > MOST_DIGITS:
            raise SofthatError(f"a recall by {len(same)} digits has 2^{len(same)} cases")
        function = space.true
        for number, code in enumerate(product((False, True), repeat=len(same))):
            asked = space.every(
                [q if bit else no(q) for (q, _), bit in zip(same, code, strict=True)]
            )
            held = space.every(
                [k if bit else no(k) for (_, k), bit in zip(same, code, strict=True)]
            )
            keys = space.both(held, no(bad))
            recalled = self.since(no(keys), space.both(keys, value), "past", level + number)
            function = space.both(function, space.either(no(asked), recalled))
        return function

    def same_digits(self, digits: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Each digit once, its query not negated."""
        no, positive = self.space.negation, self.space.polarity
        return tuple(sorted({(q, k) if positive(q) else (no(q), no(k)) for q, k in digits}))

    def residue(self, modulus: int, remainder: int, level: int) -> int:
        """`mod(modulus, remainder)`."""
        if modulus == 1:
            return self.space.true
        function = self.space.atom(("mod", modulus, remainder), level)
        self.residues[function] = (modulus, remainder)
        return function

    def holds(self, predicate: Predicate, level: int) -> int:
        """`at(predicate)`."""
        return self.space.atom(("at", predicate), level)

    def previous(self, value: int, direction: Direction, level: int) -> int:
        """`Y value` (`X value`): there is a position before, and `value` holds there.

        What an atom says where there is none does not matter, so one atom serves a function and
        its negation, and `Y !f` and `!Y f` differ at the first position only.
        """
        space = self.space
        if value == space.false:
            return value
        there = space.negation(self.edge[direction])
        if value == space.true:
            return there
        positive = space.polarity(value)
        key = ("previous", direction, value if positive else space.negation(value))
        atom = space.atom(key, level)
        return space.both(there, atom if positive else space.negation(atom))

    def at_least(self, total: CountSum, threshold: int, level: int) -> int:
        """`total >= threshold`, normalised: positive operands, coprime coefficients."""
        space = self.space
        decided = self.decided(total, threshold)
        if decided is not None:
            return space.true if decided else space.false
        plain = CountSum(position=total.position, length=total.length, constant=total.constant)
        for (over, f), a in total.counts.items():
            if f == space.false:
                continue
            if space.polarity(f) and f != space.true:
                plain.counts[over, f] = plain.counts.get((over, f), 0) + a
                continue
            plain = plain.plus(_SIZES[over], a)  # #(!f) = size of the range - #(f)
            if f != space.true:
                key = (over, space.negation(f))
                plain.counts[key] = plain.counts.get(key, 0) - a
        counts = sorted((key, a) for key, a in plain.counts.items() if a)
        position, length = plain.position, plain.length
        divisor = gcd(*(a for _, a in counts), position, length)
        if not divisor:  # #(f) + #(!f) - i is 0 everywhere
            return space.true if plain.constant >= threshold else space.false
        counts = [(key, a // divisor) for key, a in counts]
        position, length = position // divisor, length // divisor
        threshold = -((plain.constant - threshold) // divisor)
        negated = next(a for a in [*(a for _, a in counts), position, length] if a) < 0
        if negated:  # -t >= c is not t >= 1 - c
            counts = [(key, -a) for key, a in counts]
            position, length, threshold = -position, -length, 1 - threshold
        if counts or length:
            result = space.atom(("at least", tuple(counts), position, length, threshold), level)
        else:
            result = self.position_at_least(position, threshold, level)
        return space.negation(result) if negated else result

    def position_at_least(self, coefficient: int, threshold: int, level: int) -> int:
        """coefficient·i >= threshold; `Y Y true` is from the third position on."""
        if coefficient == 1 and 2 <= threshold <= FEW_BEFORE:
            before = self.space.true
            for _ in range(1, threshold):
                before = self.previous(before, "past", level)
            return before
        return self.space.atom(("at least", (), coefficient, 0, threshold), level)

    def decided(self, total: CountSum, threshold: int) -> bool | None:
        """Whether every word, or none, meets the threshold, as far as bounds tell.

        The sum is what this position adds, and what any number of positions before and after
        it add. If none of those can add less than 0, it is at least what this one adds; if none
        can add more than 0, it is at most that.
        """
        parts: dict[Range, list[tuple[Fraction, int]]] = {"past": [], "future": [], "total": []}
        parts["past"].append((Fraction(total.position), self.space.true))
        parts["total"].append((Fraction(total.length), self.space.true))
        for (over, f), a in total.counts.items():
            parts[over].append((Fraction(a), f))
        past, future, whole = parts.values()
        before, here, after = (
            self.space.range_of_sum(added)
            for added in (past + whole, past + future + whole, future + whole)
        )
        threshold -= total.constant
        if before[0] >= 0 and after[0] >= 0 and threshold <= here[0]:
            return True
        if before[1] <= 0 and after[1] <= 0 and threshold > here[1]:
            return False
        if abs(threshold) > (LONGEST + 2) * sum(map(abs, (*before, *here, *after))):
            self.limit(LONGEST)
            return threshold < 0
        return None


_SIZES: dict[Range, CountSum] = {
    "past": CountSum(position=1),
    "future": CountSum(position=-1, length=1, constant=1),
    "total": CountSum(length=1),
}
