"""Is a formula satisfiable, are two equivalent, does one imply the other: for every length.

Without counting the answer is exact for words of every length; numerical predicates with a period
take part, other ones are treated as counting is. Comparisons of counts are
undecidable in general: for them either a proof that needs no more than linear arithmetic on the
counts is found, or `up_to` must say up to which length all words shall be tried. Questions are
asked of the formulas as they are written: nothing of what makes formulas simpler is used here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from softhat.io.errors import SofthatError
from softhat.logic.core import to_core
from softhat.logic.decide.counting import Clause, without_counting
from softhat.logic.decide.diagrams import TooHardError
from softhat.logic.decide.letters import Letters, letters_for
from softhat.logic.decide.machine import Unknown, looks_ahead, mirror
from softhat.logic.decide.search import Goal, shortest
from softhat.logic.decide.short_words import Where, first_word
from softhat.logic.decide.sweep import swept
from softhat.logic.predicates import predicates_of
from softhat.logic.recalls import without_recalls
from softhat.logic.refute import signal
from softhat.logic.semantics.truth import resolve_at
from softhat.logic.semantics.words import Word
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import And, Formula, Not, Once, Xor
from softhat.logic.syntax.parse import parse
from softhat.logic.syntax.walk import contains, distinct
from softhat.numbers.predicates import Periodic

_MOST = 1 << 27  # words of a length that are tried on request
_EASY = 12  # bits of a machine that is searched as it is, without `swept`
_LITTLE = 100_000  # steps of diagrams that cost little: a fifth of a second
_FEW = 1 << 15  # words that are tried before anything else, counted as for `Effort.words`


@dataclass(frozen=True, slots=True)
class Effort:
    """How much work an answer is worth."""

    steps: int = 5_000_000
    """Steps of diagrams: about a second for half a million."""
    words: int = 1 << 26
    """Where diagrams give up, all words of length n are tried while n^3 times their number is at
    most this: some seconds."""


FULL = Effort()


def satisfiable(
    f: Formula | str,
    alphabet: Iterable[str] | None = None,
    propositions: Iterable[str] | None = None,
    at: Literal["first", "last"] | None = None,
    up_to: int | None = None,
    predicates: Mapping[str, Any] | None = None,
) -> Word | None:
    """The shortest word that f accepts, the first in the order of the alphabet, or None.

    None means that no word of any length is accepted (with `up_to`: none of at most that many
    symbols). A formula that looks both ways needs `at`, as `accepts` does.
    """
    f = _formula(f, predicates)
    return find_word(f, resolve_at(f, at), [f], alphabet, propositions, up_to)


def equivalent(
    f: Formula | str,
    g: Formula | str,
    alphabet: Iterable[str] | None = None,
    propositions: Iterable[str] | None = None,
    up_to: int | None = None,
    predicates: Mapping[str, Any] | None = None,
) -> Word | None:
    """None if f and g agree at every position of every word (of at most `up_to` symbols).

    Otherwise the shortest word on which they differ, the first in the order of the alphabet.
    Without an alphabet (or propositions) the words are made of the formulas' own symbols.
    """
    f, g = _formula(f, predicates), _formula(g, predicates)
    return find_word(Xor(f, g), "anywhere", [f, g], alphabet, propositions, up_to)


def implies(
    f: Formula | str,
    g: Formula | str,
    alphabet: Iterable[str] | None = None,
    propositions: Iterable[str] | None = None,
    up_to: int | None = None,
    predicates: Mapping[str, Any] | None = None,
) -> Word | None:
    """None if g holds at every position of every word where f does.

    Otherwise the shortest word with a position where f holds and g does not.
    """
    f, g = _formula(f, predicates), _formula(g, predicates)
    return find_word(And(f, Not(g)), "anywhere", [f, g], alphabet, propositions, up_to)


def differ_somewhere(f: Formula, g: Formula, alphabet: Sequence[str]) -> bool:
    """Is it known, at little cost, that f and g differ on some word?"""
    core = to_core(without_recalls(Xor(f, g)))
    if any(_is_open(node) for node, _ in distinct(core)[0]):
        return False
    letters = letters_for([f, g], alphabet, None)
    try:
        return shortest(goal_of(core, "anywhere"), letters, _LITTLE, None) is not None
    except TooHardError:
        return False


def _formula(given: Formula | str, predicates: Mapping[str, Any] | None) -> Formula:
    formula = given if isinstance(given, Formula) else parse(given)  # which refuses what is no text
    return formula.bind(predicates)


def find_word(
    wanted: Formula,
    where: Where,
    given: list[Formula],
    alphabet: Iterable[str] | None,
    propositions: Iterable[str] | None,
    up_to: int | None,
    effort: Effort = FULL,
) -> Word | None:
    """The shortest word on which `wanted` holds there; the words are over what `given` needs."""
    if up_to is not None and (not isinstance(up_to, int) or up_to < 1):
        raise SofthatError(f"up_to is a length of words, at least 1, not {up_to!r}")
    letters = letters_for(given, alphabet, propositions)
    core = to_core(without_recalls(wanted))
    predicates_of(core)  # all are known, each name has one meaning
    counts = any(_is_open(node) for node, _ in distinct(core)[0])
    decide = _by_counting if counts else _exactly
    digits = decide(core, where, letters, up_to, effort)
    return None if digits is None else letters.word(digits)


def _is_open(node: nodes.Node) -> bool:
    """Is it something that machines do not decide?"""
    if isinstance(node, nodes.At):
        return not isinstance(node.predicate, Periodic)
    return isinstance(node, nodes.Comparison)


def _exactly(
    core: Formula, where: Where, letters: Letters, up_to: int | None, effort: Effort
) -> list[int] | None:
    """For formulas without comparisons."""
    tried, word = short_word(core, where, letters, 0, _FEW, up_to)
    if word is not None or tried == up_to:
        return word
    if _number(core, _BITS) > _EASY:
        core = to_core(swept(core, letters))
    try:
        return shortest(goal_of(core, where), letters, effort.steps, up_to)
    except TooHardError:
        pass
    tried, word = short_word(core, where, letters, tried, effort.words, up_to)
    if word is not None or tried == up_to:
        return word
    raise SofthatError(
        f"too hard to decide within {effort.steps:,} steps: there is no such word of at most "
        f"{tried} symbols, and longer ones are open; up_to={max(tried, 1)} asks for no more"
    )


def short_word(
    core: Formula, where: Where, letters: Letters, tried: int, most: int, up_to: int | None
) -> tuple[int, list[int] | None]:
    """Words longer than `tried`, while the next length costs at most `most`."""
    while tried != up_to and (tried + 1) ** 3 * letters.count ** (tried + 1) <= most:
        tried += 1
        if (word := first_word(core, letters, where, tried)) is not None:
            return tried, word
    return tried, None


def goal_of(core: Formula, where: Where, facts: tuple[Clause, ...] = ()) -> Goal:
    """The search for a word on which `core` holds there.

    A word is read from its end where that leaves fewer promises to guess.
    """
    image = mirror(core)
    backwards = image is not None and _number(image, _AHEAD) < _number(core, _AHEAD)
    if image is not None and backwards:
        turned: dict[Where, Where] = {"first": "last", "last": "first", "anywhere": "anywhere"}
        core, where = image, turned[where]
    if where == "anywhere":
        # Where nothing looks ahead, a shortest word ends at the position that is looked for.
        core, where = to_core(Once(core)) if looks_ahead(core) else core, "last"
    return Goal(core, where, backwards, facts)


_AHEAD = (nodes.Tomorrow, nodes.Until)
"""Operators whose value is guessed: a promise each (`machine`)."""
_BITS = (*_AHEAD, nodes.Yesterday, nodes.Since)
"""Operators that take a bit of the machine each."""


def _number(core: Formula, kinds: tuple[type[nodes.Node], ...]) -> int:
    """How many subformulas are of these kinds."""
    return sum(isinstance(node, kinds) for node, _ in distinct(core)[0])


@dataclass(slots=True)
class _Possible:
    """May a formula hold at some position of some word, whatever its unknowns are? Each answer is
    worth `steps`, and all of them as many nodes of formulas as `nodes` says; then all may hold."""

    letters: Letters
    steps: int
    nodes: int
    known: dict[Formula, bool] = field(default_factory=dict)

    def __call__(self, formula: Formula) -> bool:
        if formula not in self.known:
            self.known[formula] = self.nodes <= 0 or self._ask(formula)
        return self.known[formula]

    def _ask(self, formula: Formula) -> bool:
        rows, _ = distinct(formula)
        self.nodes -= len(rows)
        regular = any(isinstance(node, nodes.Mod) for node, _ in rows)
        if regular or not signal(formula):  # random words show most of what is possible
            goal = goal_of(to_core(formula), "anywhere")
            with suppress(TooHardError):
                return shortest(goal, self.letters, self.steps, None) is not None
        return True


def _by_counting(
    core: Formula, where: Where, letters: Letters, up_to: int | None, effort: Effort
) -> list[int] | None:
    """For formulas with comparisons: a proof for every length, or all words up to `up_to`.

    Comparisons are taken for unknowns: a proof that there is no word holds whatever these are. If
    that is not enough, a second try asks where in the word a comparison is decided (`possible`).
    """
    steps = effort.steps // 5
    for possible in (None, _Possible(letters, steps // 4, effort.steps)):
        plain, facts = without_counting(core, letters, possible)
        if not contains(plain, Unknown):
            return _exactly(plain, where, letters, up_to, effort)
        try:
            if shortest(goal_of(plain, where, facts), letters, steps, None) is None:
                return None
        except TooHardError:
            pass
    if up_to is None:
        what = (
            "counting"
            if contains(core, nodes.Comparison)
            else "a numerical predicate without a period"
        )
        raise SofthatError(
            f"{what} is not decided for every length: say up to which length all words are to be "
            "tried, as in up_to=10 (--up-to 10)"
        )
    for length in range(1, up_to + 1):
        if letters.count**length > _MOST:
            raise SofthatError(
                f"there is no such word of at most {length - 1} symbols, and too many longer ones "
                f"to try: {letters.count}^{length}; give a smaller up_to"
            )
        if (word := first_word(core, letters, where, length)) is not None:
            return word
    return None
