"""The least depth of a regular language: what is known, and a proof of it.

A layer of masked hard attention that looks back computes formulas one operator deeper: `f S g`,
`Y (f S g)` and `Y f` of what the layer below says at a position. What depth k can know of a
position is its *type*: of depth 0 the symbol and whether it is the first; of depth k + 1 its type
of depth k, and in which order the types of depth k were last seen before it, since `S` walks back
to the first position that decides. If two words end in the same type of depth k, and one belongs
and the other does not, then no formula of depth k defines the language, whatever its size: it is
at least k + 1 (Etessami and Wilke; Thérien and Wilke; for attention Yang, Chiang and Angluin 2024).
If there are none, a formula of depth k does, because it can say what type a position has. The types
of a depth are a finite automaton, so that a search decides it, while they are few. Where they are
many, words over two of the letters are searched, and equations of the syntactic monoid (`levels`)
say whether depth 1 could be enough.

Counting, positions modulo m and heads that read several positions back (`Shift`: `Y Y f` in one
layer) are outside of this, and may do with fewer layers.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import combinations, islice

from softhat.frontends.regular.dfa import DFA
from softhat.frontends.regular.levels import levels
from softhat.frontends.regular.monoid import find_counter
from softhat.io.errors import SofthatError

MOST_TYPES = 60_000
"""Pairs of a state and a type that are looked at for one depth."""
DEEPEST = 4
MOST_PAIRS = 10
"""Of letters whose words are searched alone."""
MOST_OF_PAIR = 10_000
"""Of a state and a type, for words over two letters."""
Word = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeastDepth:
    """What is known of the depth that formulas without counting need."""

    least: int | None
    """At least so deep; None if no depth is enough."""
    is_exact: bool
    """This depth is enough."""
    words: tuple[Word, Word] | None
    """Two words that one layer less cannot tell apart, of which one belongs."""
    text: str


def least_depth(dfa: DFA) -> LeastDepth:
    """The least depth of formulas with S, O, H and Y for a minimal automaton's language."""
    try:
        counter = find_counter(dfa)
    except SofthatError:
        return LeastDepth(0, False, None, "not known: its monoid is too large")
    if counter is not None:
        return LeastDepth(
            None, False, None,
            f"no formula without counting defines it: it counts modulo {counter.period}",
        )  # fmt: skip
    words: tuple[Word, Word] | None = None
    depth, is_exact = 0, False
    while depth <= DEEPEST:
        reason = _same_type(dfa, depth, MOST_TYPES)
        if reason is None or isinstance(reason, str):
            is_exact = reason is None
            break
        words, depth = reason, depth + 1
    if not is_exact:
        depth, words = _deeper(dfa, depth, words)
    return LeastDepth(depth, is_exact, words, _text(depth, is_exact, words))


def _deeper(
    dfa: DFA, depth: int, words: tuple[Word, Word] | None
) -> tuple[int, tuple[Word, Word] | None]:
    """A better bound than `depth`, if words over two letters or the monoid's equations give one.

    A position of such a word has the same type whatever the other letters are.
    """
    for pair in islice(combinations(range(len(dfa.alphabet)), 2), MOST_PAIRS):
        step = tuple(tuple(row[k] for k in pair) for row in dfa.step)
        part = DFA(tuple(dfa.alphabet[k] for k in pair), dfa.start, dfa.accepting, step)
        while depth <= DEEPEST:
            reason = _same_type(part, depth, MOST_OF_PAIR)
            if reason is None or isinstance(reason, str):
                break
            words, depth = reason, depth + 1
    if depth < 2 and (known := levels(dfa)) is not None and known.least_depth > depth:
        return known.least_depth, None
    return depth, words


def attained(known: LeastDepth, layers: int) -> str:
    """What is known, and how a model of so many layers compares."""
    if known.least is None:
        return known.text
    if layers < known.least:
        return f"{known.text}; the model has fewer layers, because it reads further back at once"
    if layers == known.least:
        return f"{known.text}; the model attains it"
    more = "" if known.is_exact else ", and may need them"
    return f"{known.text}; the model has {layers} layers{more}"


def _text(depth: int, is_exact: bool, words: tuple[Word, Word] | None) -> str:
    bound = f"{depth}" if is_exact else f"at least {depth}"
    if words is None:
        return bound if depth < 2 else f"{bound}: it is not FO² with < and the next position"
    apart = " and ".join(" ".join(word[:20]) + (" …" if len(word) > 20 else "") for word in words)
    return f"{bound}: depth {depth - 1} cannot tell {apart} apart"


class _Types:
    """The types of a depth as an automaton: a type is a number, read from left to right."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self._numbers: list[dict[Hashable, int]] = [{} for _ in range(depth)]

    def start(self) -> tuple[tuple[int, ...], ...]:
        """For each depth below, in which order its types were last seen: nothing yet."""
        return ((),) * self.depth

    def step(
        self, seen: tuple[tuple[int, ...], ...], kind: int
    ) -> tuple[tuple[tuple[int, ...], ...], int]:
        """After a position of a type of depth 0: the orders, and its type of the whole depth."""
        orders = []
        for numbers, order in zip(self._numbers, seen, strict=True):
            orders.append((kind, *(other for other in order if other != kind)))
            kind = numbers.setdefault((kind, order), len(numbers))
        return tuple(orders), kind


def _same_type(dfa: DFA, depth: int, most: int) -> tuple[Word, Word] | str | None:
    """Two words of one type, of which one belongs; None if there are none, "many" if the search
    passes its limit."""
    types = _Types(depth)
    first = (dfa.start, True, types.start())
    words: dict[Hashable, Word] = {first: ()}
    queue = [first]
    answers: dict[int, tuple[bool, Word]] = {}
    for now in queue:
        state, is_first, seen = now
        for symbol, name in enumerate(dfa.alphabet):
            orders, kind = types.step(seen, 2 * symbol + is_first)
            to = dfa.step[state][symbol]
            word = (*words[now], name)
            belongs = to in dfa.accepting
            known = answers.setdefault(kind, (belongs, word))
            if known[0] != belongs:
                return known[1], word
            after = (to, False, orders)
            if after not in words:
                if len(words) >= most:
                    return "many"
                words[after] = word
                queue.append(after)
    return None
