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
    """In the legend."""
    kind: Kind
    """A proved law, measured data, or a fit."""
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


def save_laws(
    curves: Curves, file: str | Path, paper: float | None = None, panel: int | None = None
) -> None:
    """Write the picture `NAME.png`, and the numbers that it shows as `NAME.plot.json`.

    `paper` is the width in inches of a picture for a paper, `panel` the only one drawn, from 1.
    """
    save_with_data(laws_figure(curves, paper, panel), file, curves.to_json())


def laws_figure(curves: Curves, paper: float | None = None, panel: int | None = None) -> Any:
    """A row of two panels for each head: gaps on the left, β on the right; or one of them.

    For a paper the panels stand in one column, without a title: a caption says it there.
    """
    if not curves.heads:
        raise SofthatError(NOTHING_TO_DRAW)
    panels = [
        (head.title, what, series)
        for head in curves.heads
        for what, series in (("gap γ", head.gaps), ("β", head.betas))
    ]
    if panel is not None:
        if not 1 <= panel <= len(panels):
            raise SofthatError(f"the picture has panels 1 to {len(panels)}, and no panel {panel}")
        panels = [panels[panel - 1]]
    if paper is not None:
        return _for_paper(panels, paper)
    columns = min(2, len(panels))
    picture = figure(5.25 * columns, 3.1 * (len(panels) // columns) + 0.7)
    for place, (title, what, series) in enumerate(panels, 1):
        axes = picture.add_subplot(len(panels) // columns, columns, place)
        _panel(axes, series, what)
        axes.set_title(f"{title}: {'gaps' if what != 'β' else 'inverse temperature'}", fontsize=9)
    picture.suptitle(curves.title, fontsize=10)
    return picture


def _for_paper(panels: Sequence[tuple[str, str, Sequence[Series]]], width: float) -> Any:
    picture = figure(width, 0.68 * width * len(panels))
    for place, (title, what, series) in enumerate(panels, 1):
        axes = picture.add_subplot(len(panels), 1, place)
        _panel(axes, series, what)
        axes.set_title(title, fontsize=8)
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
    _plain_numbers(axes, [y for part in series for _, y in part.points])
    axes.set_xlabel("length n", fontsize=8)
    axes.set_ylabel(what, fontsize=8)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(left=0.4)
    axes.tick_params(which="both", labelsize=7)
    axes.grid(visible=True, linewidth=0.3, alpha=0.5)
    axes.margins(y=0.25)
    axes.legend(fontsize=6.5, framealpha=0.8, edgecolor="none")


_DECADES = 1.5
"""Powers of ten that an axis spans before its marks are powers of ten only."""


def _plain_numbers(axes: Any, values: Sequence[float]) -> None:
    """6, 7, 8 and not 6·10⁰: where a logarithmic axis spans little, its marks are plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    drawn = [y for y in values if math.isfinite(y) and y > 0]
    if not drawn or max(drawn) > min(drawn) * 10**_DECADES:
        return
    few = max(drawn) < 3 * min(drawn)  # then a decade may hold one mark, or none
    axes.yaxis.set_major_locator(LogLocator(subs=tuple(range(1, 10)) if few else (1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
