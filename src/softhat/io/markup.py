"""Small pieces of HTML for notebooks: everything that comes in as text stays text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

MOST_TOKENS = 40
"""Larger maps are pictures, not tables."""
_CELL = "border:1px solid #d0d7de;padding:1px 5px;text-align:center;font-size:85%"


def code(text: str) -> str:
    """Text as code."""
    return f"<code>{escape(text)}</code>"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> str:
    """A table; cells are text."""
    top = "".join(f'<th style="{_CELL}">{escape(cell)}</th>' for cell in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(_shown(x))}</td>' for x in row) + "</tr>"
        for row in rows
    )
    return f"<table>{_caption(title) if title else ''}<tr>{top}</tr>{body}</table>"


def heat(weights: Any, tokens: Sequence[str], title: str) -> str:
    """An attention map as a table: the square root of a weight is its opacity, so 2 % shows."""
    if len(tokens) > MOST_TOKENS:
        return f"<p>{escape(title)}: {len(tokens)} positions; plot() draws them</p>"
    names = [escape(token) for token in tokens]
    top = "".join(f"<th style='font-size:75%'>{name}</th>" for name in ("", *names))
    lines = [f"<tr>{top}</tr>"]
    for name, row in zip(names, weights, strict=True):
        cells = "".join(
            f'<td title="{100 * w:.3g} %" style="width:1.3em;height:1.3em;border:1px solid #d0d7de;'
            f'background:rgba(12,60,130,{max(w, 0.0) ** 0.5:.3f})"></td>'
            for w in map(float, row)
        )
        lines.append(f"<tr><th style='font-size:75%'>{name}</th>{cells}</tr>")
    style = "display:inline-table;margin-right:1em"
    return f"<table style='{style}'>{_caption(title)}{''.join(lines)}</table>"


def _caption(title: str) -> str:
    return f"<caption style='text-align:left'>{escape(title)}</caption>"


def _shown(value: Any) -> str:
    return f"{value:,}" if type(value) is int else str(value)
