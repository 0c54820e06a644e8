r"""Laws for papers: `n²·lcm(1..n)` becomes `n^{2} \cdot \operatorname{lcm}(1,\dots,n)`."""

from __future__ import annotations

import re

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_RULES = (
    (r"([\d.]+)e([-+]?)0*(\d+)", lambda m: rf"{m[1]} \cdot 10^{{{m[2].strip('+')}{m[3]}}}"),
    (r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda m: f"^{{{m[0].translate(_SUPERSCRIPTS)}}}"),
    (r"\^⌈log2\(([^()]*)\)⌉", lambda m: rf"^{{\lceil \log_2({m[1]}) \rceil}}"),
    (r"lcm\(1\.\.([^()]*)\)", lambda m: rf"\operatorname{{lcm}}(1,\dots,{m[1]})"),
    (r"\b(ln|max|min)\(", lambda m: rf"\{m[1]}("),
    (r"·", lambda _: r" \cdot "),
    (r"^(\d+)/(\d+)$", lambda m: rf"\frac{{{m[1]}}}{{{m[2]}}}"),
)


def law_latex(text: str) -> str:
    """The text of a law in LaTeX, for math mode."""
    for pattern, setting in _RULES:
        text = re.sub(pattern, setting, text)
    return " ".join(text.split())
