"""The theorem about a model says what its certificate says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import softhat
from tests.cli.run import softhat as command


def test_the_theorem_of_a_model() -> None:
    model = softhat.compile("!c S a", alphabet="abc", attention="temperature")
    stated = softhat.state(model)
    assert "computes output: !c S a" in stated.text and "over a b c" in stated.text
    assert f"{model.certificate.max_length['float32']:,} symbols in float32" in stated.text
    assert r"\mathtt{c} \mathbin{\mathbf{S}} \mathtt{a}" in stated.latex
    assert r"\begin{theorem}" in stated.latex and "@article{yang2026simulating" in stated.latex
    assert r"\beta(n) = " in stated.latex


def test_the_theorem_of_a_block(tmp_path: Path) -> None:
    """It names the automaton, by whose own steps the certificate was made."""
    parity = softhat.from_regex("(b*ab*a)*b*", alphabet="ab", depth="log")
    model = softhat.compile(parity)
    model.save(tmp_path / "m")
    text = command("state", str(tmp_path / "m")).out
    assert "runs ⌈log₂ n⌉ times on a word of n symbols" in text
    assert "that starts in 0 (accepting: 0; by a: 0 → 1, 1 → 0; by b: 0 → 0, 1 → 1)" in text
    assert f"{model.certificate.max_length['bfloat16']:,} symbols in bfloat16" in text
    latex = softhat.state(model).latex
    assert r"0 $\to$ 1" in latex and not set("→⌈⌉₂") & set(latex)
    with pytest.raises(softhat.SofthatError):
        softhat.state(softhat.compile(parity, max_length=8))


def test_long_formulas_are_set_as_text_and_powers_as_powers() -> None:
    """TeX breaks text, and no display: one would stick out of the column."""
    long = " & ".join(f"O ({x} & Y {y})" for x in "abc" for y in "abc")
    latex = softhat.state(softhat.compile(long, alphabet="abc")).latex
    assert r"\[" not in latex and r"\begin{quote}" in latex
    short = softhat.state(softhat.compile("O (b & Y a)", alphabet="abc")).latex
    assert r"\[" in short and r"\begin{quote}" not in short
    assert "$2^{53}$ = 9007199254740992" in short


def test_on_the_command_line() -> None:
    done = command("state", "!c S a", "--alphabet", "abc", "--latex")
    assert done.code == 0 and done.out.count(r"\begin{") == done.out.count(r"\end{") == 3
    assert command("state", "!c S a", "--alphabet", "abc").out.startswith("Theorem.")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_takes_it(tmp_path: Path) -> None:
    long = " & ".join(f"O (a & {'Y ' * k}'x_{{}}')" for k in range(1, 9))
    stated = softhat.state(
        softhat.compile(f"F (2*#(a) = #*(a)) & (a S 'x_{{}}') & {long}", alphabet=["a", "x_{}"])
    )
    head = r"\documentclass[twocolumn]{article}\usepackage{amsmath,amssymb,amsthm,booktabs}"
    head += r"\newtheorem{theorem}{Theorem}\begin{document}"
    (tmp_path / "t.tex").write_text(head + stated.latex + "\n" + r"\end{document}")
    subprocess.run(["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, check=True)
    assert "Overfull" not in (tmp_path / "t.log").read_text("latin-1")
