"""Whether a function holds somewhere, against all short words; and what is left open."""

from __future__ import annotations

import numpy as np
import pytest

import softhat
from softhat.logic.random import random_formula
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.claims import claimed
from softhat.proof.every_word import NO_NAMES, WordSearch, atoms_below
from softhat.proof.situations import LeftOpenError
from tests.logic.oracle import truth as by_definition
from tests.proof.test_agreement import WORDS


def search(text: str, work: int = 1 << 20) -> WordSearch:
    atoms = Atoms(Space("ab", False))
    function = claimed(atoms, {"f": softhat.parse(text)})["f"]
    return WordSearch(atoms, function, frozenset(), NO_NAMES, work)


def test_what_holds_nowhere_holds_in_no_word() -> None:
    rng = np.random.default_rng(11)
    nowhere = 0
    for size in range(4, 34):
        f, g = (random_formula(rng, size % 7 + 2, "ab", "two-way") for _ in range(2))
        both = f"({f}) & ({g}) & !({f})" if size % 2 else f"({f}) & !({g})"
        if search(both).never():
            nowhere += 1
            assert not any(any(by_definition(softhat.parse(both), word)) for word in WORDS)
    assert nowhere > 10
    assert search("Y last").never() and not search("Y Y Y first & !(a S b)").never()


def test_a_question_that_is_too_large_is_left_open() -> None:
    with pytest.raises(LeftOpenError):
        search("O (a S b) & !O b", work=1).never()


def test_what_free_atoms_read_does_not_matter() -> None:
    atoms = Atoms(Space("ab", False))
    function = claimed(atoms, {"f": softhat.parse("Y (a S Y b)")})["f"]
    every = atoms_below(atoms, [function])
    top = atoms.space.atoms_in(function)
    assert top < every and atoms_below(atoms, [function], frozenset(top)) == top
