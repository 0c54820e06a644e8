r"""Formulas for papers: the printed text, terminal by terminal, in LaTeX's mathematics.

Parentheses and order are those of the printed text, which parses back. Symbols stand in typewriter
letters, operators in bold ones, and counts have an arrow for the side that they look at:
`\overleftarrow{\#}` counts to the left. Needs amsmath and amssymb.
"""

from __future__ import annotations

from softhat.logic.syntax.node import Node
from softhat.logic.syntax.tokens import Token, tokenize

_SIGNS = {
    "!": r"\lnot ", "&": r" \land ", "|": r" \lor ", "xor": r" \oplus ", "->": r" \rightarrow ",
    "<->": r" \leftrightarrow ", "<=": r" \leq ", ">=": r" \geq ", "!=": r" \neq ", "=": " = ",
    "<": " < ", ">": " > ", "+": " + ", "-": " - ", "*": " ", "%": r" \bmod ", "(": "(", ")": ")",
    ",": ", ", "[": "_{[", "]": r"]}\,", "true": r"\top", "false": r"\bot",
    "first": r"\mathrm{first}", "last": r"\mathrm{last}", "mod": r"\mathrm{mod}",
    "#": r"\overleftarrow{\#}", "#>": r"\overrightarrow{\#}", "#*": r"\overleftrightarrow{\#}",
}  # fmt: skip
_ESCAPES = {
    "\\": r"\backslash ", "{": r"\{", "}": r"\}", "_": r"\_", "#": r"\#", "$": r"\$", "%": r"\%",
    "&": r"\&", "^": r"\hat{\ }", "~": r"\sim ", " ": r"\ ",
}  # fmt: skip


def to_latex(node: Node) -> str:
    """The formula or term in LaTeX, for math mode."""
    tokens = list(tokenize(str(node)))
    pieces = []
    for number, token in enumerate(tokens):
        after = tokens[number + 1].kind if number + 1 < len(tokens) else ""
        pieces.append(_set(token, after))
    return " ".join("".join(pieces).split())


def escaped(name: str) -> str:
    """A symbol's name in typewriter letters."""
    return r"\mathtt{" + "".join(_ESCAPES.get(char, char) for char in name) + "}"


def _set(token: Token, after: str) -> str:
    bounded = after == "_LEFT"
    match token.kind:
        case "SYMBOL":
            return escaped(token.text)
        case "AT":
            return r"\mathrm{at}"
        case "UNARY" if token.text != "!":
            return rf"\mathbf{{{token.text}}}" + ("" if bounded else r"\,")
        case "TEMPORAL":
            return rf" \mathbin{{\mathbf{{{token.text}}}}}" + ("" if bounded else " ")
    return _SIGNS.get(token.text, token.text)
