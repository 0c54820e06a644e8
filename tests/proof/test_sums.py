"""Comparisons by what is behind: what positions add, and what can be told of it."""

from __future__ import annotations

import pytest

import softhat
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.claims import claimed
from softhat.proof.sums import LARGEST, form_of, is_comparison, kept_sum


def key_of(text: str) -> tuple[Atoms, tuple[object, ...]]:
    atoms = Atoms(Space("ab", False))
    function = claimed(atoms, {"f": softhat.parse(text)})["f"]
    (key,) = (key for key in atoms.space.atoms_in(function) if is_comparison(key))
    return atoms, key


@pytest.mark.parametrize(
    ("text", "past", "future"),
    [
        ("#(a) >= 3", "nothing", "more"),
        ("#>(a) >= 3", "more", "nothing"),
        ("#*(a) >= 3", "the same", "the same"),
        ("#(a) >= #(b)", "nothing", None),
        ("#>(a) + #(b) >= 2", "more", "more"),
        ("i >= 14", "nothing", "more"),
    ],
)
def test_what_is_ahead(text: str, past: str | None, future: str | None) -> None:
    atoms, key = key_of(text)
    for way, wanted in (("past", past), ("future", future)):
        kept = kept_sum(atoms.space, key, way)
        assert (kept and kept.ahead) == wanted


def test_large_numbers_are_left_alone() -> None:
    atoms, key = key_of(f"#(a) >= {LARGEST + 1}")
    assert kept_sum(atoms.space, key, "past") is None
    atoms, key = key_of("#(a) >= 9*#(b)")
    assert kept_sum(atoms.space, key, "past") is None  # too steep to come back from beyond


def test_a_form_says_where_its_comparison_holds() -> None:
    _, key = key_of("#(a) >= 3")
    yes, no = form_of(key, True), form_of(key, False)
    assert (yes.constant, no.constant) == (-3, 2)  # #(a) - 3 >= 0, 2 - #(a) >= 0
    assert [*yes.counts.values(), *no.counts.values()] == [1, -1]
