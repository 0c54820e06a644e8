"""Critical β against n for each head of an AHAT, with the curves fitted to it."""

from __future__ import annotations

import math
from pathlib import Path

from softhat.ahat.analysis.analyze import Analysis
from softhat.errors import SofthatError
from softhat.pictures.style import check_name, figure, save


def draw(analysis: Analysis, file: str | Path) -> None:
    """Write a PNG, SVG or PDF, as the file's name ends."""
    check_name(file)
    points: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for n, heads in sorted(analysis.critical_beta.items()):
        for name, beta in sorted(heads.items()):
            if beta > 0 and math.isfinite(beta):
                points.setdefault(name, []).append((n, beta))
    if not points:
        raise SofthatError(
            "there is nothing to draw: every row that was seen is uniform, so any β will do"
        )
    drawn = figure(6, 4)
    axes = drawn.add_subplot()
    for (layer, head), seen in points.items():
        fit = analysis.fits.get((layer, head))
        label = f"layer {layer}, head {head}" + ("" if fit is None else f": {fit}")
        lengths = [n for n, _ in seen]
        (marks,) = axes.plot(lengths, [beta for _, beta in seen], "o", markersize=3, label=label)
        if fit is not None:
            curve = [fit(n) for n in lengths]
            axes.plot(lengths, curve, "-", linewidth=1, color=marks.get_color())
    axes.set_xlabel("n")
    axes.set_ylabel("critical β")
    axes.set_yscale("log")
    axes.legend(fontsize=8)
    save(drawn, file)
