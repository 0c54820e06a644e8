"""Gaps and temperatures against the length: what is proved, what is measured, what is fitted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from softhat.io.errors import SofthatError
from softhat.io.pictures.style import COLOURS, figure, save_with_data

Kind: TypeAlias = Literal["law", "data", "fit"]
STYLES: dict[Kind, dict[str, Any]] = {
    "law": {"linestyle": "-", "linewidth": 1.6},
    "data": {"linestyle": "none", "markersize": 4.5, "markerfacecolor": "white"},
    "fit": {"linestyle": ":", "linewidth": 1.4},
}
MARKERS = "sov^D"
"""A law is a line, data are open marks, and a fit is dotted (and says that it is one)."""
NOTHING_TO_DRAW = "there is nothing to draw: every head is structurally uniform, so any β will do"


@dataclass(frozen=True, slots=True)
class Series:
    """Numbers against n, and what they are."""

    label: str
    kind: Kind
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class HeadCurves:
    """One head: its gaps, and its inverse temperatures."""

    title: str
    gaps: tuple[Series, ...]
    betas: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """What a picture shows; `to_json` is the data behind it."""

    title: str
    heads: tuple[HeadCurves, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON data."""
        return asdict(self)


def save_laws(curves: Curves, file: str | Path, paper: float | None = None) -> None:
    """Write the picture `NAME.png`, and the numbers that it shows as `NAME.plot.json`.

    `paper` is the width in inches of a picture for a paper.
    """
    save_with_data(laws_figure(curves, paper), file, curves.to_json())


def laws_figure(curves: Curves, paper: float | None = None) -> Any:
    """A row of two panels for each head: gaps on the left, β on the right.

    For a paper the panels stand in one column, without a title: a caption says it there.
    """
    if not curves.heads:
        raise SofthatError(NOTHING_TO_DRAW)
    if paper is not None:
        return _for_paper(curves, paper)
    picture = figure(10.5, 3.1 * len(curves.heads) + 0.7)
    for row, head in enumerate(curves.heads):
        for column, (what, series) in enumerate((("gap γ", head.gaps), ("β", head.betas))):
            axes = picture.add_subplot(len(curves.heads), 2, 2 * row + column + 1)
            _panel(axes, series, what)
            axes.set_title(f"{head.title}: {'gaps' if not column else 'inverse temperature'}",
                           fontsize=9)  # fmt: skip
    picture.suptitle(curves.title, fontsize=10)
    return picture


def _for_paper(curves: Curves, width: float) -> Any:
    count = 2 * len(curves.heads)
    picture = figure(width, 0.68 * width * count)
    for row, head in enumerate(curves.heads):
        for column, (what, series) in enumerate((("gap γ", head.gaps), ("β", head.betas))):
            axes = picture.add_subplot(count, 1, 2 * row + column + 1)
            _panel(axes, series, what)
            axes.set_title(head.title, fontsize=8)
            axes.tick_params(which="both", labelsize=8)
    return picture


def _panel(axes: Any, series: Sequence[Series], what: str) -> None:
    from matplotlib.ticker import MaxNLocator

    for k, part in enumerate(series):
        shown = [(n, y) for n, y in part.points if math.isfinite(y) and y > 0]
        style = {"color": COLOURS[k % len(COLOURS)], **STYLES[part.kind]}
        if part.kind == "data":
            style["marker"] = MARKERS[k % len(MARKERS)]
        axes.plot([n for n, _ in shown], [y for _, y in shown], label=part.label, **style)
    axes.set_yscale("log")
    axes.set_xlabel("length n", fontsize=8)
    axes.set_ylabel(what, fontsize=8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(left=0.4)
    axes.tick_params(which="both", labelsize=7)
    axes.grid(visible=True, linewidth=0.3, alpha=0.5)
    axes.margins(y=0.25)
    axes.legend(fontsize=6.5, framealpha=0.8, edgecolor="none")
