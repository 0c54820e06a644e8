"""Heads that read by rank: does every position have a code of its own? As `proofs/Ranked.v` asks.

A code holds the digits of a count. Of two positions with the same code one must count all that the
other counts, and the other too, so that their counts differ. That is seen by cases of what may be
at a position: of which leaves of the gates hold there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product

from softhat.program.gates import And, Steps, Total, Xor
from softhat.program.heads import At, Average, Mask, Previous, Selector, Sign, Terms, Width
from softhat.program.inputs import TokenIn
from softhat.program.literals import Literal
from softhat.program.signals import Program, Signal

MOST_LEAVES, MOST_FREE = 40, 12
"""With more leaves, or more that are no symbols, there could be too many cases."""
_Case = Mapping[int, bool]
"""What leaves are at a position."""
_Bits = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class _Rule:
    """A position counts those that it sees with this key, if the query holds where it is."""

    query: Literal
    key: Literal
    mask: Mask

    def counts(self, order: int, query: bool, key: bool) -> bool:
        """Does one count another one that stands before it (-1), there (0) or after it (1)?"""
        return query and key and order in _SEEN[self.mask]


_SEEN: dict[Mask, tuple[int, ...]] = {
    "<=": (-1, 0),
    "<": (-1,),
    ">=": (0, 1),
    ">": (1,),
    "none": (-1, 0, 1),
}
_COMPLEMENTARY = ({"<", ">="}, {"<=", ">"})


@dataclass(frozen=True, slots=True)
class _Sight:
    """What a position has in the code, and what it is as one that counts and that is counted."""

    code: _Bits
    query: _Bits
    key: _Bits


def never_both(a: Literal, b: Literal, program: Program) -> bool:
    """Two literals that never hold together, whatever holds of the leaves under them."""
    leaves = _leaves((a, b), program)
    return _are_few(leaves, program) and not any(
        _value(case, a, program) and _value(case, b, program)
        for case in _cases(leaves, {}, program)
    )


def chooses_itself(selector: Selector, program: Program) -> bool:
    """Does every position select itself, among others?"""
    rules = _rules_in(selector)
    leaves = _leaves([x for rule in rules for x in (rule.query, rule.key)], program)
    return _are_few(leaves, program) and all(
        any(
            rule.counts(0, _value(case, rule.query, program), _value(case, rule.key, program))
            for rule in rules
        )
        for case in _cases(leaves, {}, program)
    )


def own_rank(head: At, program: Program, longest: int) -> bool:
    """Does the head read one position at most, because its code holds a count?"""
    digits = [_digit(key, program) for key in head.keys]
    counts = [digit.count for digit in digits if digit is not None]
    rules = _rules(counts[0], program) if counts else None
    if rules is None:
        return False
    turns = [digit.turns for digit in digits if digit is not None and digit.count == counts[0]]
    if not _tell_apart(turns, longest):
        return False
    plain = [at for at, digit in enumerate(digits) if digit is None]
    asked, held = [head.queries[at] for at in plain], [head.keys[at] for at in plain]
    queries, keys = [rule.query for rule in rules], [rule.key for rule in rules]
    wanting, having = _leaves(asked, program), _leaves((*held, *queries, *keys), program)
    if not (_are_few(wanting, program) and _are_few(having, program)):
        return False
    for world in _worlds((*wanting, *having), program):
        wanted = {_bits(case, asked, program) for case in _cases(wanting, world, program)}
        sights = {
            _Sight(*(_bits(case, literals, program) for literals in (held, queries, keys)))
            for case in _cases(having, world, program)
        }
        seen = [sight for sight in sights if sight.code in wanted]
        others = {
            _bits(case, keys, program) for case in _cases(_leaves(keys, program), world, program)
        }
        for j, k in product(seen, repeat=2):
            if j.code == k.code and not _counts_more(rules, j, k, others):
                return False
    return True


# Counts


def _digit(key: Literal, program: Program) -> Steps | None:
    """The digit of a count that a key is."""
    signal = program.signals[key.signal] if key.signal >= 0 and key.positive else None
    return signal if isinstance(signal, Steps) else None


def _rules(count: int, program: Program) -> list[_Rule] | None:
    """What is counted, if no position is counted twice."""
    match program.signals[count]:
        case Width() as width:
            return _rules_in(width.selector)
        case Total(((1, a), (1, b))):
            one, other = program.signals[a], program.signals[b]
            assert isinstance(one, Width) and isinstance(other, Width)
            if {one.selector.mask, other.selector.mask} in _COMPLEMENTARY:
                return [*_rules_in(one.selector), *_rules_in(other.selector)]
    return None


def _rules_in(selector: Selector) -> list[_Rule]:
    return [_Rule(selector.queries[q], selector.keys[k], selector.mask) for q, k in selector.table]


def _tell_apart(turns: Sequence[Sequence[int]], most: int) -> bool:
    """Are the digits of all counts up to `most` different?"""
    codes = {tuple(sum(t <= count for t in own) % 2 for own in turns) for count in range(most + 1)}
    return len(codes) == most + 1


def _counts_more(rules: Sequence[_Rule], j: _Sight, k: _Sight, others: Iterable[_Bits]) -> bool:
    """j stands before k: all that one of them counts the other counts, too, and it besides."""

    def counted(by: _Sight, order: int, key: _Bits) -> bool:
        return any(
            rule.counts(order, *pair)
            for rule, pair in zip(rules, zip(by.query, key, strict=True), strict=True)
        )

    def more(few: _Sight, many: _Sight, here: int, there: int) -> bool:
        """`there` is where `few` stands as `many` sees it, and `here` the reverse."""
        return (
            not counted(few, 0, few.key)
            and counted(many, there, few.key)
            and counted(few, here, many.key) <= counted(many, 0, many.key)
        )

    def kept(few: _Sight, many: _Sight, orders: Sequence[tuple[int, int]]) -> bool:
        return all(
            counted(few, one, key) <= counted(many, other, key)
            for key in others
            for one, other in orders
        )

    before, between, after = (-1, -1), (1, -1), (1, 1)
    return (more(j, k, 1, -1) and kept(j, k, (before, between, after))) or (
        more(k, j, -1, 1) and kept(k, j, (before, (-1, 1), after))
    )


# Cases


def _are_few(leaves: Sequence[int], program: Program) -> bool:
    free = sum(not isinstance(program.signals[at], TokenIn) for at in leaves)
    return len(leaves) <= MOST_LEAVES and free <= MOST_FREE


def _leaves(literals: Iterable[Literal], program: Program) -> list[int]:
    """The signals under literals that are no gates, each once."""
    leaves: dict[int, None] = {}
    rest = [literal.signal for literal in literals if literal.signal >= 0]
    while rest:
        at = rest.pop()
        match program.signals[at]:
            case And(parts):
                rest += [part.signal for part in parts if part.signal >= 0]
            case Xor(left, right):
                rest += [left, right]
            case _:
                leaves[at] = None
    return list(leaves)


def _cases(leaves: Sequence[int], case: _Case, program: Program) -> Iterator[_Case]:
    """All that may hold of the leaves at one position."""
    if not leaves:
        if not _is_without_symbol(case, program):
            yield case
        return
    at, *rest = leaves
    if at in case:
        yield from _cases(rest, case, program)
        return
    for bit in (True, False):
        if not any(
            _excludes((at, bit), known, program) or _excludes(known, (at, bit), program)
            for known in case.items()
        ):
            yield from _cases(rest, {**case, at: bit}, program)


def _worlds(leaves: Sequence[int], program: Program) -> Iterator[_Case]:
    """What may hold of those leaves that are the same at every position: comparisons of counts over
    the whole word, no three of which contradict each other."""
    wide = [at for at in leaves if _whole(program.signals[at], program) is not None]
    for case in _cases(wide, {}, program):
        bounds = [_bound(at, bit, program) for at, bit in case.items()]
        if not any(_is_absurd(three) for three in combinations_with_replacement(bounds, 3)):
            yield case


def _whole(signal: Signal, program: Program) -> Terms | None:
    """The terms that a comparison adds up over the whole word, if it does."""
    match signal:
        case Sign(past=None, future=None, total=int(total), position=0, length=0):
            average = program.signals[total]
            assert isinstance(average, Average)
            return average.terms
    return None


def _bound(at: int, bit: bool, program: Program) -> tuple[Terms, int]:
    """Terms and a number: together they are at least 0."""
    sign = program.signals[at]
    terms = _whole(sign, program)
    assert isinstance(sign, Sign) and terms is not None
    if bit:
        return terms, -sign.threshold
    return tuple((-a, read) for a, read in terms), sign.threshold - 1


def _is_absurd(bounds: Iterable[tuple[Terms, int]]) -> bool:
    """Do they add up to a negative number?"""
    sums: Counter[int] = Counter()
    constant = 0
    for terms, number in bounds:
        constant += number
        for a, read in terms:
            sums[read] += a
    return constant < 0 and not any(sums.values())


def _is_without_symbol(case: _Case, program: Program) -> bool:
    """Is every symbol one of those that are not there?"""
    absent = {
        symbol
        for at, bit in case.items()
        if not bit and isinstance(signal := program.signals[at], TokenIn)
        for symbol in signal.symbols
    }
    return not program.propositional and absent >= set(program.symbols)


def _excludes(
    a: tuple[int, bool], b: tuple[int, bool], program: Program, before: bool = True
) -> bool:
    """Can these not be at one position? For `before` what they read at the one before counts."""
    match program.signals[a[0]], program.signals[b[0]]:
        case TokenIn(own), TokenIn(other):
            disjoint = not (program.propositional or set(own) & set(other))
            return a[1] and b[1] and disjoint
        case Sign() as own, Sign() as other:
            alike = replace(own, threshold=0) == replace(other, threshold=0)
            return not a[1] and b[1] and alike and own.threshold <= other.threshold
        case Previous(x, d), Previous(y, e) if before and x.signal >= 0 and y.signal >= 0:
            both = a[1] and b[1] and d == e
            return both and (x == ~y or _excludes(x, y, program, before=False))
    return False


def _bits(case: _Case, literals: Iterable[Literal], program: Program) -> _Bits:
    return tuple(_value(case, literal, program) for literal in literals)


def _value(case: _Case, literal: Literal, program: Program) -> bool:
    """What a literal is, given the leaves under it."""
    if literal.signal < 0:
        return literal.positive
    return literal.positive == _bit(case, literal.signal, program)


def _bit(case: _Case, at: int, program: Program) -> bool:
    if at in case:
        return case[at]
    match program.signals[at]:
        case And(parts):
            return all(_value(case, part, program) for part in parts)
        case Xor(left, right):
            return _bit(case, left, program) != _bit(case, right, program)
    raise AssertionError("a leaf of which nothing is known")
