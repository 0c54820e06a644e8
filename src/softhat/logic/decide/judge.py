"""Satisfiable and valid at once, with shortest words for and against, as far as it is cheap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from softhat.io.errors import SofthatError
from softhat.logic.decide.letters import letters_for
from softhat.logic.decide.questions import Effort, find_word, short_word
from softhat.logic.decide.short_words import Where
from softhat.logic.fragments import acceptance_position
from softhat.logic.predicates import longest_word
from softhat.logic.semantics.truth import resolve_at
from softhat.logic.semantics.words import Word
from softhat.logic.syntax.nodes import Formula, Not
from softhat.logic.syntax.walk import distinct

_CHEAP = Effort(steps=500_000, words=1 << 20)
_FEW = 1 << 18  # length^3 times the number of words that are tried where there is no proof
_LARGEST = 5_000  # distinct subformulas


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is known of a formula; None where it is not decided, and then `reason` says why.

    A word is for the formula if it is accepted, against it if not. A formula that looks both ways
    is read "anywhere" unless something else is said: true somewhere, false somewhere.
    """

    satisfiable: bool | None
    valid: bool | None
    model: Word | None
    counterexample: Word | None
    where: Where
    reason: str = ""


def judge(
    formula: Formula,
    alphabet: Iterable[str] | None = None,
    propositions: Iterable[str] | None = None,
    at: str | None = None,
) -> Judgement:
    """Is there a word for the formula, and is there one against it?"""
    where: Where = "anywhere"
    if at is not None or acceptance_position(formula) is not None:
        where = resolve_at(formula, at)
    if len(distinct(formula)[0]) > _LARGEST:
        return Judgement(None, None, None, None, where, "the formula is too large")
    words: list[Word | None] = []
    decided: list[bool] = []
    reason = ""
    for wanted in (formula, Not(formula)):
        try:
            words.append(find_word(wanted, where, [formula], alphabet, propositions, None, _CHEAP))
            decided.append(True)
        except SofthatError as error:
            reason = str(error).split(":")[0]
            words.append(_short_word(wanted, where, formula, alphabet, propositions))
            decided.append(words[-1] is not None)
    model, other = words
    return Judgement(
        model is not None if decided[0] else None,
        other is None if decided[1] else None,
        model,
        other,
        where,
        reason,
    )


def _short_word(
    wanted: Formula,
    where: Where,
    formula: Formula,
    alphabet: Iterable[str] | None,
    propositions: Iterable[str] | None,
) -> Word | None:
    """One that is found answers the question, whatever the proof says."""
    letters = letters_for([formula], alphabet, propositions)
    _, word = short_word(wanted, where, letters, 0, _FEW, longest_word(wanted))
    return None if word is None else letters.word(word)
