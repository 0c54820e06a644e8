"""Where a star-free language stands in the hierarchies: by equations of its syntactic monoid.

What logic, and so what attention, a language needs shows in its syntactic monoid, the transition
monoid of its minimal automaton. Of each class below an equation decides exactly whether the
language is in it (Pin, "Syntactic semigroups", 1997):

- Straubing and Thérien's levels, by quantifiers over `<` alone. Level 0: no word or all. Level 1/2,
  finite unions of A*a₁A*…aₖA*: letters put in never lead out of the language. Level 1, piecewise
  testable: the monoid is J-trivial (Simon 1975). Level 3/2, finite unions of B₀*a₁B₁*…aₖBₖ*:
  e <= e s e for the images e = e² of u and s of v, where v has no letters but those of u (Pin and
  Weil 1997).
- FO² with `<`, which is temporal logic with O, H, F and G in their strict forms: (xy)^ω x (xy)^ω =
  (xy)^ω, the class DA (Thérien and Wilke 1998). Level 3/2 of the language and of its complement.
- The past half of it, strict O and H alone, read after the last position: the monoid is R-trivial
  (Cohen, Perrin and Pin 1993). It is what soft attention of fixed precision computes without
  positions (Li and Cotterell 2025). A formula that is read at the last position knows the last
  symbol besides: strict O and H are enough for L if for each letter a that of {u : ua in L} is
  R-trivial, and strict F and G, read at the first position, if that of {u : au in L} is L-trivial.
- The dot-depth hierarchy, which knows the next position too. Dot-depth 0: finite or cofinite.
  Dot-depth 1: Knast's equation (1983). FO² with `<` and the next position: every eSe is in DA.

What that says of formulas with S, O, H and Y: one of depth k, its Ys not counted, is in Δₖ₊₁ with
`<` and the next position, because `f S g` of Δₘ is "some j with g, and f since", and its negation
has the same form, so that both are Σₘ₊₁. Hence a language that a formula of depth k defines has at
most dot-depth k + 1; and since Δ₂ with the next position is FO² with it, a language outside of that
needs depth 2 at least, whatever the size of its alphabet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softhat.frontends.regular.dfa import DFA, complement, minimal, reached

MOST_ELEMENTS = 500
"""Of a monoid that is tried: equations of two elements take its square, Knast's more."""
MOST_LETTERS = 6
"""Of an alphabet for level 3/2, which looks at the letters of words."""
Elements = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Levels:
    """In which classes a star-free language is; None where the monoid was too large to tell."""

    elements: int
    half: bool
    """Level 1/2."""
    co_half: bool
    """The complement is of level 1/2."""
    j_trivial: bool
    """Level 1."""
    r_trivial: bool
    l_trivial: bool
    polynomial: bool | None
    """Level 3/2."""
    co_polynomial: bool | None
    """The complement is of level 3/2."""
    two_variables: bool
    """FO² with `<`."""
    past: bool
    """A formula with strict O and H, read at the last position."""
    future: bool
    """A formula with strict F and G, read at the first position."""
    cofinite: bool
    """Dot-depth 0."""
    knast: bool
    """Dot-depth 1."""
    two_variables_next: bool
    """FO² with `<` and the next position."""

    @property
    def least_depth(self) -> int:
        """A formula with S, O, H and Y is so deep at least, as far as these classes say."""
        return 2 if not self.two_variables_next else 0

    @property
    def dot_depth(self) -> int:
        """At least."""
        return 0 if self.cofinite else 1 if self.knast else 2


def levels(dfa: DFA) -> Levels | None:
    """The classes of a minimal automaton's language; None if it is not star-free, or its monoid
    too large."""
    monoid = _Monoid.of(dfa)
    if monoid is None or not monoid.is_aperiodic:
        return None
    r_trivial, l_trivial = monoid.is_trivial(right=True), monoid.is_trivial(right=False)
    below = _inclusions(dfa)
    polynomial = _is_polynomial(monoid, below)
    in_da = _in_da(monoid, [np.arange(monoid.size)])
    return Levels(
        monoid.size,
        _is_closed(dfa, below),
        _is_closed(complement(dfa), below.T),
        r_trivial and l_trivial,
        r_trivial,
        l_trivial,
        polynomial,
        None if polynomial is None else _is_polynomial(monoid, below.T),
        in_da,
        r_trivial or (in_da and _is_past(dfa)),
        l_trivial or (in_da and _is_future(dfa)),
        _is_cofinite(monoid),
        _knast(monoid),
        _in_da(monoid, [monoid.between(e, e) for e in monoid.some_idempotents]),
    )


