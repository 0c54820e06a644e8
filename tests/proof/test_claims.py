"""Claims as canonical functions: equal ones have one number, and only equal ones do."""

from __future__ import annotations

import pytest
from hypothesis import given

import softhat
from softhat.logic.syntax import nodes
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.claims import Claims, claimed
from tests.logic.strategies import formulas
from tests.slices import examples


def functions(*texts: str, symbols: str = "abc", propositional: bool = False) -> list[int]:
    atoms = Atoms(Space(symbols, propositional))
    claims = {str(k): softhat.parse(text) for k, text in enumerate(texts)}
    return list(claimed(atoms, claims).values())


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a | b", "!c"),
        ("a & b", "false"),
        ("O a", "true S a"),
        ("H a", "!O !a"),
        ("a S b", "(a | b) S b"),
        ("Y a & Y b", "Y b & Y a"),
        ("Y true", "!first"),
        ("X true", "!last"),
        ("a S b", "(a & !b) S b"),
        ("#(a) > 1", "!(#(a) <= 1)"),
        ("#(a) + #(b) >= 1", "#(a) + #(b) > 0"),
        ("2*#(a) >= 3", "#(a) >= 2"),
        ("#(!a) >= 4", "i - #(a) >= 4"),
        ("#>(true) = 1", "n - i = 0"),
        ("#(a) = #(b)", "#(b) = #(a)"),
        ("#(a) != 3", "#(a) < 3 | #(a) > 3"),
        ("#(a) >= 0", "true"),
        ("0 - #(a) - n >= 0", "false"),
        ("mod(1, 0)", "true"),
        ("a W b", "b R (a | b)"),
        ("a M b", "b U (a & b)"),
        ("#(a) <= 100000000000000000000", "true"),
    ],
)
def test_equal_claims_are_one_function(left: str, right: str) -> None:
    f, g = functions(left, right)
    assert f == g


@pytest.mark.parametrize(
    ("left", "right"),
    [("a S b", "b S a"), ("Y a", "X a"), ("#(a) > 1", "#(a) > 2"), ("#(a) > 1", "#>(a) > 1"),
     ("a", "b"), ("O a", "F a"), ("mod(3, 1)", "mod(3, 2)"), ("first", "last")],
)  # fmt: skip
def test_different_claims_are_not(left: str, right: str) -> None:
    f, g = functions(left, right)
    assert f != g


def test_propositions_do_not_exclude_each_other() -> None:
    f, g = functions("p & q", "false", symbols="pq", propositional=True)
    assert f != g


@given(formulas(size=8), formulas(size=8))
@examples(60)
def test_one_number_is_one_meaning(f: nodes.Formula, g: nodes.Formula) -> None:
    atoms = Atoms(Space("abc", False))
    found = claimed(atoms, {"f": f, "g": g})
    if found["f"] == found["g"]:
        assert softhat.equivalent(f, g, alphabet="abc", up_to=5) is None


def test_a_claim_is_met_in_other_words_only_if_that_is_proved() -> None:
    atoms = Atoms(Space("abc", False))
    written = {"out": softhat.parse("O O a & (b S b | H (c -> O c))")}
    claims = Claims(atoms, written)
    for text in ("O O a & (b S b | H (c -> O c))", "O a"):
        assert claims.met("out", claimed(atoms, {"g": softhat.parse(text)})["g"])
    for text in ("O b", "true", "O a & Y a"):
        assert not claims.met("out", claimed(atoms, {"g": softhat.parse(text)})["g"])


def test_a_symbol_outside_the_alphabet_is_an_error() -> None:
    with pytest.raises(softhat.SofthatError, match="'d' is not in the alphabet"):
        functions("a & d")
