"""The laws of `softhat.proof.operators` are those that `proofs/Laws.v` proves, side by side."""

from __future__ import annotations

from pathlib import Path

from softhat.export.coq.formulas import surface
from softhat.logic.syntax.nodes import Formula
from softhat.proof.operators import LAWS

FILE = Path(__file__).parents[2] / "proofs" / "Laws.v"


def _text(formula: Formula) -> str:
    """The formula as Coq writes it, with the two letters as they stand in the table."""
    text = surface(formula, {"f": 0, "g": 1}, {})
    return text.replace("(Symbol 0)", "f").replace("(Symbol 1)", "g")


def _sides(line: str) -> tuple[str, str, str]:
    """Name, left and right side: the line ends with two terms in brackets."""
    name, rest = line.removeprefix('Law "').split('" ', 1)
    depth = 0
    for at, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return name, rest[: at + 1], rest[at + 2 :]
    raise AssertionError(line)


def test_both_tables_are_the_same() -> None:
    lines = [line.strip().rstrip(".];") for line in FILE.read_text().splitlines()]
    proved = [_sides(line) for line in lines if line.startswith('Law "')]
    relied_on = [(law.name, _text(law.left), _text(law.right)) for law in LAWS]
    assert proved == relied_on
