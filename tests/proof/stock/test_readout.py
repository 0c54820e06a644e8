"""Heads are what their formulas say, or they are refused with the reason."""

from __future__ import annotations

import pytest

from softhat.io.errors import VoidError
from softhat.logic.syntax.parse import parse
from softhat.proof.boolean import Space
from softhat.proof.claims import Claims
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.readout import Readout
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell, Form

ONE, BOS, A, B = range(4)


def readout(**formulas: str) -> Readout:
    """Over a constant, `<bos>`, and the bits of a and b."""
    atoms = BoundedAtoms(Space(("a", "b"), False), 7)
    parsed = {name: parse(text, alphabet=("a", "b")) for name, text in formulas.items()}
    bits: list[Cell] = [BitCell(atoms.space.symbols(1)), BitCell(atoms.space.symbols(2))]
    cells = [ConstantCell(1.0, 1.0), ConstantCell(0.0, 1.0), *bits]
    return Readout(cells, atoms, Claims(atoms, parsed), parsed, 1e-4)


def row(**weights: float) -> Form:
    places = {"one": ONE, "bos": BOS, "a": A, "b": B}
    return Form({places[name]: w for name, w in weights.items()}, 0.0)


def test_classifiers() -> None:
    one = readout(output="a")
    one.classifier([row(a=-2), row(a=2)], several=False)
    one.classifier([row(b=2), row(b=-2)], several=False)  # b is not a
    for rows in ([row(a=-2), row(a=1)], [row(a=2), row(a=-2)], [row(a=-1e-5), row(a=1e-5)]):
        with pytest.raises(VoidError):
            one.classifier(rows, several=False)
    both = readout(first="a", always="true")
    both.classifier([row(a=3), row(one=1)], several=True)
    with pytest.raises(VoidError, match="one for each"):
        both.classifier([row(a=3)], several=True)
    with pytest.raises(VoidError, match="'always'"):
        both.classifier([row(a=3), row(a=1)], several=True)
    with pytest.raises(VoidError, match="adds a constant"):
        both.classifier([row(a=3, one=1), row(one=1)], several=True)


def test_language_models() -> None:
    given = {"a": "b", "b": "a", "<eos>": "false"}
    lm = readout(**given)
    never = row(one=-1)
    assert lm.language_model([row(b=1), row(a=1), never, never], ("a", "b")) == 2
    # Before the first symbol neither may come: with the other sign there, the head is wrong.
    with pytest.raises(VoidError, match="before the first"):
        lm.language_model([row(b=1, bos=2), row(a=1), never, never], ("a", "b"))
    with pytest.raises(VoidError, match="different sizes"):
        lm.language_model([row(b=2), row(a=1), never, never], ("a", "b"))
    with pytest.raises(VoidError, match="one row for each"):
        lm.language_model([row(b=1), row(a=1), never], ("a", "b"))
    with pytest.raises(VoidError, match="does not compute"):
        lm.language_model([row(a=1), row(a=1), never, never], ("a", "b"))
