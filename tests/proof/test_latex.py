"""A certificate as a table for papers."""

from __future__ import annotations

from softhat.proof.latex import lengths_table


def test_a_row_a_number_format() -> None:
    lines = lengths_table({"float16": 2048, "bfloat16": 0}).split("\n")
    assert lines[0] == r"\begin{tabular}{lr}" and lines[-1] == r"\end{tabular}"
    assert r"float16 & $2\,048$ \\" in lines and r"bfloat16 & not proved \\" in lines
