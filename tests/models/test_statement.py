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


def test_on_the_command_line() -> None:
    done = command("state", "!c S a", "--alphabet", "abc", "--latex")
    assert done.code == 0 and done.out.count(r"\begin{") == done.out.count(r"\end{") == 3
    assert command("state", "!c S a", "--alphabet", "abc").out.startswith("Theorem.")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_takes_it(tmp_path: Path) -> None:
    stated = softhat.state(
        softhat.compile("F (2*#(a) = #*(a)) & (a S 'x_{}')", alphabet=["a", "x_{}"])
    )
    head = r"\documentclass{article}\usepackage{amsmath,amssymb,amsthm,booktabs}"
    head += r"\newtheorem{theorem}{Theorem}\begin{document}"
    (tmp_path / "t.tex").write_text(head + stated.latex + "\n" + r"\end{document}")
    subprocess.run(["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, check=True)
