"""Laws in LaTeX, written out by hand."""

from __future__ import annotations

import pytest

from softhat.numbers.laws.latex import law_latex


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("4·n", r"4 \cdot n"),
        ("n²·lcm(1..n+1)", r"n^{2} \cdot \operatorname{lcm}(1,\dots,n+1)"),
        ("4·2^⌈log2(n+2)⌉", r"4 \cdot 2^{\lceil \log_2(n+2) \rceil}"),
        ("1/16", r"\frac{1}{16}"),
        ("max(ln(n), 1e-05)", r"\max(\ln(n), 1 \cdot 10^{-5})"),
    ],
)
def test_by_hand(text: str, latex: str) -> None:
    assert law_latex(text) == latex
