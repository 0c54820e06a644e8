"""How commands that draw are told about paper: `--style paper --width 3.3in`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from softhat.io.errors import SofthatError
from softhat.io.pictures.style import check_picture_and_data

Style = Literal["screen", "paper"]
StyleOption = Annotated[
    Style,
    typer.Option("--style", help="paper: one column of panels, type of 8 points, no title."),
]
WidthOption = Annotated[
    str | None,
    typer.Option("--width", metavar="SIZE", help="With --style paper: 3.3in, 84mm or 8.4cm."),
]
PanelOption = Annotated[
    int | None,
    typer.Option("--panel", metavar="N", help="Draw only the N-th panel of the picture."),
]
GapsPlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Draw gaps and β against n; the numbers go to NAME.plot.json.",
    ),
]
COLUMN = 3.3
"""Inches: a column of two-column proceedings."""
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}


def read_plot(
    plot: Path | None, style: Style, width: str | None, panel: int | None = None
) -> float | None:
    """The width of `--plot` for paper, None for one on a screen; refused before work is done."""
    paper = paper_width(style, width)
    if plot is not None:
        check_picture_and_data(plot)
    elif paper is not None or panel is not None:
        option = "--style" if panel is None else "--panel"
        raise SofthatError(f"{option} is of the picture: name one with --plot")
    return paper


def paper_width(style: Style, width: str | None) -> float | None:
    """The width in inches of a picture for paper; None for one on a screen."""
    if style != "paper":
        if width is not None:
            raise SofthatError("--width goes with --style paper: add it, or leave --width out")
        return None
    if width is None:
        return COLUMN
    size = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)\s*(in|cm|mm|pt)", width.strip())
    inches = float(size[1]) * _INCHES[size[2]] if size is not None else 0.0
    if not 1 <= inches <= 20:
        raise SofthatError(f"--width is a size from 1 to 20 inches, such as 3.3in, not {width!r}")
    return inches
