"""Laws of the textbooks for words of every length, and the patterns of specifications.

The patterns are those of Dwyer, Avrunin and Corbett (*Patterns in Property Specifications for
Finite-State Verification*, 1999): eight kinds, each in five scopes, read on finite words.
"""

from __future__ import annotations

import numpy as np
import pytest

from softhat import equivalent, implies, parse, satisfiable
from softhat.logic.syntax.nodes import Xor
from tests.logic.decide import mona
from tests.logic.decide.disguise import disguise

LAWS = [
    # dualities
    ("a T b", "!(!a S !b)"),
    ("a S b", "!(!a T !b)"),
    ("a R b", "!(!a U !b)"),
    ("a U b", "!(!a R !b)"),
    ("a W b", "!(!a M !b)"),
    ("H a", "!O !a"),
    ("G a", "!F !a"),
    ("Z a", "!Y !a"),
    ("N a", "!X !a"),
    # definitions
    ("O a", "true S a"),
    ("F a", "true U a"),
    ("a W b", "(a U b) | G a"),
    ("a W b", "b R (a | b)"),
    ("a M b", "b U (a & b)"),
    ("first", "Z false"),
    ("last", "N false"),
    # expansions
    ("a S b", "b | a & Y (a S b)"),
    ("a T b", "b & (a | Z (a T b))"),
    ("a U b", "b | a & X (a U b)"),
    ("a R b", "b & (a | N (a R b))"),
    ("O a", "a | Y O a"),
    ("H a", "a & Z H a"),
    ("F a", "a | X F a"),
    ("G a", "a & N G a"),
    ("a W b", "b | a & N (a W b)"),
    ("a M b", "b & (a | X (a M b))"),
    # distribution, idempotence, absorption
    ("O (a | b)", "O a | O b"),
    ("H (a & b)", "H a & H b"),
    ("F (a | b)", "F a | F b"),
    ("G (a & b)", "G a & G b"),
    ("Y (a & b)", "Y a & Y b"),
    ("X (a | b)", "X a | X b"),
    ("(a & b) S c", "a S c & b S c"),
    ("a S (b | c)", "a S b | a S c"),
    ("(a & b) U c", "a U c & b U c"),
    ("a U (b | c)", "a U b | a U c"),
    ("a S (a S b)", "a S b"),
    ("a U (a U b)", "a U b"),
    ("O O a", "O a"),
    ("F O F a", "O F a"),
    ("H O H a", "O (first & a)"),
    # past and future together, on finite words
    ("G F a", "F (last & a)"),
    ("H O a", "O (first & a)"),
    ("F G a", "G F a"),
    ("F Y a", "Y a | F (a & X true)"),
    ("X Y a", "a & X true"),
    ("Y X a", "a & Y true"),
    ("O F a", "F O a"),
    ("F O a", "F a | O a"),
    ("G H a", "G a & H a"),
    ("a U (b & O c)", "a U (b & O c) & F O c"),
    ("F (a & O b)", "(O b & F a) | F (b & F a)"),
    ("O (a & X (b U c))", "O (a & X (b U c))"),
    # mod
    ("mod(2, 0) & mod(3, 0)", "mod(6, 0)"),
    ("mod(2, 1)", "mod(4, 1) | mod(4, 3)"),
    ("mod(2, 0)", "!mod(2, 1)"),
    ("mod(3, 1)", "first | Y mod(3, 0)"),
    ("X mod(3, 2)", "mod(3, 1) & X true"),
    ("mod(1, 0)", "true"),
    ("mod(4, 2) & mod(6, 5)", "false"),
    ("mod(4, 3) & mod(6, 5)", "mod(12, 11)"),
    ("O mod(5, 0)", "Y Y Y Y true"),
    ("i % 2 = 0", "mod(2, 0)"),
    ("H (a <-> mod(2, 1))", "H (a <-> (first | Y Y (mod(2, 1))))"),
]
NO_LAWS = [
    ("G F a", "F a"),
    ("O a", "a"),
    ("X Y a", "a"),
    ("a S b", "a W b"),
    ("a U (b & c)", "a U b & a U c"),
    ("(a | b) U c", "a U c | b U c"),
    ("mod(2, 0)", "mod(4, 0)"),
    ("mod(7, 6)", "false"),
    ("Y Y Y Y Y Y Y Y a", "false"),
]


@pytest.mark.parametrize(("left", "right"), LAWS)
def test_laws_hold_for_every_length(left: str, right: str) -> None:
    assert equivalent(left, right, alphabet="abc") is None
    assert equivalent(left, right, propositions="abc") is None
    assert implies(left, right, propositions="abc") is None


