"""How the critical β grows with n: constant, log n, n, n log n, n² …, fitted.

A fit is β(n) ≈ slope·shape(n) + offset; the shape that leaves the least relative error wins, and
a plainer shape wins ties. It describes the lengths it has seen, proves nothing, may lie below the
points, and is called a fit wherever it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

SHAPES: dict[str, Callable[[float], float]] = {
    "constant": lambda n: 0.0,
    "log n": lambda n: math.log(n),
    "n": lambda n: n,
    "n log n": lambda n: n * math.log(n),
    "n^2": lambda n: n * n,
    "n^2 log n": lambda n: n * n * math.log(n),
    "n^3": lambda n: n**3,
    "n^4": lambda n: n**4,
    "2^n": lambda n: 2.0 ** min(n, 1000),
}


@dataclass(frozen=True, slots=True)
class Fit:
    """β(n) ≈ slope · shape(n) + offset, with its largest relative error on the fitted lengths."""

    shape: str
    slope: float
    offset: float
    error: float
    points: tuple[tuple[int, float], ...]

    def __call__(self, n: int) -> float:
        return self.slope * SHAPES[self.shape](n) + self.offset

    def __str__(self) -> str:
        if self.shape == "constant":
            return f"fitted: constant, {self.offset:.4g}"
        sign = "+" if self.offset >= 0 else "-"
        return f"fitted: {self.slope:.4g}·{self.shape} {sign} {abs(self.offset):.4g}"


def fitted(points: Mapping[int, float]) -> Fit | None:
    """The law of these (n, β); None with fewer than four lengths, which fit anything."""
    if len(points) < 4:
        return None
    # The law is about growth: the shortest words have rows with hardly any competitor.
    ordered = sorted(points.items())[len(points) // 3 :]
    if len(ordered) < 4:
        ordered = sorted(points.items())[-4:]
    n = np.array([p[0] for p in ordered], dtype=float)
    beta = np.array([p[1] for p in ordered])
    best: Fit | None = None
    for name, shape in SHAPES.items():
        column = np.array([shape(x) for x in n])
        columns = [np.ones_like(n)] if name == "constant" else [column, np.ones_like(n)]
        design = np.stack(columns, axis=1) / beta[:, None]  # relative least squares
        scale = np.abs(design).max(axis=0)
        solution = np.linalg.lstsq(design / scale, np.ones_like(n), rcond=None)[0] / scale
        slope, offset = (0.0, solution[0]) if name == "constant" else solution
        error = float(np.abs(slope * column + offset - beta).max() / beta.min())
        if name != "constant":
            error = float(np.abs((slope * column + offset) / beta - 1).max())
        else:
            error = float(np.abs(offset / beta - 1).max())
        law = Fit(name, float(slope), float(offset), error, tuple(sorted(points.items())))
        if slope >= 0 and (best is None or error < 0.5 * best.error - 1e-3):
            best = law
    return best
