"""Levels of star-free languages: known ones, and classes by other definitions."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterator
from itertools import islice, product
from typing import TypeVar, cast

import numpy as np
import pytest

from softhat.frontends.regular.dfa import DFA, complement, minimal
from softhat.frontends.regular.least_depth import least_depth
from softhat.frontends.regular.levels import Levels, level_text, levels
from softhat.frontends.regular.monoid import find_counter
from softhat.frontends.regular.regex import read_regex
from tests.slices import every


def of(text: str, alphabet: str = "ab") -> tuple[DFA, Levels]:
    dfa = minimal(read_regex(text, alphabet))
    known = levels(dfa)
    assert known is not None
    return dfa, known


SAID = [
    (".*a.*b.*", "ab", "level 1/2; dot-depth 1"),
    ("a*b*", "ab", "level 1/2 of the complement; dot-depth 1"),  # that is, some b before an a
    (".*", "ab", "level 0; dot-depth 0"),
    ("a*b+|ab*", "ab", "level 1, piecewise testable; dot-depth 1"),
    ("abba", "ab", "level 1, piecewise testable; dot-depth 0"),
    ("a.*", "ab", "R-trivial"),
    (".*a", "ab", "at the last position O and H alone, at the first F and G alone; dot-depth 1"),
    ("a.*b", "ab", "at the last position O and H alone, at the first F and G alone; dot-depth 1"),
    ("[ab]*ca.*b", "abc", "are enough; at the last position O and H alone; dot-depth"),
    ("b.*ac[ab]*", "abc", "are enough; at the first F and G alone; dot-depth"),
    ("[ab]*ca.*ac[ab]*", "abc", "are enough; neither half alone; dot-depth"),
    (".*aa.*", "ab", "level 3/2, not FO² with <; dot-depth 1"),
    ("~(.*aa.*)", "ab", "level 3/2 of the complement, not FO² with <; dot-depth 1"),
    ("(ab)*", "ab", "level 3/2 of the complement, not FO² with <; dot-depth 1"),
    ("[ab]*ac.*", "abc", "dot-depth 2"),
    ("(a(ab)*b)*", "ab", "level 2 or above; dot-depth at least 2, not FO² with < and the next"),
]
"""Knast 1983 and Pin 1997 have most of them; (a(ab)*b)* is the classical one of dot-depth 2."""


@pytest.mark.parametrize(("text", "alphabet", "said"), SAID, ids=[text for text, _, _ in SAID])
def test_known(text: str, alphabet: str, said: str) -> None:
    assert said in level_text(of(text, alphabet)[0])


def small(part: int, of_parts: int) -> Iterator[DFA]:
    """Minimal automata of one to three states over two letters: all parts together are all."""
    for states in (1, 2, 3):
        for flat in islice(product(range(states), repeat=2 * states), part, None, of_parts):
            step = tuple(zip(flat[::2], flat[1::2], strict=True))
            for chosen in range(1 << states):
                accepting = frozenset(q for q in range(states) if chosen >> q & 1)
                dfa = DFA(("a", "b"), 0, accepting, step)
                if minimal(dfa) == dfa:
                    yield dfa


Seen = TypeVar("Seen", bound=Hashable)


def told_apart(dfa: DFA, first: Seen, read: Callable[[Seen, str], tuple[Seen, Hashable]]) -> bool:
    """Does what is read of a word tell whether it belongs? `read` gives what to remember after a
    letter, and what is known there."""
    start = (dfa.start, first)
    queue, seen = [start], {start}
    answers: dict[Hashable, bool] = {}
    for state, memory in queue:
        for letter, to in zip(dfa.alphabet, dfa.step[state], strict=True):
            after, known = read(memory, letter)
            if answers.setdefault(known, to in dfa.accepting) != (to in dfa.accepting):
                return False
            if (to, after) not in seen:
                seen.add((to, after))
                queue.append((to, after))
    return True


def subwords(most: int) -> Callable[[frozenset[str], str], tuple[frozenset[str], Hashable]]:
    """Which words of at most so many letters are subwords."""

    def read(memory: frozenset[str], letter: str) -> tuple[frozenset[str], Hashable]:
        after = memory | {word + letter for word in memory if len(word) < most}
        return after, after

    return read


Before = tuple[frozenset[Hashable], ...]


def strict_past(memory: Before, letter: str) -> tuple[Before, Hashable]:
    """The letter, and which types of one depth less stand before, again and again: what formulas
    with strict O know, as deep as the memory."""
    after, known = [], cast(Hashable, letter)
    for types in memory:
        after.append(types | {known})
        known = (letter, types)
    return tuple(after), known


def accepts_more(dfa: DFA, p: int, q: int, accepting: frozenset[int]) -> bool:
    """Are all words that p accepts accepted by q?"""
    pairs, queue = {(p, q)}, [(p, q)]
    for one, other in queue:
        if one in accepting and other not in accepting:
            return False
        for pair in zip(dfa.step[one], dfa.step[other], strict=True):
            if pair not in pairs:
                pairs.add(pair)
                queue.append(pair)
    return True


def no_pattern(dfa: DFA, accepting: frozenset[int]) -> bool:
    """Pin and Weil's pattern of level 3/2, in the automaton: no word u stays at p and at q, of
    whose letters a word leads from p to q, though p accepts a word that q does not."""
    states = range(len(dfa.step))
    for p, q in product(states, states):
        if accepts_more(dfa, p, q, accepting):
            continue
        for letters in range(1, 1 << len(dfa.alphabet)):
            inside = [k for k in range(len(dfa.alphabet)) if letters >> k & 1]
            reached = [p]
            for now in reached:
                reached += {dfa.step[now][k] for k in inside} - {*reached}
            loops, seen = [(p, q, 0)], set()
            for one, other, used in loops:
                for k in inside:
                    at = (dfa.step[one][k], dfa.step[other][k], used | 1 << k)
                    if at not in seen:
                        seen.add(at)
                        loops.append(at)
            if q in reached and (p, q, letters) in seen:
                return False
    return True


@pytest.mark.parametrize("part", every(7, range(7)))
def test_small_automata_by_definition(part: int) -> None:
    """Each class by what it says, without the monoid: words that contain a word, what subwords
    tell, what strict O tells from left to right and from right to left, a pattern of states."""
    tried = 0
    for dfa in small(part, 7):
        known = levels(dfa)
        assert (known is None) == (find_counter(dfa) is not None)
        if known is None:
            continue
        tried += 1
        states = range(len(dfa.step))
        rejecting = frozenset(states) - dfa.accepting
        closed = [
            all(accepts_more(dfa, p, to, some) for p in states for to in dfa.step[p])
            for some in (dfa.accepting, rejecting)
        ]
        assert closed == [known.half, known.co_half]
        depth = len(dfa.step)  # enough: an automaton of depth d needs subwords of d (Klíma, Polák)
        whole = any(told_apart(dfa, frozenset([""]), subwords(k)) for k in range(depth + 1))
        assert whole == known.j_trivial
        nothing: Before = (frozenset(),) * (depth + 1)
        assert told_apart(dfa, nothing, strict_past) == known.past
        assert told_apart(reverse(dfa), nothing, strict_past) == known.future
        patterns = [no_pattern(dfa, some) for some in (dfa.accepting, rejecting)]
        assert patterns == [known.polynomial, known.co_polynomial]
        assert known.two_variables == all(patterns)
    assert tried > 3


def test_a_formula_bounds_the_dot_depth() -> None:
    dfa, _ = of("(a(ab)*b)*")
    assert "at least 2 and at most 4" in level_text(dfa, 3)
    assert "dot-depth 2," in level_text(dfa, 1)


def test_what_counts_has_no_level() -> None:
    assert levels(minimal(read_regex("(aa)*", "a"))) is None


def drawn(dice: random.Random) -> DFA | None:
    """A random minimal automaton of a star-free language. In some, letters are steps up and down a
    ladder, and what leaves it is lost: such as bounded Dyck languages."""
    states, letters = dice.randrange(2, 7), dice.randrange(2, 4)
    if dice.random() < 0.5:
        step = [[dice.randrange(states) for _ in range(letters)] for _ in range(states)]
    else:
        moves = [dice.choice((-1, 1)) for _ in range(letters)]
        step = [
            [q + move if 0 <= q + move < states - 1 else states - 1 for move in moves]
            for q in range(states - 1)
        ]
        step.append([states - 1] * letters)
    accepting = frozenset(q for q in range(states) if dice.random() < 0.5)
    dfa = minimal(DFA(tuple("abc"[:letters]), 0, accepting, tuple(map(tuple, step))))
    return dfa if find_counter(dfa) is None else None


def reverse(dfa: DFA) -> DFA:
    """By sets of states: the automaton of the words read from their end."""
    sets = [frozenset(dfa.accepting)]
    rows: list[tuple[int, ...]] = []
    for now in sets:
        row = []
        for k in range(len(dfa.alphabet)):
            before = frozenset(q for q, edges in enumerate(dfa.step) if edges[k] in now)
            if before not in sets:
                sets.append(before)
            row.append(sets.index(before))
        rows.append(tuple(row))
    accepting = frozenset(k for k, now in enumerate(sets) if dfa.start in now)
    return minimal(DFA(dfa.alphabet, 0, accepting, tuple(rows)))


def is_ordered(dfa: DFA) -> bool:
    """Does no state come back after it was left: a partially ordered automaton?"""
    count = len(dfa.step)
    reach = np.eye(count, dtype=np.bool_)
    for _ in range(count):
        for q, row in enumerate(dfa.step):
            reach[q] |= reach[list(row)].any(axis=0)
    return not (reach & reach.T & ~np.eye(count, dtype=np.bool_)).any()


def test_random_automata() -> None:
    """Trivial monoids are partially ordered automata of the language, or read from its end; classes
    lie in each other as they must; a proof by types agrees with the equations."""
    dice = random.Random(28)
    tried = [dfa for _ in range(400) if (dfa := drawn(dice)) is not None]
    counts = dict.fromkeys(("r", "l", "da", "knast", "lda", "none"), 0)
    for dfa in tried:
        known = levels(dfa)
        if known is None:
            continue
        assert known.r_trivial == is_ordered(dfa)
        assert known.l_trivial == is_ordered(reverse(dfa))
        assert known.j_trivial == (known.r_trivial and known.l_trivial)
        assert known.two_variables == (known.polynomial and known.co_polynomial)
        assert known.two_variables or not (known.r_trivial or known.l_trivial)
        assert known.two_variables_next or not (known.two_variables or known.knast)
        assert known.knast or not (known.j_trivial or known.cofinite)
        other = levels(minimal(complement(dfa)))
        assert other is not None
        assert (other.polynomial, other.knast) == (known.co_polynomial, known.knast)
        mirrored = levels(reverse(dfa))
        assert mirrored is not None
        assert (mirrored.two_variables, mirrored.knast) == (known.two_variables, known.knast)
        if len(dfa.step) < 4 and len(dfa.alphabet) == 2:  # few types
            least = least_depth(dfa)
            assert least.least is not None and least.is_exact
            assert least.least > 1 or known.two_variables_next
        for name, holds in zip(
            counts,
            (known.r_trivial, known.l_trivial, known.two_variables, known.knast,
             known.two_variables_next, not known.two_variables_next), strict=True,
        ):  # fmt: skip
            counts[name] += holds
    assert min(counts.values()) > 5, counts


def pieces(dice: random.Random, between: list[str]) -> str:
    parts = [dice.choice(between)]
    for _ in range(dice.randrange(1, 3)):
        parts += [dice.choice(["a", "b", "c"]), dice.choice(between)]
    return "".join(parts)


@pytest.mark.parametrize("seed", range(30))
def test_languages_made_for_a_class(seed: int) -> None:
    """Boolean combinations of what a class is made of are in it."""
    dice = random.Random(seed)

    def combined(between: list[str]) -> str:
        parts = [f"({pieces(dice, between)})" for _ in range(3)]
        return f"({parts[0]}|~({parts[1]}))&({parts[2]}|{parts[0]})"

    assert of(combined([".*"]), "abc")[1].j_trivial
    assert of(combined([".*", "ab", "c", ""]), "abc")[1].knast
    sets = [".*", "[ab]*", "[bc]*", "a*", ""]
    assert of("|".join(pieces(dice, sets) for _ in range(3)), "abc")[1].polynomial
    assert of(f"~({pieces(dice, sets)}|{pieces(dice, sets)})", "abc")[1].co_polynomial
    first = ["[ab]*c[bc]*", "[bc]*a.*", "b*a[ac]*b.*"]  # each letter is the first of its kind
    assert of(f"{dice.choice(first)}|~({dice.choice(first)})", "abc")[1].r_trivial