@mona.needs_mona
@pytest.mark.parametrize(("left", "right"), NO_LAWS)
def test_what_is_no_law(left: str, right: str) -> None:
    found = equivalent(left, right, propositions="abc")
    wanted = Xor(parse(left), parse(right))
    assert found is not None
    assert len(found) == mona.least_length(wanted, "anywhere", "abc", True)


TWICE = "(!p & !r) U (r | ((p & !r) U (r | ((!p & !r) U (r | ((p & !r) U (r | {})))))))"
SOON = "s & X (!r U t) -> X (!r U (t & F p))"
PATTERNS = {
    "absence": (
        "G !p",
        "F r -> !p U r",
        "G (q -> G !p)",
        "G (q & !r & F r -> !p U r)",
        "G (q & !r -> !p W r)",
    ),
    "existence": (
        "F p",
        "!r W (p & !r)",
        "G !q | F (q & F p)",
        "G (q & !r -> !r W (p & !r))",
        "G (q & !r -> !r U (p & !r))",
    ),
    "bounded existence": (
        "!p W p W !p W p W G !p",
        f"F r -> {TWICE.format('(!p U r)')}",
        "F q -> !q U (q & (!p W p W !p W p W G !p))",
        f"G (q & F r -> {TWICE.format('(!p U r)')})",
        f"G (q -> {TWICE.format('(!p W r) | G p')})",
    ),
    "universality": (
        "G p",
        "F r -> p U r",
        "G (q -> G p)",
        "G (q & !r & F r -> p U r)",
        "G (q & !r -> p W r)",
    ),
    "precedence": (
        "!p W s",
        "F r -> !p U (s | r)",
        "G !q | F (q & (!p W s))",
        "G (q & !r & F r -> !p U (s | r))",
        "G (q & !r -> !p W (s | r))",
    ),
    "response": (
        "G (p -> F s)",
        "F r -> (p -> !r U (s & !r)) U r",
        "G (q -> G (p -> F s))",
        "G (q & !r & F r -> (p -> !r U (s & !r)) U r)",
        "G (q & !r -> (p -> !r U (s & !r)) W r)",
    ),
    "precedence chain": (
        "F p -> !p U (s & !p & X (!p U t))",
        "F r -> !p U (r | s & !p & X (!p U t))",
        "G !q | !q U (q & (F p -> !p U (s & !p & X (!p U t))))",
        "G (q & F r -> !p U (r | s & !p & X (!p U t)))",
        "G (q -> F p -> !p U (r | s & !p & X (!p U t)))",
    ),
    "response chain": (
        "G (s & X F t -> X F (t & F p))",
        f"F r -> ({SOON}) U r",
        "G (q -> G (s & X F t -> X (!t U (t & F p))))",
        f"G (q & F r -> ({SOON}) U r)",
        f"G (q -> ({SOON}) U (r | G ({SOON})))",
    ),
}
SCOPED = [(f"{kind} {scope}", text) for kind, forms in PATTERNS.items()
          for scope, text in enumerate(forms)]  # fmt: skip


def test_there_are_forty() -> None:
    assert len({text for _, text in SCOPED}) == 40


@pytest.mark.parametrize(("name", "text"), SCOPED)
def test_patterns_in_other_words(name: str, text: str) -> None:
    f = parse(text)
    for seed in range(3):
        g = disguise(f, np.random.default_rng(seed))
        assert equivalent(f, g, propositions="pqrst") is None


@mona.needs_mona
@pytest.mark.parametrize(("name", "text"), SCOPED)
def test_mona_on_patterns(name: str, text: str) -> None:
    """The pattern, its negation, and what strengthening it in a usual mistake changes."""
    f = parse(text)
    mistaken = parse(text.replace(" W ", " U ").replace("F r -> ", "").replace("X F t", "F t"))
    for wanted, where, found in (
        (f, "first", satisfiable(f, propositions="pqrst")),
        (~f, "first", satisfiable(~f, propositions="pqrst")),
        (Xor(f, mistaken), "anywhere", equivalent(f, mistaken, propositions="pqrst")),
    ):
        length = mona.least_length(wanted, where, "pqrst", True)
        assert (None if found is None else len(found)) == length


def test_scopes_imply_each_other() -> None:
    """What holds globally holds after q; after q until r implies between q and r."""
    for kind in ("absence", "universality", "response"):
        globally, _, after, between, until = PATTERNS[kind]
        assert implies(globally, after, propositions="pqrs") is None
        assert implies(until, between, propositions="pqrs") is None
        assert implies(between, until, propositions="pqrs") is not None