def level_text(dfa: DFA, depth: int | None = None) -> str:
    """Where a minimal automaton's star-free language stands, in words. `depth` is that of a formula
    with S, O, H and Y which defines it."""
    known = levels(dfa)
    if known is not None:
        return f"{_by_order(known)}; {_by_next(known, depth)}"
    most = "" if depth is None else f"dot-depth at most {depth + 1}; "
    return f"{most}no more is computed of a monoid with over {MOST_ELEMENTS} elements"


def _by_order(known: Levels) -> str:
    if known.j_trivial:
        return f"Straubing-Thérien level {_within_one(known)}"
    if known.two_variables:
        if known.r_trivial:
            return "R-trivial: strict O and H are enough, and level 1 is not"
        halves = {"at the last position O and H": known.past, "at the first F and G": known.future}
        alone = [f"{half} alone" for half, enough in halves.items() if enough]
        more = ", ".join(alone) or "neither half alone"
        return f"FO² with <: strict O, H, F and G are enough; {more}"
    if known.polynomial or known.co_polynomial:
        of = "" if known.polynomial else " of the complement"
        return f"Straubing-Thérien level 3/2{of}, not FO² with <"
    if known.polynomial is None:
        return "above Straubing-Thérien level 1, not FO² with <"
    return "Straubing-Thérien level 2 or above"


def _within_one(known: Levels) -> str:
    if known.half and known.co_half:  # no word or all: what is closed both ways
        return "0"
    if known.half:
        return "1/2"
    return "1/2 of the complement" if known.co_half else "1, piecewise testable"


def _by_next(known: Levels, depth: int | None) -> str:
    if known.dot_depth < 2:
        return f"dot-depth {known.dot_depth}"
    two = "" if known.two_variables_next else ", not FO² with < and the next position"
    if known.two_variables_next or depth == 1:  # Δ₂ is in level 2
        return f"dot-depth 2{two}"
    most = "" if depth is None else f" and at most {depth + 1}"
    return f"dot-depth at least 2{most}{two}"


class _Monoid:
    """The transition monoid: element 0 is the identity, `table[x, y]` is x and then y."""

    def __init__(self, actions: Elements, letters: list[int], is_word: bool) -> None:
        self.actions = actions
        """actions[x, q] is where x leads from the state q."""
        self.letters = letters
        self.size = len(actions)
        codes = {row.tobytes(): k for k, row in enumerate(actions)}
        self.table = np.array(
            [[codes[other[row].tobytes()] for other in actions] for row in actions], np.int64
        )
        self.first_word = 0 if is_word else 1
        """1 if the identity is no word's action but the empty one's."""
        self.omega = np.arange(self.size)
        """omega[x] is the power of x that stays, of a star-free language."""
        for _ in range(self.size.bit_length()):
            self.omega = self.table[self.omega, self.omega]
        self.is_aperiodic = bool((self.table[self.omega, np.arange(self.size)] == self.omega).all())
        self.idempotents = np.flatnonzero(self.table.diagonal() == np.arange(self.size))

    @classmethod
    def of(cls, dfa: DFA) -> _Monoid | None:
        """None if it is too large."""
        step = np.array(dfa.step, np.int64)
        rows = [np.arange(len(step))]
        numbers = {rows[0].tobytes(): 0}
        letters, is_word = [], False
        for now in rows:
            for column in step.T:
                after = column[now]
                number = numbers.setdefault(after.tobytes(), len(rows))
                is_word = is_word or number == 0
                if number == len(rows):
                    rows.append(after)
                    if len(rows) > MOST_ELEMENTS:
                        return None
                if now is rows[0]:
                    letters.append(number)
        return cls(np.array(rows), letters, is_word)

    @cached_property
    def some_idempotents(self) -> list[int]:
        """Of words that are not empty, one of each J-class: those of a class are conjugate, e = uv
        and f = vu, so what is between them and others is the same up to names."""
        factors = self._multiples(True).astype(np.int32) @ self._multiples(False) > 0
        same = factors & factors.T
        chosen: list[int] = []
        for e in self.idempotents.tolist():
            if e >= self.first_word and not same[e, chosen].any():
                chosen.append(e)
        return chosen

    def _multiples(self, right: bool) -> NDArray[np.bool_]:
        """Which elements are x·s (s·x) for some s, in row x."""
        reach = np.zeros((self.size, self.size), np.bool_)
        np.put_along_axis(reach, self.table if right else self.table.T, True, axis=1)
        return reach

    @property
    def of_words(self) -> Elements:
        """The actions of words that are not empty: the syntactic semigroup."""
        return np.arange(self.first_word, self.size)

    def between(self, e: int, f: int) -> Elements:
        """eSf, for idempotents e and f of S."""
        return np.unique(self.table[self.table[e, self.of_words], f])

    def is_trivial(self, right: bool) -> bool:
        """Is every element alone in its R-class (L-class): is there no way back from its
        multiples?"""
        reach = self._multiples(right)
        return not (reach & reach.T & ~np.eye(self.size, dtype=np.bool_)).any()


