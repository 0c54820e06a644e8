"""Does a function hold at some position of some word? By visiting every state of a word.

This is how the checker accepts that weights compute a formula in other words than it is written
in: it believes nobody who rewrote it, and asks where the two differ. What must be remembered
between two positions is little:

* for `bad S value` its value at the position before, for `Y f` the value of f there;
* for `bad U value` and `X f` their values at the next position, promised now and held against
  what is there (at the last position `U` has none and `X` is false);
* where the position is, as far as `mod` and predicates with a period tell;
* the sum of what the positions behind add to a comparison, as far as it matters (`sums`).

A *state* is all of that. The states that words lead to are enumerated until there is no new one,
so the answer is about words of every length. Any other atom may take any value at any position,
except that comparisons keep what their linear forms say of each other: where T' - T is never
negative, T >= 0 implies T' >= 0. So "nowhere" is a proof, and anything else is no disproof. Words
may be read from their end: then what looks ahead is remembered, and what looks back promised.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import combinations
from types import MappingProxyType

import numpy as np

from softhat.proof.atoms import Atoms, Direction
from softhat.proof.boolean import Key, Space
from softhat.proof.places import held_at, period_of
from softhat.proof.situations import (
    Bools,
    Codes,
    LeftOpenError,
    Situations,
    StateLayout,
    Values,
    bit_of,
    distinct,
    new_ones,
)
from softhat.proof.sums import Kept, Weights, form_of, is_comparison, kept_sum

_CHUNK = 1 << 17
"""Situations that are looked at together …"""
_MANY = 1 << 20
"""… where few of them are possible."""
_MOST_GUESSES = 14
"""Bits that are guessed at one position."""
_MOST_PLACES = 1 << 12
"""Positions that are told from each other."""
_EDGES: dict[Direction, tuple[Key, Key]] = {
    "past": (("first",), ("last",)),
    "future": (("last",), ("first",)),
}
"""The position that is read first, and the one that is read last."""
Renamed = Mapping[Key, int]
"""For comparisons the function that says the same of other counts."""
NO_NAMES: Renamed = MappingProxyType({})


def atoms_below(
    atoms: Atoms,
    functions: Iterable[int],
    free: frozenset[Key] = frozenset(),
    renamed: Renamed = NO_NAMES,
) -> set[Key]:
    """All atoms of functions, and of what these read, but not of what those in `free` read."""
    keys: set[Key] = set()
    todo = [key for f in functions for key in atoms.space.atoms_in(f)]
    while todo:
        key = todo.pop()
        if key not in keys:
            keys.add(key)
            if key not in free:
                reads = [renamed[key]] if key in renamed else operands(key)
                todo += [below for f in reads for below in atoms.space.atoms_in(f)]
    return keys


def is_temporal(key: Key) -> bool:
    return key[0] in ("since", "previous")


def operands(key: Key) -> list[int]:
    """The functions that an atom reads, at this position or at another."""
    match key:
        case ("since", _, bad, value):
            return [bad, value]
        case ("previous", _, value):
            return [value]
        case ("at least", counts, _, _, _):
            return [f for (_, f), _ in counts]
    return []


class WordSearch:
    """Does a function hold at some position of some word?"""

    def __init__(
        self, atoms: Atoms, function: int, free: frozenset[Key], renamed: Renamed, work: int
    ) -> None:
        self.atoms, self.space, self.function, self.work = atoms, atoms.space, function, work
        every = atoms_below(atoms, [function], free, renamed)
        self.behind, self.sums = _direction(atoms, every - renamed.keys(), free)
        self.edges = _EDGES[self.behind]
        # What is counted by comparisons that may take any value does not matter.
        any_value = {k for k in every if is_comparison(k) and k not in self.sums} - renamed.keys()
        keys = atoms_below(atoms, [function], free | any_value, renamed)
        plain = keys - renamed.keys()
        self.renamed = {key: renamed[key] for key in keys & renamed.keys()}
        self.sums = {key: compared for key, compared in self.sums.items() if key in keys}
        self.temporal = {key for key in keys if is_temporal(key)} - free
        self.placed = self._places({key for key in keys if period_of(key) is not None})
        self.order = _in_order(self.space, self.temporal | set(self.sums), self.renamed)
        self.memories = [k for k in self.order if k in self.temporal and k[1] == self.behind]
        self.promises = [k for k in self.order if k in self.temporal and k[1] != self.behind]
        self.not_yet = [key for key, compared in self.sums.items() if compared.ahead != "nothing"]
        self.totals = [key for key in self.not_yet if self.sums[key].ahead == "the same"]
        self.ahead = bool(self.promises or self.not_yet or self.edges[1] in keys)
        inside = self.temporal | self.sums.keys() | set(self.placed) | set(self.edges)
        self.open = sorted(plain - inside, key=repr)
        self.most: dict[Weights, int] = {}
        self.slips: dict[Weights, int] = {}
        for compared in self.sums.values():
            if compared.behind:
                self.most[compared.behind] = max(self.most.get(compared.behind, 0), compared.most)
                self.slips[compared.behind] = compared.slip.bit_length()
        self.guessed = len(self.open) + len(self.not_yet) + sum(self.slips.values())
        if self.guessed > _MOST_GUESSES:
            raise LeftOpenError
        self.layout = StateLayout()
        self.layout.add("place", self.start + self.period)
        for part, most in self.most.items():
            self.layout.add(part, 2 * most)
        for key in (*self.memories, *self.promises, *self.totals):
            self.layout.add(key, 1)
        read = {f for key in self.order for f in operands(key)} | set(self.renamed.values())
        self.letters = np.array(
            [0] if self.space.propositional else self.space.symbol_classes([function, *read])
        )
        self.clauses = list(_clauses(atoms, sorted(filter(is_comparison, plain), key=repr)))
        self.known = [*self.open, *self.edges, *self.placed, *self.order]
        self.spent = 0
        self.promised = self._promised()
        self.together = [
            distinct(self.promised & ((2 << at) - 1)) for at in range(len(self.promises))
        ]
        """The first promises, as they can be made at once."""

    def _places(self, placed: set[Key]) -> list[Key]:
        """Positions that look alike: after `start` those that are `period` apart."""
        self.start, self.period = 0, 1
        told: list[Key] = []
        for key in sorted(placed, key=repr):
            start, period = period_of(key) or (0, 1)
            start, period = max(self.start, start), math.lcm(self.period, period)
            if start + period <= _MOST_PLACES:
                self.start, self.period = start, period
                told.append(key)
        return told

    def never(self) -> bool:
        """Whether the function holds nowhere, in no word."""
        fresh = np.zeros(1, np.int64)
        known = np.zeros(0, np.int64)
        first = True
        while len(fresh):
            reached = []
            for states in self._chunks(fresh, len(self.promised) << self.guessed, _MANY):
                if self.ahead and self._wrong(self._position(states, first, last=True)).any():
                    return False
                after = self._after(self._position(states, first, last=False))
                if not self.ahead and (after & 1).any():
                    return False
                reached.append(after)
            fresh = new_ones(np.concatenate(reached), known)
            known = np.sort(np.concatenate([known, fresh]))
            first = False
        return True

    def _chunks(self, states: Codes, guesses: int, most: int) -> Iterator[Codes]:
        """States a few at a time, as long as there is work left: possible or not, each counts with
        every letter and guess."""
        cost = len(self.letters) * guesses
        each = max(1, most // cost)
        for at in range(0, len(states), each):
            chunk = states[at : at + each]
            left = (self.work - self.spent) // cost
            self.spent += len(chunk) * cost
            if left < len(chunk):
                yield from (chunk[:left],) if left else ()
                raise LeftOpenError
            yield chunk

    def _position(self, states: Codes, first: bool, last: bool) -> Situations:
        """One more position after each of the states, the last one or not: all that is possible."""
        guesses = self.open if last else [*self.open, *self.not_yet]
        drawn_at = {key: at for at, key in enumerate(guesses)}
        promise_at = {key: at for at, key in enumerate(self.promises)}
        now = Situations(states, self.letters, np.arange(1 << len(guesses)), self.known)
        for key in self.open:
            now.put(key, bit_of(now.drawn, drawn_at[key]))
        for edge, here in zip(self.edges, (first, last), strict=True):
            now.put(edge, np.full(1, here))
        place = self._next_place(self.layout.get(now.before, "place"))
        for key in self.placed:
            now.put(key, held_at(key, self.start + self.period)[place])
        for key in self.order:
            if key in self.renamed:
                now.put(key, self.space.values(self.renamed[key], now.letters, now.values))
            elif key in self.sums:
                reached = self._sum(self.sums[key], now)
                value = bit_of(now.drawn, drawn_at[key]) if key in drawn_at else reached
                now.put(key, value)
                match self.sums[key].ahead:
                    case "more":
                        now.keep(value | ~reached)
                    case "less":
                        now.keep(~value | reached)
                if not first and key in self.totals:
                    now.keep(self.layout.holds(now.before, key) == now.values[key])
            elif key not in promise_at:
                beside = self.layout.holds(now.before, key)
                now.put(key, _recurrence(self.space, key, now.letters, now.values, beside))
            else:
                promises = (False,) if last else (False, True)
                ways = [self._way(key, now, promised, first) for promised in promises]
                at = promise_at[key]
                now.promise(at, self.together[at], key, ways)
        for (one, x), (other, y) in self.clauses:
            now.keep((now.values[one] == x) | (now.values[other] == y))
        return now

    def _way(self, key: Key, now: Situations, beside: bool, first: bool) -> tuple[Bools, Bools]:
        """An atom's value here by what is promised, and where that is what was promised before."""
        value = _recurrence(self.space, key, now.letters, now.values, np.full(1, beside))
        if first:
            return value, np.ones(1, np.bool_)
        seen = self._seen(key, now.letters, {**now.values, key: value})
        return value, self.layout.holds(now.before, key) == seen

    def _wrong(self, now: Situations) -> Bools:
        """Where the function holds, or held before."""
        return bit_of(now.before, 0) | self.space.values(self.function, now.letters, now.values)

    def _after(self, now: Situations) -> Codes:
        """The states after a position that is not the last one."""
        place = self._next_place(self.layout.get(now.before, "place"))
        after = self.layout.put(self._wrong(now).astype(np.int64), "place", place)
        for key in self.memories:
            after = self.layout.put(after, key, self._seen(key, now.letters, now.values))
        for key in self.totals:
            after = self.layout.put(after, key, now.values[key])
        for at, key in enumerate(self.promises):
            after = self.layout.put(after, key, bit_of(now.promised, at))
        every = after[None]  # a row for each way to slip
        for part, width in self.slips.items():
            moved = self._moved(part, np.arange(1 << width)[:, None], now)
            every = np.concatenate(self.layout.put(every[:, None], part, moved))
        return distinct(every)

    def _seen(self, key: Key, letters: Codes, values: Values) -> Bools:
        """What the neighbour of this position needs to know of it."""
        if key[0] == "previous":
            return self.space.values(key[2], letters, values)
        return values[key]

    def _behind(self, part: Weights, before: Codes) -> Codes:
        """What positions behind have added; `most` or more is stored as `most`, likewise below."""
        at_start = self.layout.get(before, "place") == 0
        return np.where(at_start, 0, self.layout.get(before, part) - self.most[part])

    def _sum(self, compared: Kept, now: Situations) -> Bools:
        """A comparison by what is behind this position and what is here."""
        total = np.zeros(1, np.int64)
        if compared.behind:
            total = total + self._behind(compared.behind, now.before)
        for f, a in compared.here:
            total = total + a * self.space.values(f, now.letters, now.values)
        return np.asarray(total >= compared.least)

    def _moved(self, part: Weights, slip: Codes, now: Situations) -> Codes:
        """A sum with what this position adds, as far as it is remembered. Coming back from beyond
        that it may be anywhere within the step: `slip` further out than the nearest."""
        most = self.most[part]
        total = self._behind(part, now.before)
        added = np.zeros(1, np.int64)
        for f, a in part:
            added = added + a * self.space.values(f, now.letters, now.values)
        beyond = np.where(total == most, slip, np.where(total == -most, -slip, 0))
        return np.clip(total + added + beyond, -most, most) + most

    def _next_place(self, place: Codes) -> Codes:
        """Places are 1 … start + period; 0 before the first position."""
        following = place + 1
        return np.where(following > self.start + self.period, following - self.period, following)

    def _promised(self) -> Codes:
        """What can be promised at once: the values that some rest of a word has.

        The rest is read from its other end, where nothing is promised; all that is not promised
        may take any value, so that no true promise is missing.
        """
        layout = StateLayout(bits=0)
        for key in self.promises:
            layout.add(key, 1)
        inside = set(self.promises)
        read = {below for key in inside for f in operands(key) for below in self.space.atoms_in(f)}
        others = sorted(read - inside, key=repr)
        if len(others) > _MOST_GUESSES:
            raise LeftOpenError
        known = fresh = np.zeros(1, np.int64)
        while len(fresh) and self.promises:
            reached = []
            for states in self._chunks(fresh, 1 << len(others), _CHUNK):
                drawn_of = np.arange(1 << len(others))
                before, letters, drawn = np.ix_(states, self.letters, drawn_of)
                values = {k: (drawn >> at & 1).astype(np.bool_) for at, k in enumerate(others)}
                for key in self.promises:
                    beside = layout.holds(before, key)
                    values[key] = _recurrence(self.space, key, letters, values, beside)
                after = np.zeros((1, 1, 1), np.int64)
                for key in self.promises:
                    after = layout.put(after, key, self._seen(key, letters, values))
                reached.append(distinct(after))
            fresh = new_ones(np.concatenate(reached), known)
            known = np.sort(np.concatenate([known, fresh]))
        return known


