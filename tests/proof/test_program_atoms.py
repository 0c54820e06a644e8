"""Atoms of programs: what excludes what, by every short word, and steps that turn in time."""

from __future__ import annotations

import random

import pytest

from softhat.proof.atoms import CountSum, Direction
from softhat.proof.boolean import Space
from softhat.proof.program_atoms import ProgramAtoms
from tests.proof.test_atoms import WORDS, held


def test_what_excludes_what() -> None:
    atoms = ProgramAtoms(Space("abc", False))
    space = atoms.space
    a, b = space.symbol("a"), space.symbol("b")
    count = CountSum({("past", a): 1})
    two, five = (atoms.at_least(count, k, 0) for k in (2, 5))
    assert atoms.exclusive(a, b) and not atoms.exclusive(a, space.negation(b))
    assert atoms.exclusive(space.negation(two), five) and not atoms.exclusive(two, five)
    one, other = atoms.previous(a, "past", 0), atoms.previous(b, "past", 0)
    assert atoms.exclusive(one, other)
    assert not atoms.exclusive(one, atoms.previous(b, "future", 0))


@pytest.mark.parametrize("seed", range(3))
def test_what_excludes_each_other_never_holds_together(seed: int) -> None:
    """Random functions of symbols, positions, and what stands before and after, on short words."""
    dice = random.Random(seed)
    atoms = ProgramAtoms(Space("abc", False))
    space = atoms.space
    known = [space.symbol(c) for c in "abc"] + [atoms.position_at_least(1, k, 0) for k in (2, 3)]
    for _ in range(20):
        f, g = dice.choice(known), dice.choice(known)
        direction: Direction = dice.choice(["past", "past", "future"])
        known += [
            atoms.previous(f, direction, 0),
            space.negation(g),
            dice.choice([space.both, space.either])(f, g),
        ]
    said = 0
    for f, g in ((dice.choice(known), dice.choice(known)) for _ in range(200)):
        if atoms.exclusive(f, g) and space.both(f, g) != space.false:
            said += 1
            for word in WORDS:
                for i in range(1, len(word) + 1):
                    for nowhere in (False, True):
                        assert not (
                            held(atoms, f, word, i, nowhere) and held(atoms, g, word, i, nowhere)
                        )
    assert said


def test_all_that_a_position_can_be() -> None:
    """A position before has one of the symbols; a selection may have no key at all."""
    atoms = ProgramAtoms(Space("abc", False))
    space = atoms.space
    symbols = [space.symbol(c) for c in "abc"]
    before = [atoms.previous(f, "past", 0) for f in symbols]
    none = space.every(map(space.negation, before))
    assert atoms.exclusive(none, atoms.position_at_least(1, 2, 0))
    assert not atoms.exclusive(none, atoms.edge["past"])
    chosen = atoms.selection("all", frozenset({(space.true, symbols[0])}))
    read = [atoms.read(chosen, f, 0) for f in symbols]
    assert not atoms.exclusive(space.every(map(space.negation, read)), space.true)
    assert atoms.exclusive(space.either(read[0], read[1]), space.both(read[2], before[0]))


def test_steps_turn_where_they_say() -> None:
    """A bit that is true from 2 to 4 and from 6 on excludes what is true elsewhere."""
    atoms = ProgramAtoms(Space("abc", False))
    space = atoms.space
    bit = atoms.steps(((1, 0),), (2, 5, 6), 0)
    low, middle = atoms.steps(((1, 0),), (2,), 0), atoms.steps(((1, 0),), (5, 6), 0)
    assert atoms.exclusive(bit, middle)
    assert atoms.exclusive(bit, space.negation(low))
    assert not atoms.exclusive(bit, low)
    said = space.both(low, space.negation(middle))
    assert atoms.exclusive(said, space.negation(bit))


def test_codes_are_the_same_only_if_their_digits_are() -> None:
    """In any order, each digit once, and both sides of one negated."""
    atoms = ProgramAtoms(Space("abc", False))
    no = atoms.space.negation
    a, b, c = (atoms.space.symbol(x) for x in "abc")
    one = atoms.code("<=", [(a, b), (b, c)])
    for digits in ([(b, c), (a, b)], [(no(a), no(b)), (b, c)], [(a, b), (b, c), (no(b), no(c))]):
        assert atoms.code("<=", digits) == one
    others = [[(a, b)], [(a, c), (b, c)], [(a, no(b)), (b, c)], [(b, a), (b, c)], [(a, b), (c, b)]]
    numbers = [atoms.code("<=", digits) for digits in others]
    assert len({one, atoms.code("<", [(a, b), (b, c)]), *numbers}) == 2 + len(others)
    assert atoms.selection("<=", frozenset({(a, b), (b, c)})) not in {one, *numbers}
