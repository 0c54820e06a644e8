"""Agreement on every word: what is said to agree does so on all short words."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import softhat
from softhat.logic.random import random_formula
from softhat.logic.syntax.nodes import Formula
from softhat.proof import agreement
from softhat.proof.agreement import agree
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Key, Space
from softhat.proof.claims import claimed
from softhat.proof.every_word import atoms_below
from tests.logic.oracle import truth as by_definition
from tests.slices import every, sizes


def agrees(
    left: str | Formula, right: str | Formula, symbols: str = "ab", sets: bool = False
) -> bool:
    atoms = Atoms(Space(symbols, sets))
    parsed = {
        name: softhat.parse(x) if isinstance(x, str) else x
        for name, x in (("f", left), ("g", right))
    }
    functions = claimed(atoms, parsed)
    return agree(atoms, functions["f"], functions["g"])


EQUAL = [
    ("O (a S b)", "O b"),
    ("F (a U b)", "F b"),
    ("O O a", "O a"),
    ("H O H a", "H (first -> a) & O H a"),
    ("a S (a S b)", "a S b"),
    ("Y last", "false"),
    ("F N a", "true"),
    ("X Y a", "!last & a"),
    ("Y X a", "!first & a"),
    ("G F (a & last) -> F (a & N a)", "true"),
    ("mod(6, 1)", "mod(2, 1) & mod(3, 1)"),
    ("mod(4, 1) & Y mod(4, 2)", "false"),
    ("#(a) >= 2", "O (a & Y O a)"),
    ("#>(a) >= 2", "F (a & X F a)"),
    ("#*(a) >= 1", "O a | F a"),
    ("#(a) + #(!a) >= 3", "Y Y true"),
    ("H #(b) = 2*#(a)", "false"),
    ("O (#(a) + #(b) <= 1)", "true"),
    ("#(O a) > #(Y O a)", "O a"),
    ("#(mod(5, 1) & mod(5, 2) -> b) > #(O a)", "i > #(O a)"),
    ("#(a) + #>(a) - #*(a) >= 1", "a"),
    ("(Y a -> a S b) & H (Y a -> a S b)", "H (Y a -> a S b)"),
]


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_what_agrees(left: str, right: str) -> None:
    assert agrees(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("O (a S b)", "O a"),
        ("Y a", "Z a"),
        ("O a", "F a"),
        ("O H a", "H O a & O a & H a"),
        ("#(a) >= 2", "#(a) >= 3"),
        ("#(a) >= 60", "#(a) >= 61"),
        ("#*(a) >= 1", "O a"),
        ("mod(5, 1)", "mod(5, 1) & !(Y Y Y Y Y Y true)"),
        ("#(a) >= #(b)", "#(a) > #(b)"),
        ("#(a) - #(b) >= 5", "false"),
        ("#>(a) > 2*#(b)", "#>(a) > 2*#(b) & !(#(b) >= 4)"),
        ("X X X a", "X X X (a & Y Y Y true) & !Y Y Y Y Y true"),
        ("true", "!last | a"),
        ("a U b", "(a U b) & !(O (a & X X X last))"),
    ],
)
def test_what_does_not(left: str, right: str) -> None:
    assert not agrees(left, right)


def test_sets_of_propositions() -> None:
    assert agrees("O (p S q)", "O q", "pq", sets=True)
    assert agrees("p & q -> O (p & q)", "true", "pq", sets=True)
    assert not agrees("p & q", "false", "pq", sets=True)
    assert not agrees("O (p S q)", "O p", "pq", sets=True)


WORDS = ["".join(word) for n in range(1, 6) for word in product("ab", repeat=n)]


def check(seed: int, size: int, family: str) -> bool:
    """Two random formulas, the second often nearly the first: a yes is checked on words."""
    rng = np.random.default_rng([seed, size])
    f, g, h = (random_formula(rng, size, "ab", family) for _ in range(3))
    joined = [softhat.parse(f"({f}) & ({g})"), softhat.parse(f"({f}) & (({g}) | ({h}))")]
    pairs = [(f, g), (joined[0], joined[1]), (f, joined[0]), (f, softhat.parse(f"({f}) | ({h})"))]
    said = False
    for left, right in pairs:
        if agrees(left, right):
            said = True
            for word in WORDS:
                assert by_definition(left, word) == by_definition(right, word), (left, right, word)
    return said


@pytest.mark.parametrize(
    "family", every(2, ["past", "two-way", "all", "counting", "past-counting"])
)
def test_yes_is_right(family: str) -> None:
    assert sum(check(seed, 5, family) for seed in range(30)) >= 3


@pytest.mark.full
@pytest.mark.parametrize("family", ["past", "two-way", "all", "counting", "past-counting"])
def test_yes_is_right_of_many(family: str) -> None:
    for seed in range(1000, 1600):
        check(seed, 3 + seed % 6, family)


def test_too_much_work_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "WORK", 3)
    assert not agrees("O (a S b)", "O b")


@pytest.mark.parametrize("count", sizes(60, 1_000))
@pytest.mark.parametrize("sets", [False, True])
def test_questions_are_the_same_only_if_functions_are(sets: bool, count: int) -> None:
    """In one space functions say the same exactly if they are equal. In another, where more came
    before, most say the same: atoms may stand in another order there."""
    rng = np.random.default_rng(5)
    texts = [random_formula(rng, 4 + k % 9, "ab") for k in range(count)]
    one, other = (Atoms(Space("ab", sets)) for _ in range(2))
    claimed(other, {"before": softhat.parse("#(Y b) >= 3 & (b U X a) S !a")})
    ours, theirs = ([claimed(at, {"f": f})["f"] for f in texts] for at in (one, other))
    same = sum(_says(one, f) == _says(other, g) for f, g in zip(ours, theirs, strict=True))
    assert same > 0.7 * count
    assert len({_says(one, f) for f in ours}) == len(set(ours))


def _says(atoms: Atoms, function: int) -> Key:
    question = agreement._question(atoms, function, function, atoms_below(atoms, [function]))
    assert question is not None
    return question


def test_what_is_proved_is_proved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in another space; with what the proof assumed of lengths; and nothing else is."""
    monkeypatch.setattr(agreement, "_PROVED", {})
    assert _assumed("O (a S b)", "O b") == (True, None)

    def proves(atoms: Atoms, *_: object) -> bool:
        atoms.limit(50)
        return True

    monkeypatch.setattr(agreement, "_agree", proves)
    assert _assumed("F (a U b)", "F b") == (True, 50)

    def fails(*_: object) -> bool:
        raise AssertionError

    monkeypatch.setattr(agreement, "_agree", fails)
    assert _assumed("O (a S b)", "O b") == (True, None)
    assert _assumed("F (a U b)", "F b") == (True, 50)
    for other in (("O (a S b)", "O a"), ("O (b S a)", "O b"), ("F (b U a)", "F a")):
        with pytest.raises(AssertionError):
            _assumed(*other)


def _assumed(left: str, right: str) -> tuple[bool, int | None]:
    atoms = Atoms(Space("ab", False))
    functions = claimed(atoms, {"f": softhat.parse(left), "g": softhat.parse(right)})
    return agree(atoms, functions["f"], functions["g"]), atoms.longest