def _recurrence(space: Space, key: Key, letters: Codes, values: Values, beside: Bools) -> Bools:
    """`bad S value` is value | bad & (bad S value beside it); `Y f` is f beside it."""
    if key[0] == "previous":
        return beside
    bad, value = (space.values(f, letters, values) for f in key[2:])
    return value | (bad & beside)


def _in_order(space: Space, inner: set[Key], renamed: Renamed) -> list[Key]:
    """Each atom after those that it reads."""
    reads: dict[Key, list[Key]] = {}
    for key in sorted(inner | renamed.keys(), key=repr):
        functions = [renamed[key]] if key in renamed else operands(key)
        below = {read for f in functions for read in space.atoms_in(f)}
        reads[key] = sorted(below & (inner | renamed.keys()), key=repr)
    return list(TopologicalSorter(reads).static_order())


def _direction(
    atoms: Atoms, keys: set[Key], free: frozenset[Key]
) -> tuple[Direction, dict[Key, Kept]]:
    """From which end to read, so that least has to be guessed; and the comparisons that finitely
    many states tell then. Places are counted from the first position."""
    ways: list[Direction] = ["past", "future"]
    if any(period_of(key) is not None for key in keys):
        ways = ["past"]
    told: dict[Direction, dict[Key, Kept]] = {}
    for way in ways:
        comparisons = ((key, kept_sum(atoms.space, key, way)) for key in keys if is_comparison(key))
        told[way] = {key: compared for key, compared in comparisons if compared is not None}

    def guesses(way: Direction) -> int:
        promised = sum(is_temporal(key) and key[1] != way for key in keys - free)
        return promised - sum(compared.ahead == "nothing" for compared in told[way].values())

    best = min(ways, key=guesses)
    return best, told[best]


Literal = tuple[Key, bool]


def _clauses(atoms: Atoms, keys: Sequence[Key]) -> Iterator[tuple[Literal, Literal]]:
    """Of two comparisons what always holds: the one has this value, or the other that one."""
    for one, other in combinations(keys, 2):
        for x in (True, False):
            for y in (True, False):
                # Where the one is not x the other is y: its form less that of the first is >= 0.
                small, large = form_of(one, not x), form_of(other, y)
                if atoms.decided(large.plus(small, -1), 0):
                    yield (one, x), (other, y)
