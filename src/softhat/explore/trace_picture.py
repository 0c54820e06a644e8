"""A trace as a picture: the attention of every head, and what the residual stream holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softhat.explore.figures import new_figure, save_figure
from softhat.runtime.trace import Trace


def draw(trace: Trace, file: Path) -> None:
    """Write a PNG, SVG or PDF, as the file's name ends."""
    heads = [
        (f"layer {layer}, head {head}\n{_cut(label, 44)}", trace.attention[layer][head])
        for layer, labels in enumerate(trace.heads)
        for head, label in enumerate(labels)
    ]
    rows, width = len(trace.tokens), len(trace.coordinates[-1])
    columns = min(3, max(1, len(heads)))
    lines = -(-len(heads) // columns)
    side = max(2.6, 0.26 * rows)
    table = max(1.6, 0.24 * width + 1.2)
    figure = new_figure(columns * (side + 1.2), lines * (side + 0.9) + table, dpi=120)
    ratios = [side + 0.9] * lines + [table]
    grid = figure.add_gridspec(lines + 1, columns, height_ratios=ratios)
    for k, (title, attention) in enumerate(heads):
        axes = figure.add_subplot(grid[k // columns, k % columns])
        axes.imshow(attention, vmin=0, vmax=1, cmap="Blues")
        axes.set_title(title, fontsize=8)
        _ticks(axes, trace.tokens, trace.tokens)
        axes.set_xlabel("attends to", fontsize=7)
    axes = figure.add_subplot(grid[lines, :])
    axes.imshow(trace.residual[-1].T, vmin=-1, vmax=1, cmap="RdBu", aspect="auto")
    names = [_cut(name, 40) for name in trace.coordinates[-1]]
    _ticks(axes, trace.tokens, names)
    for (row, column), value in _cells(trace.residual[-1].T):
        colour = "white" if abs(value) > 0.6 else "black"
        axes.text(column, row, f"{value:.3g}", ha="center", va="center", fontsize=6, color=colour)
    axes.set_title("residual stream after the last layer", fontsize=8)
    save_figure(figure, file)


def _ticks(axes: Any, columns: tuple[str, ...], rows: tuple[str, ...] | list[str]) -> None:
    axes.set_xticks(range(len(columns)), columns, fontsize=7, rotation=0)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)


def _cells(table: Any) -> list[tuple[tuple[int, int], float]]:
    if table.size > 600:  # too many to read
        return []
    return [((r, c), float(x)) for r, row in enumerate(table) for c, x in enumerate(row)]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