def _in_da(monoid: _Monoid, submonoids: list[Elements]) -> bool:
    """(xy)^ω x (xy)^ω = (xy)^ω for all x and y of each."""
    table = monoid.table
    for inside in submonoids:
        x = inside[:, None]
        e = monoid.omega[table[x, inside[None, :]]]
        if (table[table[e, x], e] != e).any():
            return False
    return True


def _is_cofinite(monoid: _Monoid) -> bool:
    """Is the language finite or cofinite: s^ω = s^ω t = t s^ω for all words s and t?"""
    e = monoid.idempotents[monoid.idempotents >= monoid.first_word]
    t = monoid.of_words
    left, right = monoid.table[np.ix_(e, t)], monoid.table[np.ix_(t, e)].T
    return bool((left == e[:, None]).all() and (right == e[:, None]).all())


def _knast(monoid: _Monoid) -> bool:
    """(pq)^ω p s (rs)^ω = (pq)^ω (rs)^ω for p, r in eSf and q, s in fSe."""
    table, omega = monoid.table, monoid.omega
    for e in monoid.some_idempotents:
        for f in monoid.some_idempotents:
            there, back = monoid.between(e, f), monoid.between(f, e)
            power = omega[table[np.ix_(there, back)]]
            firsts = _pairs(power, table[power, there[:, None]])
            lasts = _pairs(power, table[back[None, :], power])
            plain = table[np.ix_(firsts[0], lasts[0])]
            if (table[np.ix_(firsts[1], lasts[1])] != plain).any():
                return False
    return True


def _pairs(one: Elements, other: Elements) -> Elements:
    """The pairs that stand in the same places, each once: two rows."""
    return np.unique(np.stack([one.ravel(), other.ravel()]), axis=1)


def _inclusions(dfa: DFA) -> NDArray[np.bool_]:
    """Which states p and q are so that all words that p accepts are accepted by q."""
    accepts = np.isin(np.arange(len(dfa.step)), list(dfa.accepting))
    below = ~(accepts[:, None] & ~accepts[None, :])
    step = np.array(dfa.step)
    while True:
        finer = below.copy()
        for column in step.T:
            finer &= below[np.ix_(column, column)]
        if (finer == below).all():
            return below
        below = finer


def _is_closed(dfa: DFA, below: NDArray[np.bool_]) -> bool:
    """Does a letter more never lead out of the language?"""
    return all(below[q, to] for q, row in enumerate(dfa.step) for to in row)


def _trivial(dfa: DFA, right: bool) -> bool:
    """Is the language's monoid R-trivial (L-trivial)?"""
    monoid = _Monoid.of(minimal(dfa))
    assert monoid is not None  # an image of the whole language's, which is small
    return monoid.is_trivial(right)


def _is_past(dfa: DFA) -> bool:
    """Is {u : ua in the language} of an R-trivial monoid, for each letter a?"""
    before = (
        frozenset(q for q, row in enumerate(dfa.step) if row[k] in dfa.accepting)
        for k in range(len(dfa.alphabet))
    )
    return all(_trivial(replace(dfa, accepting=accepting), right=True) for accepting in before)


def _is_future(dfa: DFA) -> bool:
    """Is {u : au in the language} of an L-trivial monoid, for each letter a?"""
    return all(_trivial(replace(dfa, start=after), right=False) for after in dfa.step[dfa.start])


def _is_polynomial(monoid: _Monoid, below: NDArray[np.bool_]) -> bool | None:
    """e <= e s e for the images e = e² of a word and s of another with none but its letters."""
    if len(monoid.letters) > MOST_LETTERS:
        return None
    for chosen in range(1, 1 << len(monoid.letters)):
        letters = [x for k, x in enumerate(monoid.letters) if chosen >> k & 1]
        inside = _generated(monoid, letters)
        for e in _with_all(monoid, letters):
            around = monoid.table[monoid.table[e, inside], e]
            if not below[monoid.actions[e][None, :], monoid.actions[around]].all():
                return False
    return True


def _generated(monoid: _Monoid, letters: list[int]) -> Elements:
    """The actions of words over these letters."""
    return np.array(reached(0, lambda now: monoid.table[now, letters].tolist()))


def _with_all(monoid: _Monoid, letters: list[int]) -> list[int]:
    """The idempotents that are actions of words with all of these letters and no others."""

    def longer(word: tuple[int, int]) -> Iterator[tuple[int, int]]:
        """A word is its action and which of the letters it has."""
        for k, letter in enumerate(letters):
            yield int(monoid.table[word[0], letter]), word[1] | 1 << k

    whole = (1 << len(letters)) - 1
    chosen = {element for element, seen in reached((0, 0), longer) if seen == whole}
    return [int(e) for e in monoid.idempotents if int(e) in chosen]
