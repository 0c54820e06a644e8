"""Regular expressions and automata as formulas: constant depth, whatever the length of the word.

A star-free language whose cascade has h levels becomes a formula of h nested `Y(f S g)`, and one
`O` more where words can be lost or won for good. Languages that are first-order once letters
know their position modulo m (FO[<, mod]) are translated when asked (`mod=True`), with `mod(m, r)`
in the formula. All other regular languages are refused with their counter, unless logarithmic depth
is asked for (`depth="log"`), in which every regular language is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, get_args, overload

from softhat.frontends.regular.decisions import decide, holds, values_of
from softhat.frontends.regular.dfa import DFA, OfAutomaton, minimal, read_dfa
from softhat.frontends.regular.doubling import LogDepth, log_depth
from softhat.frontends.regular.holonomy import (
    STAYS,
    Cascade,
    DecompositionTooLargeError,
    Skeleton,
    cascade,
    skeleton,
)
from softhat.frontends.regular.machine import StateMachine, completions, reduced, to_machine
from softhat.frontends.regular.monoid import Counter, counts, find_counter, modulus_of
from softhat.frontends.regular.regex import read_regex
from softhat.io.errors import NotStarFreeError, SofthatError
from softhat.logic.connectives import all_of, any_of, negation
from softhat.logic.syntax.nodes import (
    FALSE,
    FIRST,
    TRUE,
    Formula,
    Mod,
    Not,
    Once,
    Since,
    Symbol,
    Yesterday,
)
from softhat.logic.syntax.walk import distinct

Depth = Literal["constant", "log", "auto"]
TRIES = 60
"""Random ways to fill what a machine leaves free, beside the rules."""
BUILT = 3
"""Of the shallowest ways this many become formulas; the smallest is kept."""


@dataclass(frozen=True, slots=True)
class Language(OfAutomaton):
    """A regular language: its formula for words with positions, and the empty word apart."""

    formula: Formula


@overload
def from_regex(
    expression: str,
    alphabet: str | Iterable[str] | None = None,
    mod: bool = False,
    depth: Literal["constant"] = "constant",
) -> Formula: ...


@overload
def from_regex(
    expression: str,
    alphabet: str | Iterable[str] | None = None,
    *,
    depth: Literal["log"],
    max_length: int | None = None,
) -> LogDepth: ...


@overload
def from_regex(
    expression: str,
    alphabet: str | Iterable[str] | None = None,
    *,
    depth: Literal["auto"],
    max_length: int | None = None,
) -> Formula | LogDepth: ...


def from_regex(
    expression: str,
    alphabet: str | Iterable[str] | None = None,
    mod: bool = False,
    depth: Depth = "constant",
    max_length: int | None = None,
) -> Formula | LogDepth:
    """The formula that holds at a position iff the word up to there is in the language.

    Symbols, juxtaposition, `|`, `*`, `+`, `?`, `.` (any symbol), `&`, `~(…)` (complement), `()`
    (the empty word); long symbols and special characters in quotes or after a backslash. Without
    an alphabet it is the symbols that occur. `NotStarFreeError` if there is no such formula; with
    `mod` the formula may use positions modulo m. The empty word has no position: `language_of`
    tells whether it belongs.

    With depth="log" every regular language is taken, and the result is no formula: `compile` makes
    a model of it whose depth is logarithmic in `max_length`. With depth="auto" it is the formula if
    there is one, and else such a language, for which counting is taken where that is smaller.
    """
    return translated(read_regex(expression, alphabet), expression, mod, depth, max_length)


@overload
def from_dfa(
    dfa: Mapping[str, Any] | DFA, mod: bool = False, depth: Literal["constant"] = "constant"
) -> Formula: ...


@overload
def from_dfa(
    dfa: Mapping[str, Any] | DFA, *, depth: Literal["log"], max_length: int | None = None
) -> LogDepth: ...


@overload
def from_dfa(
    dfa: Mapping[str, Any] | DFA, *, depth: Literal["auto"], max_length: int | None = None
) -> Formula | LogDepth: ...


def from_dfa(
    dfa: Mapping[str, Any] | DFA,
    mod: bool = False,
    depth: Depth = "constant",
    max_length: int | None = None,
) -> Formula | LogDepth:
    """The formula of the language of an automaton, given as
    `{"alphabet", "states", "start", "accept", "transitions": {state: {symbol: state}}}`;
    missing edges reject. `depth` as in `from_regex`."""
    return translated(read_dfa(dfa), "automaton", mod, depth, max_length)


def translated(
    dfa: DFA, text: str, mod: bool, depth: str, max_length: int | None
) -> Formula | LogDepth:
    """An automaton in the depth that is asked for."""
    if depth not in get_args(Depth):
        raise SofthatError(f"depth is 'constant', 'log' or 'auto', not {depth!r}")
    if depth != "constant" and mod:
        raise SofthatError("mod is for constant depth: in logarithmic depth nothing needs it")
    if depth == "log":
        return log_depth(dfa, text, max_length)
    if depth == "auto":
        try:
            return language_of(dfa, mod=True).formula
        except (NotStarFreeError, TooDeepError):
            return log_depth(dfa, text, max_length, may_count=True)
    if max_length is not None:
        raise SofthatError("max_length goes with depth='log'; a formula holds for every length")
    return language_of(dfa, mod).formula


class TooDeepError(SofthatError):
    """A star-free language whose formula passes a limit."""


def language_of(dfa: DFA, mod: bool = False) -> Language:
    """The language of any automaton with its formula."""
    least = minimal(dfa)
    return Language(least, _formula(least, _modulus(least, mod)))


def _modulus(dfa: DFA, mod: bool) -> int:
    """1 for a star-free language, the modulus for one of FO[<, mod] if that is allowed."""
    counter = find_counter(dfa)
    if counter is None:
        return 1
    try:
        stable = modulus_of(dfa)
    except SofthatError:
        stable = None
    if stable is None or not mod:
        raise _refusal(dfa, counter, stable is not None)
    for m in (m for m in range(2, stable + 1) if stable % m == 0):
        if not counts(to_machine(dfa, m, lost=True, won=True).step):
            return m
    raise _refusal(dfa, counter, False)


def _refusal(dfa: DFA, counter: Counter, modular: bool) -> NotStarFreeError:
    short = all(len(symbol) == 1 for symbol in dfa.alphabet)

    def word(indices: tuple[int, ...]) -> str | tuple[str, ...]:
        symbols = tuple(dfa.alphabet[k] for k in indices)
        return "".join(symbols) if short else symbols

    def shown(indices: tuple[int, ...]) -> str:
        text = ("" if short else " ").join(dfa.alphabet[k] for k in indices)
        return text if len(text) <= 40 else f"{text[:39]}…"

    u, p = shown(counter.loop), counter.period
    around = f"{shown(counter.prefix)}({u})^k{shown(counter.suffix)}"
    help_ = (
        "positions modulo m are enough for it: mod=True (--mod)"
        if modular
        else "count instead, as PARITY does by F (2*#(a) = #*(a))"
    )
    return NotStarFreeError(
        f"the language is not star-free: it counts ({u}) modulo {p}, since {around} belongs or not "
        f"depending on k modulo {p}. No formula without counting defines it; {help_}, or "
        'depth="log" (--depth log), which computes every regular language',
        word(counter.prefix),
        word(counter.loop),
        word(counter.suffix),
        counter.period,
    )


def _formula(dfa: DFA, modulus: int) -> Formula:
    """The smallest of the formulas found: fewest layers, then fewest nodes."""
    best: tuple[tuple[int, int], Formula] | None = None
    trouble = ""
    for lost, won in ((True, False), (False, False), (False, True), (True, True)):
        machine = to_machine(dfa, modulus, lost, won)
        answers = {answer for row in machine.answer for answer in row}
        if (lost and "lost" not in answers) or (won and "won" not in answers):
            continue
        machine = reduced(machine)
        try:
            frames = _frames(machine, TRIES if len(machine.step) <= 8 else 0)
        except DecompositionTooLargeError as error:
            trouble = str(error)
            continue
        for frame in frames:
            try:
                formula = _accepts(dfa, machine, cascade(machine, frame))
            except DecompositionTooLargeError as error:
                trouble = str(error)
                continue
            cost = _cost(formula)
            if best is None or cost < best[0]:
                best = (cost, formula)
    if best is None:
        raise TooDeepError(
            f"the language is star-free, but too large to translate: {trouble} of its automaton "
            f'with {len(dfa.step)} states; depth="log" (--depth log) computes it'
        )
    return best[1]


def _frames(machine: StateMachine, tries: int) -> list[Skeleton]:
    """The shallowest decompositions among the ways to fill the machine."""
    frames: list[tuple[int, int, int, Skeleton]] = []
    trouble = DecompositionTooLargeError("")
    for total in completions(machine, tries):
        try:
            frame = skeleton(total)
        except DecompositionTooLargeError as error:
            trouble = error
            continue
        frames.append((frame.levels, len(frame.images), len(frames), frame))
    if not frames:
        raise trouble
    return [frame for _, _, _, frame in islice(sorted(frames, key=lambda f: f[:3]), BUILT)]


def _cost(formula: Formula) -> tuple[int, int]:
    """Layers of attention (a strict `Y(f S g)` is one) and distinct nodes."""
    rows, _ = distinct(formula)
    depth: list[int] = []
    for node, places in rows:
        below = max((depth[place] for place in places), default=0)
        strict = isinstance(node, Yesterday) and isinstance(node.operand, Since | Once)
        here = isinstance(node, Since | Once | Yesterday) and not strict
        depth.append(below + here)
    return depth[-1], len(rows)


def _accepts(dfa: DFA, machine: StateMachine, levels: Cascade) -> Formula:
    """Level by level the bits of the cascade, then the answer.

    `x_t = stays S reset_t` holds if the level's label after this position is t, and `stays` is
    written as the negation of all resets, so that the bits of a level share one head.
    """
    letters = len(machine.letters)
    bits: dict[tuple[int, int], Formula] = {}

    def has_label(level: int, label: int) -> Formula:
        return bits[level, label]

    def is_letter(chosen: frozenset[int]) -> Formula:
        return _letters(dfa.alphabet, machine, chosen)

    for level, size in enumerate(levels.labels):
        decision = decide(levels.actions[level], levels.labels, letters)
        resets = [holds(decision, t, has_label, is_letter) for t in range(size)]
        stays = STAYS in values_of(decision)
        unmoved = negation(any_of(resets))
        for label in range(1, size):
            after = resets[label]
            if stays and after != FALSE:
                after = Since(unmoved, after)
            bits[level, label] = _yesterday(after)

    # Where a word is lost or won, what `yes` says is free: it counts only while neither is.
    final = {
        path: {
            letter: reply if reply in ("lost", "won") else "open" for letter, reply in row.items()
        }
        for path, row in levels.answers.items()
    }
    open_ = {
        path: {letter: reply for letter, reply in row.items() if reply in ("yes", "no")}
        for path, row in levels.answers.items()
    }
    ends = decide(final, levels.labels, letters)
    lost, won = (holds(ends, value, has_label, is_letter) for value in ("lost", "won"))
    yes = holds(decide(open_, levels.labels, letters), "yes", has_label, is_letter)
    alive = TRUE if lost == FALSE else Not(Once(lost))
    if won == FALSE:
        return all_of([yes, alive])
    return any_of([Once(all_of([won, alive])), all_of([yes, alive])])


def _yesterday(formula: Formula) -> Formula:
    if formula == FALSE:
        return FALSE
    return Not(FIRST) if formula == TRUE else Yesterday(formula)


def _letters(alphabet: tuple[str, ...], machine: StateMachine, chosen: frozenset[int]) -> Formula:
    """The letter at this position is one of the chosen."""
    of_type: dict[int, set[int]] = {r: set() for r in range(machine.modulus)}
    for letter in chosen:
        symbol, r = machine.letters[letter]
        of_type[r].add(symbol)
    together: dict[frozenset[int], list[int]] = {}
    for r, symbols in of_type.items():
        together.setdefault(frozenset(symbols), []).append(r)
    if len(together) == 1:
        return _symbols(alphabet, next(iter(together)))
    return any_of(
        all_of([any_of(Mod(machine.modulus, r) for r in types), _symbols(alphabet, symbols)])
        for symbols, types in together.items()
    )


def _symbols(alphabet: tuple[str, ...], chosen: frozenset[int]) -> Formula:
    rest = frozenset(range(len(alphabet))) - chosen
    if len(rest) < len(chosen):
        return negation(any_of(Symbol(alphabet[k]) for k in sorted(rest)))
    return any_of(Symbol(alphabet[k]) for k in sorted(chosen))
