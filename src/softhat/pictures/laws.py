"""Gaps and temperatures against the length: what is proved, what is measured, what is fitted."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from softhat.errors import SofthatError
from softhat.files import write_file
from softhat.pictures.style import COLOURS, figure, save

Kind: TypeAlias = Literal["law", "data", "fit"]
STYLES: dict[Kind, dict[str, Any]] = {
    "law": {"linestyle": "-", "linewidth": 1.6},
    "data": {"linestyle": "none", "markersize": 4.5, "markerfacecolor": "white"},
    "fit": {"linestyle": ":", "linewidth": 1.4},
}
MARKERS = "sov^D"
"""A law is a line, data are open marks, and a fit is dotted (and says that it is one)."""


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


def save_laws(curves: Curves, file: str | Path) -> None:
    """Write the picture, and the numbers that it shows to a file of the same name in JSON."""
    save(laws_figure(curves), file)
    text = json.dumps(curves.to_json(), indent=1, ensure_ascii=False)
    write_file(Path(file).with_suffix(".json"), text.encode())


def laws_figure(curves: Curves) -> Any:
    """A row of two panels for each head: gaps on the left, β on the right."""
    if not curves.heads:
        raise SofthatError(
            "there is nothing to draw: every head is structurally uniform, so any β will do"
        )
    made = figure(10.5, 3.1 * len(curves.heads) + 0.7)
    for row, head in enumerate(curves.heads):
        for column, (what, series) in enumerate((("gap γ", head.gaps), ("β", head.betas))):
            axes = made.add_subplot(len(curves.heads), 2, 2 * row + column + 1)
            _panel(axes, series, what)
            axes.set_title(f"{head.title}: {'gaps' if not column else 'inverse temperature'}",
                           fontsize=9)  # fmt: skip
    made.suptitle(curves.title, fontsize=10)
    return made


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
