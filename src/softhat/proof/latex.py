r"""A certificate's lengths as a table for papers (booktabs), narrow enough for one column."""

from __future__ import annotations

from collections.abc import Mapping


def lengths_table(max_length: Mapping[str, int]) -> str:
    """One row a number format: to which length the answers are proved right."""
    rows = []
    for dtype, length in max_length.items():
        grouped = f"{length:,}".replace(",", r"\,")
        shown = f"${grouped}$" if length else "not proved"
        rows.append(rf"{dtype} & {shown} \\")
    head = [r"\begin{tabular}{lr}", r"\toprule", r"number format & words to length \\", r"\midrule"]
    return "\n".join([*head, *rows, r"\bottomrule", r"\end{tabular}"])
