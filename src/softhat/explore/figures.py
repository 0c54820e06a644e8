"""Empty figures, and how finished ones become files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from softhat.errors import MissingExtraError, SofthatError
from softhat.files import write_file

SUFFIXES = (".png", ".svg", ".pdf")


def new_figure(width: float, height: float, dpi: int = 150) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    figure = Figure(figsize=(width, height), dpi=dpi)
    figure.set_layout_engine("constrained")
    return figure


def check_name(file: str | Path) -> None:
    """Refuse a name that does not say which kind of picture it is."""
    if Path(file).suffix.lower() not in SUFFIXES:
        raise SofthatError(f"pictures are .png, .svg or .pdf files, not {Path(file).name!r}")


def save_figure(figure: Any, file: str | Path) -> None:
    """PNG, SVG or PDF, as the file's name ends."""
    check_name(file)
    drawn = io.BytesIO()
    figure.savefig(drawn, format=Path(file).suffix[1:].lower())
    write_file(file, drawn.getvalue())
