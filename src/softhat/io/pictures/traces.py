"""A trace as a picture: the word, its answers, every head of every layer, in aligned columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.pictures.style import COLOURS, figure, weights_scale

MOST_NUMBERS = 26
"""Tokens up to which cells show their numbers."""
LEAST_DIGITS = 4.5
"""Points: smaller numbers are not drawn."""
LEAST_STRIP, BETWEEN = 0.16, 0.08
"""Inches: the least height of a row of answers, and what is left free above the first."""


def trace_figure(
    tokens: Sequence[str],
    attention: Sequence[NDArray[Any]],
    heads: Sequence[Sequence[str]],
    margins: Mapping[str, NDArray[Any]],
    own: slice,
    title: str = "",
) -> Any:
    """All heads, a layer a row; under the first column the answer and the margin, aligned with it.

    `attention[layer]` is (heads, rows, rows) with the sinks, `own` the rows of the word itself.
    """
    most = max((len(labels) for labels in heads), default=1) or 1
    side = min(7.0, max(2.3, 0.26 * len(tokens)))
    layers = [k for k, labels in enumerate(heads) if labels]
    strip = max(side / len(tokens), LEAST_STRIP) * len(margins)
    width = max(4.5, most * (side + 0.7))
    rows = [side + 0.75] * len(layers)
    if layers:
        rows[-1] += strip + BETWEEN
    picture = figure(width, (sum(rows) if layers else strip + 0.6) + 0.9)
    if not layers:
        alone = picture.add_subplot()
        alone.set_aspect("equal")
        _answers(alone, tokens, margins, own)
    grid = picture.add_gridspec(max(1, len(layers)), most, height_ratios=rows or [1])
    for row, layer in enumerate(layers):
        for head, label in enumerate(heads[layer]):
            axes = picture.add_subplot(grid[row, head])
            attention_map(
                axes, attention[layer][head], tokens, f"layer {layer}, head {head}\n{_cut(label)}"
            )
            if layer == layers[-1] and head == 0:
                axes.tick_params(axis="x", labelbottom=False)
                under = axes.inset_axes((0, -(strip + BETWEEN) / side, 1, strip / side))
                _answers(under, tokens, margins, own)
    picture.suptitle(
        _cut(f"{title}{'  ·  ' if title else ''}{_verdict(margins)}", 110), fontsize=10
    )
    return picture


def head_figure(tokens: Sequence[str], weights: NDArray[Any], title: str, width: float) -> Any:
    """The map of one head alone, so many inches wide, with the type of a paper."""
    picture = figure(width, width + 0.15)
    cell = 72 * (width - 0.6) / len(tokens)  # points
    attention_map(picture.add_subplot(), weights, tokens, _cut(title), 8, min(8.0, cell / 2.4))
    return picture


def attention_map(
    axes: Any,
    weights: NDArray[Any],
    tokens: Sequence[str],
    title: str,
    size: float = 7,
    digits: float = 5,
) -> None:
    """A square for each weight, with its percents in type of `digits` points where they fit."""
    seen = np.ma.masked_equal(weights, 0)  # what a mask hides is paper
    axes.imshow(seen, norm=weights_scale(), cmap="Blues", interpolation="nearest")
    if len(tokens) <= MOST_NUMBERS:
        edges = np.arange(-0.5, len(tokens))
        axes.set_xticks(edges, minor=True)
        axes.set_yticks(edges, minor=True)
        axes.grid(which="minor", color="#d0d7de", linewidth=0.4)
        axes.tick_params(which="minor", length=0)
    axes.set_title(title, fontsize=8)
    _name(axes, tokens)
    axes.set_yticks(range(len(tokens)), tokens, fontsize=size)
    axes.tick_params(axis="x", labelsize=size)
    if len(tokens) > MOST_NUMBERS or digits < LEAST_DIGITS:
        return
    for i, j in zip(*np.nonzero(weights >= 0.005), strict=True):
        weight = float(weights[i, j])
        shown = f"{100 * weight:.0f}" if weight >= 0.095 else f"{100 * weight:.1f}"
        colour = "white" if weight > 0.35 else "black"
        axes.text(j, i, shown, ha="center", va="center", fontsize=digits, color=colour)


def _answers(
    axes: Any, tokens: Sequence[str], margins: Mapping[str, NDArray[Any]], own: slice
) -> None:
    """A row of answers for each output, with its margins as numbers; a column for each token."""
    places = range(len(tokens))[own]
    for row, (name, values) in enumerate(margins.items()):
        colour = COLOURS[row % len(COLOURS)]
        for at, margin in zip(places, values.tolist(), strict=True):
            box = {"facecolor": colour if margin > 0 else "white", "edgecolor": colour}
            axes.bar(at, 0.8, 0.8, row - 0.4, **box)
            shade = "white" if margin > 0 else "black"
            if len(tokens) <= 2 * MOST_NUMBERS:
                number = f"{margin:.2g}".replace("-", "−")
                axes.text(at, row, number, ha="center", va="center", fontsize=5, color=shade)
        axes.text(-0.6, row, _cut(name, 24), ha="right", va="center", fontsize=7, color=colour)
    axes.set_xlim(-0.5, len(tokens) - 0.5)
    axes.set_ylim(len(margins) - 0.5, -0.5)
    axes.set_yticks([])
    _name(axes, tokens)
    axes.set_xlabel("filled: true; the number is the margin", fontsize=7)
    for edge in ("top", "right", "left", "bottom"):
        axes.spines[edge].set_visible(False)


def _verdict(margins: Mapping[str, NDArray[Any]]) -> str:
    parts = [
        f"{name}: {'true' if values[-1] > 0 else 'false'} at the end, least |margin| "
        f"{np.abs(values).min():.3g}"
        for name, values in margins.items()
    ]
    return "; ".join(parts)


def _name(axes: Any, tokens: Sequence[str]) -> None:
    """Tokens below their columns; long ones stand upright where columns are narrow."""
    labels = axes.set_xticks(range(len(tokens)), tokens, fontsize=7)
    for label, token in zip(labels, tokens, strict=True):
        label.label1.set_rotation(90 if len(token) > 3 and len(tokens) > 12 else 0)


def _cut(text: str, limit: int = 44) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
