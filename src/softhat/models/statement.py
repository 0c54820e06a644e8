r"""What is proved about a model as a theorem for a paper: statement, laws, assumptions, references.

`softhat state MODEL --latex` prints it. Nothing here is new: every number is the certificate's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from softhat import __version__
from softhat.frontends.regular.doubling import MEMBER
from softhat.io.errors import SofthatError
from softhat.io.plural import plural
from softhat.logic.syntax.latex import escaped, to_latex
from softhat.models.loop_model import LoopModel
from softhat.models.model import Model

BIBTEX = r"""@article{yang2026simulating,
  title   = {Simulating Hard Attention Using Soft Attention},
  author  = {Yang, Andy and Strobl, Lena and Chiang, David and Angluin, Dana},
  journal = {Transactions of the Association for Computational Linguistics},
  volume  = {14},
  year    = {2026},
  note    = {arXiv:2412.09925}
}

@software{softhat,
  title   = {softhat: hard attention compiled to softmax transformers},
  author  = {{The softhat authors}},
  version = {VERSION}
}""".replace("VERSION", __version__)


@dataclass(frozen=True, slots=True)
class Statement:
    """A theorem about one model, as plain text and in LaTeX."""

    text: str
    latex: str

    def __repr__(self) -> str:
        return f"<softhat.Statement of {len(self.text):,} characters: its .text, or its .latex>"


Stated = Model | LoopModel


def state(model: Stated) -> Statement:
    """What is proved about a compiled model."""
    if not isinstance(model, Stated):
        raise SofthatError(f"a statement is about a model of formulas or a block, not {model!r}")
    if model.certificate.void:
        raise SofthatError(f"nothing is proved about the model: {model.certificate.void[0]}")
    return Statement("\n".join(_text(model)), "\n".join(_latex(model)))


def _text(model: Stated) -> Iterator[str]:
    certificate, size, t = model.certificate, model.size, model.transformer
    yield (
        f"Theorem. A transformer with softmax attention, {plural(size.layers, 'layer')}, "
        f"{plural(size.heads, 'head')}, "
        f"d_model {size.d_model} and {size.parameters:,} parameters"
    )
    if isinstance(model, LoopModel):
        yield "  (the layer runs ⌈log₂ n⌉ times on a word of n symbols)"
        yield f"  computes {MEMBER}: {_automaton(model)}"
    else:
        for name, formula in model.formulas.items():
            yield f"  computes {name}: {formula}"
    yield f"at every position of every word over {' '.join(t.symbols)}{_reals(model)}."
    yield "In floating point its answers are right on words of at most"
    for dtype, length in certificate.max_length.items():
        yield f"  {length:,} symbols in {dtype} ({certificate.binding[dtype]})"
    yield f"Inverse temperatures: {'; '.join(_laws(model))}."
    yield "Assumptions:"
    yield from (f"  - {text}" for text in certificate.assumptions)
    yield f"Proved by softhat {__version__} from the weights."


def _automaton(model: LoopModel) -> str:
    """What is proved of a block names its automaton, not the expression that it came from."""
    assert model.language is not None
    dfa = model.language.dfa
    steps = [
        f"by {symbol}: " + ", ".join(f"{q} → {row[k]}" for q, row in enumerate(dfa.step))
        for k, symbol in enumerate(dfa.alphabet)
    ]
    accepting = ", ".join(map(str, sorted(dfa.accepting))) or "none"
    return (
        f"acceptance of the prefix by the automaton of {plural(len(dfa.step), 'state')} that "
        f"starts in {dfa.start} (accepting: {accepting}; {'; '.join(steps)})"
    )


def _reals(model: Stated) -> str:
    return ", in real arithmetic, whatever its length" if model.certificate.every_length else ""


def _laws(model: Stated) -> list[str]:
    laws = [law.text for layer in model.transformer.layers for law in layer.laws]
    return list(dict.fromkeys(f"β(n) = {text}" for text in laws)) or ["none (no attention)"]


def _latex(model: Stated) -> Iterator[str]:
    certificate, size, t = model.certificate, model.size, model.transformer
    yield r"% \usepackage{amsmath,amssymb,amsthm,booktabs} \newtheorem{theorem}{Theorem}"
    yield r"\begin{theorem}"
    symbols = ", ".join(escaped(name) for name in t.symbols)
    yield (
        f"A transformer with softmax attention, {plural(size.layers, 'layer')}, "
        f"{plural(size.heads, 'head')}, "
        rf"$d_{{\text{{model}}}} = {size.d_model}$ and ${_grouped(size.parameters)}$ parameters"
    )
    if isinstance(model, LoopModel):
        yield r"(the layer runs $\lceil \log_2 n \rceil$ times on a word of $n$ symbols)"
    yield rf"computes, at every position of every word over $\{{{symbols}\}}$,"
    if isinstance(model, LoopModel):
        yield f"{_prose(_automaton(model))}."
    else:
        formulas = [to_latex(formula) for formula in model.formulas.values()]
        yield from _displayed(formulas)
    laws = {law.text: law.latex() for layer in t.layers for law in layer.laws}
    if laws:
        listed = ", ".join(rf"$\beta(n) = {text}$" for text in laws.values())
        yield f"The inverse temperatures of its heads are {listed}."
    if certificate.every_length:
        yield "In real arithmetic this holds for words of every length;"
        yield "in floating point for words of at most the following lengths."
    else:
        yield "It holds for words of at most the following lengths."
    yield r"\end{theorem}"
    yield certificate.latex()
    yield r"\paragraph{Assumptions.}"
    yield r"\begin{itemize}"
    yield from (rf"  \item {_prose(text)}" for text in certificate.assumptions)
    yield r"\end{itemize}"
    yield ""
    yield "% BibTeX"
    yield from (f"% {line}" if line else "%" for line in BIBTEX.split("\n"))


BROAD = 60
"""Characters of a formula that fit on a line of a column, as printed."""


def _displayed(formulas: Sequence[str]) -> Iterator[str]:
    """Formulas on a line of their own; longer ones as text, which TeX breaks at operators."""
    said = r" ,\qquad ".join(formulas)
    if len(re.sub(r"\\[a-zA-Z]+|[{}\s]", "", said)) <= BROAD:
        yield rf"\[ {said} . \]"
        return
    yield r"\begin{quote}\raggedright\normalfont"
    yield r" \\ ".join(f"${formula}$" for formula in formulas) + "."
    yield r"\end{quote}"


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", r"\,")


_SETTINGS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "^": r"\^{}",
    "<": "$<$", ">": "$>$", "√": r"$\surd$", "·": r"$\cdot$", "≤": r"$\leq$", "β": r"$\beta$",
    "τ": r"$\tau$", "ε": r"$\varepsilon$", "×": r"$\times$", "±": r"$\pm$",
    "→": r"$\to$", "⌈": r"$\lceil$", "⌉": r"$\rceil$", "₂": "$_2$",
}  # fmt: skip


def _prose(text: str) -> str:
    pieces = re.split(r"(\d+\^-?\d+)", text)  # every other one is a power
    return "".join(
        "${}^{{{}}}$".format(*piece.split("^")) if at % 2 else _in_settings(piece)
        for at, piece in enumerate(pieces)
    )


def _in_settings(text: str) -> str:
    return "".join(_SETTINGS.get(char, char) for char in text)
