"""Is the language star-free? By the transition monoid of its minimal automaton.

A regular language is star-free (definable in first-order logic, in temporal logic, by masked
hard attention) iff no word u permutes states of its minimal automaton in a cycle of length p > 1
(Schützenberger; McNaughton and Papert). Such a *counter* is the reason to refuse, and can be
replayed: x·u^(kp)·y and x·u^(kp+1)·y differ for every k.

A word acts on the states as one byte string, so composing actions is `bytes.translate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from softhat.frontends.regular.dfa import DFA, State, live_states, reached
from softhat.io.errors import SofthatError

MOST_LIVE = 254
"""States that can still accept: with a dead one they are numbered in bytes."""
MOST_ELEMENTS = 400_000
"""Elements of the monoid that are searched for a counter."""
MOST_TUPLES = 1_000_000
"""Beyond them: tuples of p states that are searched for a rotation, for each prime p."""


@dataclass(frozen=True, slots=True)
class Counter:
    """The loop u takes the state after the prefix x around a cycle of `period` states; the
    suffix y tells that state from the next one of the cycle. Words are indices of symbols."""

    prefix: tuple[int, ...]
    loop: tuple[int, ...]
    suffix: tuple[int, ...]
    period: int


def find_counter(dfa: DFA) -> Counter | None:
    """The counter with the shortest loop, or None if the language of a minimal DFA is star-free."""
    live = live_states(dfa.step, dfa.accepting)
    if len(live) > MOST_LIVE:
        raise SofthatError(
            f"the minimal automaton has {len(live)} states that can accept: star-freeness is "
            f"decided up to {MOST_LIVE}"
        )
    letters, dead = _actions(dfa, live)
    try:
        loop_found = _search(letters, len(live))
    except _TooManyError:
        return _rotation(dfa, live)
    if loop_found is None:
        return None
    loop, action = loop_found
    return _counter(dfa, live, loop, [None if to == dead else to for to in action[: len(live)]])


def counts(step: Sequence[Sequence[int | None]]) -> bool:
    """Does some word permute states of this automaton, whose missing edges lead nowhere?

    True also where the monoid is too large to tell.
    """
    dead = len(step)
    if dead > MOST_LIVE:
        return True
    tables = []
    for k in range(len(step[0])):
        row = [dead if (to := edges[k]) is None else to for edges in step]
        tables.append(bytes(row) + bytes([dead]) * (256 - dead))
    try:
        return _search(tables, dead) is not None
    except _TooManyError:
        return True


class _TooManyError(Exception):
    """The monoid has more elements than are searched."""


def _actions(dfa: DFA, live: list[int]) -> tuple[list[bytes], int]:
    """Each symbol as a table of 256 entries over the live states; all others are one dead state."""
    place = {state: k for k, state in enumerate(live)}
    dead = len(live)
    tables = []
    for k in range(len(dfa.alphabet)):
        row = [place.get(dfa.step[state][k], dead) for state in live]
        tables.append(bytes(row) + bytes([dead]) * (256 - len(row)))
    return tables, dead


def _search(letters: list[bytes], size: int) -> tuple[tuple[int, ...], bytes] | None:
    """The first element, in order of length, with a cycle of more than one state."""
    identity = bytes(range(size + 1))
    rest = bytes([size]) * (255 - size)
    steps = max(1, size.bit_length())
    words: dict[bytes, tuple[int, ...]] = {identity: ()}
    queue = [identity]
    for now in queue:
        word = words[now]
        for k, letter in enumerate(letters):
            action = now.translate(letter)
            if action in words:
                continue
            words[action] = (*word, k)
            if not _settles(action, rest, steps):
                return words[action], action
            if len(words) > MOST_ELEMENTS:
                raise _TooManyError
            queue.append(action)
    return None


def _settles(action: bytes, rest: bytes, steps: int) -> bool:
    """Is u^(N+1) = u^N for large N: has the action no cycle but fixed points?"""
    power = action
    for _ in range(steps):
        power = power.translate(power + rest)
    return power.translate(action + rest) == power


def _counter(dfa: DFA, live: list[int], loop: tuple[int, ...], action: list[int | None]) -> Counter:
    """The counter of a loop: of the states on its cycles the one with the shortest words."""
    prefixes = dict(_words_to(dfa.start, dfa.step.__getitem__))
    best: Counter | None = None
    for at in range(len(live)):
        cycle = [at]
        while (to := action[cycle[-1]]) is not None and to not in cycle:
            cycle.append(to)
        if to != at or len(cycle) == 1:
            continue
        counter = Counter(
            prefixes[live[at]], loop, telling_apart(dfa, live[at], live[cycle[1]]), len(cycle)
        )
        if best is None or _length(counter) < _length(best):
            best = counter
    assert best is not None  # the loop has a cycle
    return best


def _length(counter: Counter) -> tuple[int, int]:
    return (len(counter.prefix) + len(counter.suffix), counter.period)


def _words_to(
    start: State, follow: Callable[[State], Iterable[State | None]]
) -> Iterator[tuple[State, tuple[int, ...]]]:
    """The states that can be reached, each with the first of the shortest words that lead there;
    `follow` says where each symbol leads from a state, None for nowhere."""
    words: dict[State, tuple[int, ...]] = {start: ()}
    queue = [start]
    for now in queue:
        yield now, words[now]
        for k, to in enumerate(follow(now)):
            if to is not None and to not in words:
                words[to] = (*words[now], k)
                queue.append(to)


def telling_apart(dfa: DFA, left: int, right: int) -> tuple[int, ...]:
    """The shortest word that one of two different states of a minimal DFA accepts."""

    def follow(pair: tuple[int, int]) -> Iterable[tuple[int, int]]:
        return zip(dfa.step[pair[0]], dfa.step[pair[1]], strict=True)

    for (p, q), word in _words_to((left, right), follow):
        if (p in dfa.accepting) != (q in dfa.accepting):
            return word
    raise AssertionError("equivalent states in a minimal automaton")


def _rotation(dfa: DFA, live: list[int]) -> Counter | None:
    """A counter in a large monoid: a cycle of prime length p is a path from (q1 … qp) to
    (q2 … qp q1) among the tuples of different live states."""
    alive = set(live)
    size = max(map(len, _components(dfa, live)))
    for p in (p for p in range(2, size + 1) if all(p % d for d in range(2, p))):
        if len(live) ** p > MOST_TUPLES:
            raise SofthatError(
                f"the automaton is too large to decide whether its language is star-free: over "
                f"{MOST_ELEMENTS:,} actions of words on {len(live)} states"
            )
        for states in product(live, repeat=p):
            if len(set(states)) < p or states[0] != min(states):
                continue
            loop = _path(dfa, alive, states, (*states[1:], states[0]))
            if loop is not None:
                action: list[int | None] = []
                for state in live:
                    for k in loop:
                        state = dfa.step[state][k]
                    action.append(live.index(state) if state in alive else None)
                return _counter(dfa, live, loop, action)
    return None


def _path(
    dfa: DFA, alive: set[int], start: tuple[int, ...], goal: tuple[int, ...]
) -> tuple[int, ...] | None:
    """The shortest word that takes each state of `start` to that of `goal`."""

    def follow(now: tuple[int, ...]) -> Iterator[tuple[int, ...] | None]:
        for to in zip(*(dfa.step[state] for state in now), strict=True):
            yield to if len(set(to)) == len(to) and alive.issuperset(to) else None

    return next((word for states, word in _words_to(start, follow) if states == goal), None)


def _components(dfa: DFA, live: list[int]) -> list[set[int]]:
    """The strongly connected parts of the live states (small automata: by reachability)."""
    reach = {state: set(reached(state, dfa.step.__getitem__)) for state in live}
    parts: list[set[int]] = []
    for state in live:
        if not any(state in part for part in parts):
            parts.append(
                {other for other in live if other in reach[state] and state in reach[other]}
            )
    return parts


MOST_TYPED = 20_000
"""Elements of the monoid up to which the modulus of a language of FO[<, mod] is looked for."""


def modulus_of(dfa: DFA) -> int | None:
    """The s for which the language is in FO[<, mod s], or None if there is none.

    With η the syntactic morphism, s is least with η(Σ^s) = η(Σ^2s); the language is in
    FO[<, mod] iff the elements of η(Σ^s) have no cycles (Barrington, Compton, Straubing and
    Thérien).
    """
    live = live_states(dfa.step, dfa.accepting)
    letters, dead = _actions(dfa, live)
    identity = bytes(range(dead + 1))
    levels = [frozenset([identity])]
    place: dict[frozenset[bytes], int] = {levels[0]: 0}
    total = 0
    while True:
        following = frozenset(now.translate(letter) for now in levels[-1] for letter in letters)
        total += len(following)
        if total > MOST_TYPED:
            raise SofthatError(
                "the automaton is too large to decide whether its language is in FO[<, mod]: over "
                f"{MOST_TYPED:,} actions of words"
            )
        if following in place:
            break
        place[following] = len(levels)
        levels.append(following)
    first = place[following]
    period = len(levels) - first
    s = period * max(1, -(-first // period))  # the least multiple of the period in the cycle
    stable = levels[first + (s - first) % period]
    rest = bytes([dead]) * (255 - dead)
    steps = max(1, dead.bit_length())
    return s if all(_settles(action, rest, steps) for action in stable) else None
