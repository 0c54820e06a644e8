"""A run of a machine drawn: time goes down, cells go to the right, the head is a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softhat.io.pictures.style import COLOURS, figure

MOST_NAMED = 12
"""Symbols that the legend names."""


def tape_figure(
    title: str,
    names: Sequence[str],
    rows: Sequence[Sequence[Sequence[str]]],
    heads: Sequence[Sequence[int | None]],
    cells: Sequence[Sequence[str]],
    blank: str,
) -> Any:
    """One picture for each band: its rows, the column of its head in each, and what its columns
    are called. A symbol has one colour in all of them."""
    widths = [max(len(band[0]), 1) for band in rows]
    height = min(max(2.0, len(rows[0]) / 30), 12.0)
    picture = figure(max(4.0, min(sum(widths) / 12 + 1.5, 14.0)), height + 0.8)
    axes = picture.subplots(1, len(rows), squeeze=False, width_ratios=widths)[0]
    symbols = sorted({symbol for band in rows for row in band for symbol in row} - {blank})
    for ax, name, band, line, columns in zip(axes, names, rows, heads, cells, strict=True):
        at = [(c, t) for t, c in enumerate(line) if c is not None]
        if name == "counters":
            _amounts(ax, band, at, columns)
        else:
            _symbols(ax, band, at, int(columns[0]), [blank, *symbols])
            ax.set_title(name)
            ax.set_xlabel("cell")
    axes[0].set_ylabel("row" if names[0] == "ring" else "step")
    if names[0] != "counters" and len(symbols) <= MOST_NAMED:
        _legend(picture, [blank, *symbols])
    picture.suptitle(title, fontsize=10, wrap=True)
    return picture


def _amounts(
    ax: Any, band: Sequence[Sequence[str]], at: Sequence[tuple[int, int]], columns: Sequence[str]
) -> None:
    """Counters: the darker, the larger; a dot where a step reads one."""
    import numpy as np
    from matplotlib.colors import LogNorm

    amounts = np.array([[int(symbol) + 1 for symbol in row] for row in band])
    most = int(amounts.max())
    ax.imshow(amounts, cmap="Blues", norm=LogNorm(1, most + 1), **_HOW)
    ax.scatter(*zip(*at, strict=True), s=1.5, color="black", linewidths=0)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_title(f"counters: the darker, the larger, to {most - 1:,}", fontsize=8)


def _symbols(
    ax: Any,
    band: Sequence[Sequence[str]],
    at: Sequence[tuple[int, int]],
    low: int,
    symbols: Sequence[str],
) -> None:
    """A tape or a ring, with the way of its head."""
    import numpy as np
    from matplotlib.colors import ListedColormap

    place = {symbol: number for number, symbol in enumerate(symbols)}
    codes = np.array([[place[symbol] for symbol in row] for row in band])
    extent = (low - 0.5, low + len(band[0]) - 0.5, len(band) - 0.5, -0.5)
    shown = ListedColormap(_colours(len(symbols)))
    ax.imshow(codes, cmap=shown, vmin=0, vmax=max(len(symbols) - 1, 1), extent=extent, **_HOW)
    if at:
        ax.plot([low + c for c, _ in at], [t for _, t in at], color="black", linewidth=0.8)
    ax.xaxis.get_major_locator().set_params(integer=True)


def _legend(picture: Any, symbols: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    keys = [
        Patch(facecolor=colour, edgecolor="#888888", label=symbol)
        for symbol, colour in zip(symbols, _colours(len(symbols)), strict=True)
    ]
    columns = min(len(keys), 6)
    picture.legend(
        handles=keys, loc="outside lower center", ncols=columns, fontsize=8, frameon=False
    )


def _colours(count: int) -> list[str]:
    """The blank's, then one for each symbol."""
    return ["#f4f4f4", *(COLOURS[at % len(COLOURS)] for at in range(max(count - 1, 1)))]


_HOW = {"aspect": "auto", "interpolation": "nearest"}
