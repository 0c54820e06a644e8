"""The one style of all pictures: colours, scales, and files that are PNG, SVG or PDF by name."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from softhat.io.errors import SofthatError, extra
from softhat.io.files import as_path, check_derived, check_writable, json_bytes, write_file

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B58900", "#56B4E9", "#7A5195", "#8A5A00")
"""Okabe and Ito's set, which colour-blind readers tell apart, darkened where it is pale."""
DTYPE_COLOURS = {
    "bfloat16": "#D55E00",
    "float16": "#E69F00",
    "float32": "#0072B2",
    "float64": "#009E73",
}
SUFFIXES = (".png", ".svg", ".pdf")
DATA_KIND = "softhat-plot"


def figure(width: float, height: float) -> Any:
    """An empty figure of this size in inches."""
    with extra("matplotlib", "plot"):
        from matplotlib import rcParams
        from matplotlib.figure import Figure
    rcParams["svg.hashsalt"] = "softhat"  # the same picture is the same file
    rcParams["pdf.fonttype"] = 42  # TrueType: publishers refuse fonts of type 3

    class Picture(Figure):
        """A figure that notebooks show: without pyplot they would print its type."""

        def _repr_png_(self) -> bytes:
            return rendered(self, ".png")

    picture = Picture(figsize=(width, height), dpi=130)
    picture.set_layout_engine("constrained")
    return picture


def weights_scale() -> Any:
    """The colour scale of attention weights: a square root, on which 2 % is visible."""
    from matplotlib.colors import PowerNorm

    return PowerNorm(0.5, vmin=0, vmax=1)


def check_name(file: str | Path) -> None:
    """Refuse a name that says no known format, before anything is drawn."""
    suffix = as_path(file).suffix.lower()
    if suffix not in SUFFIXES:
        raise SofthatError(
            f"a picture's name ends with {', '.join(SUFFIXES)}, not {suffix!r}: {file}"
        )


def rendered(picture: Any, suffix: str) -> bytes:
    """The figure as the bytes of a file of this kind."""
    buffer = io.BytesIO()
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    picture.savefig(buffer, format=suffix.lstrip("."), metadata=dates.get(suffix))
    return buffer.getvalue()


def save(picture: Any, file: str | Path) -> None:
    """Write the figure, whole or not at all; the name says which kind of file."""
    check_name(file)
    write_file(file, rendered(picture, as_path(file).suffix.lower()))


def data_file(file: str | Path) -> Path:
    """Where the numbers of a picture go: `gaps.plot.json` beside `gaps.png`."""
    return as_path(file).with_name(f"{as_path(file).stem}.plot.json")


def check_picture_and_data(file: str | Path) -> None:
    """Refuse names that could not be written, before anything is computed for them."""
    check_name(file)
    check_writable(file)
    check_derived(data_file(file), DATA_KIND)


def save_with_data(picture: Any, file: str | Path, numbers: Mapping[str, Any]) -> None:
    """Write the figure, and beside it the numbers that it shows."""
    check_picture_and_data(file)
    save(picture, file)
    write_file(data_file(file), json_bytes({"format": f"{DATA_KIND}/1", **numbers}))
