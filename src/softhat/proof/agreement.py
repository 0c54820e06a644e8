"""Are two functions proved to be equal at every position of every word?

`softhat.proof.every_word` looks whether their difference can hold anywhere. Here is what it is
asked: with atoms that both have free (what is true whatever they mean is true) or with what these
mean, and with counts of the same as one. What was proved is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import count

from softhat.proof.atoms import Atoms, CountSum
from softhat.proof.boolean import Key
from softhat.proof.every_word import (
    Renamed,
    WordSearch,
    atoms_below,
    is_temporal,
    operands,
)
from softhat.proof.situations import LeftOpenError
from softhat.proof.sums import is_comparison

WORK = 1 << 22
"""Situations (a state, a letter, guesses) that are looked at before the question is left open."""
_LITTLE_WORK = 1 << 18
"""For a first try."""
_MOST_COUNTED = 8
"""Counted functions that are compared with each other."""
_LEVEL = 1 << 55
"""Of comparisons of counts that are the same, in decision diagrams."""


def agree(atoms: Atoms, f: int, g: int) -> bool:
    """Is it proved that two functions are equal at every position of every word?

    Atoms that both have may take any value, if the question is too large otherwise: what is true
    whatever they mean is true.
    """
    if f == g:
        return True
    ours, theirs = atoms_below(atoms, [f]), atoms_below(atoms, [g])
    question = _question(atoms, f, g, ours | theirs)
    if question in _PROVED:
        atoms.limit(_PROVED[question])
        return True
    before = atoms.exchange_limit(None)
    try:
        agreed = _agree(atoms, f, g, ours, theirs)
    finally:
        assumed = atoms.exchange_limit(before)
        atoms.limit(assumed)
    if agreed and question is not None:
        _PROVED[question] = assumed
        while len(_PROVED) > _REMEMBERED:
            _PROVED.pop(next(iter(_PROVED)))
    return agreed


_PROVED: dict[Key | None, int | None] = {}
"""The latest functions that were proved to agree, and the length that this was proved to: the
compiler asks the checker whether it will follow, and the checker asks itself again."""
_REMEMBERED = 256
_NUMBERS: dict[Hashable, int] = {}
_FRESH = count(1)
"""What functions of all spaces say, numbered: no number is given twice."""
_MOST_NUMBERS = 1 << 15


def _number(what: Hashable) -> int:
    """One number for all that is equal; another, never another thing's, when much was asked."""
    if len(_NUMBERS) > _MOST_NUMBERS:
        _NUMBERS.clear()
    return _NUMBERS.setdefault(what, next(_FRESH))


def _question(atoms: Atoms, f: int, g: int, keys: set[Key]) -> Key | None:
    """All that the answer depends on, in whichever space; None where that is more than atoms of
    formulas say."""
    plain = ("since", "previous", "first", "last", "mod", "at", "proposition")
    if type(atoms) is not Atoms or not all(k[0] in plain or is_comparison(k) for k in keys):
        return None
    functions = [f, g, *(read for key in keys for read in operands(key))]
    said = atoms.space.said(functions, _named, _number)
    return (WORK, atoms.space.propositional, atoms.space.everything, *said[:2])


def _named(key: Key, says: Callable[[int], int]) -> Key:
    """An atom's name with what the functions that it reads say, not with their numbers."""
    match key:
        case ("since", way, bad, value):
            return ("since", way, says(bad), says(value))
        case ("previous", way, value):
            return ("previous", way, says(value))
        case ("at least", counts, position, length, threshold):
            counted = tuple((over, says(f), a) for (over, f), a in counts)
            return ("at least", counted, position, length, threshold)
    return key


def _agree(atoms: Atoms, f: int, g: int, ours: set[Key], theirs: set[Key]) -> bool:
    common = frozenset(key for key in ours & theirs if is_temporal(key))
    difference = atoms.space.differ(f, g)
    if _never(atoms, difference, common, {}):
        return True
    renamed = _counts_of_the_same(atoms, ours | theirs)
    return bool(renamed) and _never(atoms, difference, common, renamed)


def _never(atoms: Atoms, function: int, common: frozenset[Key], renamed: Renamed) -> bool:
    questions = dict.fromkeys((frozenset[Key](), common))
    for work in (min(_LITTLE_WORK, WORK), WORK):  # which of the two is easy shows soon
        for free in tuple(questions):
            try:
                if WordSearch(atoms, function, free, renamed, work).never():
                    return True
            except LeftOpenError:
                continue
            if not free:  # what some word shows, the same with more freedom cannot exclude
                return False
            del questions[free]
    return False


def _counts_of_the_same(atoms: Atoms, keys: set[Key]) -> dict[Key, int]:
    """Comparisons with each counted function replaced by the first that is proved to be the same,
    or the opposite, or a constant."""
    space = atoms.space
    comparisons = sorted((key for key in keys if is_comparison(key)), key=repr)
    counted = list(dict.fromkeys(f for key in comparisons for f in operands(key)))
    if len(counted) > _MOST_COUNTED:
        return {}
    same: dict[int, int] = {}
    for f in counted:
        known = [space.true, *dict.fromkeys(g for g in same.values())]
        for g in [*known, *map(space.negation, known)]:
            if agree(atoms, f, g):
                same[f] = g
                break
        else:
            same[f] = f
    renamed = {}
    for key in comparisons:
        if any(same[f] != f for f in operands(key)):
            _, counts, position, length, threshold = key
            total = CountSum(position=position, length=length)
            for (over, f), a in counts:
                total = total.plus(CountSum({(over, same[f]): 1}), a)
            renamed[key] = atoms.at_least(total, threshold, _LEVEL)
    return renamed
