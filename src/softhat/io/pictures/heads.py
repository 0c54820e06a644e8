"""Heads of a trained model on one page: how hard each is, where it looks, what chance gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softhat.io.pictures.style import COLOURS, figure

VERDICTS = {"uniform": COLOURS[2], "tieless": COLOURS[0], "tied": COLOURS[3], "soft": "#9AA0A6"}


@dataclass(frozen=True, slots=True)
class Spot:
    """One head, as the page shows it."""

    layer: int
    head: int
    verdict: str
    pattern: str | None
    hardness: float
    distance: float
    by_chance: float
    shares: dict[str, float]  # attention on each pattern's keys


def heads_figure(spots: Sequence[Spot], title: str) -> Any:
    """A map of verdicts and hardness; distance against chance; attention on patterns."""
    layers = 1 + max(s.layer for s in spots)
    most = 1 + max(s.head for s in spots)
    names = sorted({name for s in spots for name in s.shares})
    picture = figure(max(11.0, 0.75 * most + 7), max(6.5, 0.42 * layers + 0.16 * len(spots) + 2.5))
    grid = picture.add_gridspec(
        2, 2, height_ratios=[max(2.2, 0.5 * layers), max(3, 0.2 * len(spots))]
    )
    _map(picture.add_subplot(grid[0, 0]), spots, layers, most)
    _against_chance(picture.add_subplot(grid[0, 1]), spots)
    _patterns(picture, picture.add_subplot(grid[1, :]), spots, names)
    picture.suptitle(title, fontsize=10)
    return picture


def _map(axes: Any, spots: Sequence[Spot], layers: int, most: int) -> None:
    for s in spots:
        axes.bar(s.head, 0.92, 0.92, s.layer - 0.46, color=VERDICTS[s.verdict])
        text = f"{100 * s.hardness:.0f}" if most > 8 else f"{s.verdict}\n{100 * s.hardness:.0f} %"
        axes.text(s.head, s.layer, text, ha="center", va="center", fontsize=6, color="white")
    axes.set_xticks(range(most))
    axes.set_yticks(range(layers))
    axes.set_xlim(-0.5, most - 0.5)
    axes.set_ylim(layers - 0.5, -0.5)
    axes.set_xlabel("head", fontsize=8)
    axes.set_ylabel("layer", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.set_title("nearest kind, and attention on the argmax set in %", fontsize=9)


def _against_chance(axes: Any, spots: Sequence[Spot]) -> None:
    for verdict, colour in VERDICTS.items():
        those = [s for s in spots if s.verdict == verdict]
        if those:
            x, y = [s.by_chance for s in those], [s.distance for s in those]
            axes.plot(x, y, "o", markersize=4, color=colour, label=verdict)
    end = max(max(s.by_chance, s.distance) for s in spots) * 1.1 + 0.01
    axes.plot([0, end], [0, end], ":", linewidth=1, color="#555555")
    axes.set_xlabel("the same with shuffled scores", fontsize=8)
    axes.set_ylabel("distance to hard attention", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.legend(fontsize=7, frameon=False)
    axes.set_title("below the line: harder than chance", fontsize=9)


def _patterns(picture: Any, axes: Any, spots: Sequence[Spot], names: Sequence[str]) -> None:
    table = np.array([[s.shares.get(name, np.nan) for name in names] for s in spots])
    drawn = axes.imshow(table, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(names)), names, fontsize=7)
    axes.set_yticks(range(len(spots)), [f"{s.layer}.{s.head}" for s in spots], fontsize=6)
    for row, s in enumerate(spots):
        for column, name in enumerate(names):
            if name in s.shares:
                colour = "white" if s.shares[name] > 0.55 else "black"
                weight = "bold" if s.pattern == name else "normal"
                axes.text(column, row, f"{100 * s.shares[name]:.0f}", ha="center", va="center",
                          fontsize=6, color=colour, fontweight=weight)  # fmt: skip
    axes.set_ylabel("layer.head", fontsize=8)
    axes.set_title("mean attention on each pattern's keys, in % (bold: recognised)", fontsize=9)
    picture.colorbar(drawn, ax=axes, fraction=0.02)
