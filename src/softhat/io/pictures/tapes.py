"""A run of a machine drawn: time goes down, cells go to the right, the head is a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softhat.io.pictures.style import COLOURS, figure

MOST_NUMBERS = 6
"""Symbols beyond this many that are numbers are shown as amounts, not as kinds."""


def tape_figure(
    title: str,
    names: Sequence[str],
    rows: Sequence[Sequence[Sequence[str]]],
    heads: Sequence[Sequence[int | None]],
    first: Sequence[int],
    blank: str,
) -> Any:
    """One picture for each band: its rows, the column of its head in each, and its first cell."""
    widths = [max(len(band[0]), 1) for band in rows]
    height = min(max(2.0, len(rows[0]) / 30), 12.0)
    made = figure(max(4.0, min(sum(widths) / 12 + 1.5, 14.0)), height + 0.8)
    axes = made.subplots(1, len(rows), squeeze=False, width_ratios=widths)[0]
    for ax, name, band, line, low in zip(axes, names, rows, heads, first, strict=True):
        _draw(ax, band, low, blank)
        at = [(low + c, t) for t, c in enumerate(line) if c is not None]
        if at:
            ax.plot(*zip(*at, strict=True), color="black", linewidth=0.8)
        ax.set_title(name)
        ax.set_xlabel("cell" if name != "counters" else "counter")
    axes[0].set_ylabel("step")
    made.suptitle(title)
    return made


def _draw(ax: Any, band: Sequence[Sequence[str]], low: int, blank: str) -> None:
    import numpy as np
    from matplotlib.colors import ListedColormap, LogNorm

    symbols = sorted({symbol for row in band for symbol in row} - {blank})
    extent = (low - 0.5, low + len(band[0]) - 0.5, len(band) - 0.5, -0.5)
    how = {"aspect": "auto", "interpolation": "nearest", "extent": extent}
    if len(symbols) > MOST_NUMBERS and all(symbol.isdigit() for symbol in symbols):
        amounts = np.array([[int(symbol) + 1 for symbol in row] for row in band])
        ax.imshow(amounts, cmap="Blues", norm=LogNorm(1, amounts.max() + 1), **how)
        return
    place = {blank: 0, **{symbol: at for at, symbol in enumerate(symbols, start=1)}}
    colours = ["#f4f4f4", *(COLOURS[at % len(COLOURS)] for at in range(len(symbols)))]
    codes = np.array([[place[symbol] for symbol in row] for row in band])
    ax.imshow(codes, cmap=ListedColormap(colours), vmin=0, vmax=max(len(symbols), 1), **how)
