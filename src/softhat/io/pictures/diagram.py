"""A circuit as a diagram: a column for each layer, a box for each head and feed-forward."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from softhat.io.pictures.style import COLOURS, figure

_STEP = 2.4
_WRAP = 24
_TYPE = 6.5
"""Points."""
_LETTER, _LINE = 0.62 * _TYPE / 72, 1.25 * _TYPE / 72
"""Inches that a letter is wide and a line of text high, a little more than they are."""
_RIM = 0.09
"""Inches between a text and the edge of its box, with what should stay free around it."""
_BENDS = (0.0, 0.12, -0.12, 0.2, -0.2, 0.3, -0.3, 0.42, -0.42)
"""How far an arrow may bend, for its length: the first that keeps clear of the other boxes."""

Point: TypeAlias = tuple[float, float]


def diagram_figure(
    columns: Sequence[Sequence[str]],
    texts: Mapping[str, str],
    edges: Sequence[tuple[str, str]],
    title: str = "",
) -> Any:
    """Boxes by name in their columns, left to right, and a line for each edge.

    Lines have the colour of the box they come from, and go from its edge to the other's.
    """
    most = max(len(column) for column in columns)
    wide, high = max(5.0, 1.9 * len(columns)), max(1.4, 0.95 * most + 0.6)  # inches
    picture = figure(wide, high)
    axes = picture.add_subplot()
    axes.set_axis_off()
    place = {}
    for x, column in enumerate(columns):
        for y, name in enumerate(column):
            place[name] = (x * _STEP, (len(column) - 1) / 2 - y)
    colour = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(place)}
    lines = {name: textwrap.wrap(texts.get(name, name), _WRAP)[:3] for name in place}
    boxes = {}
    for name, (left, height) in place.items():
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": colour[name]}
        boxes[name] = axes.text(
            left, height, "\n".join(lines[name]), ha="center", va="center", fontsize=_TYPE, bbox=box
        )
    scale = (wide / (len(columns) * _STEP), high / (most + 0.7))  # inches a unit
    covered = {name: _covered(place[name], lines[name], scale) for name in place}
    for source, target in dict.fromkeys(edges):
        others = [area for name, area in covered.items() if name not in (source, target)]
        bend = _bend(covered[source][0], covered[target][0], others)
        ends = (place[source], place[target])
        style = {"arrowstyle": "-|>", "color": colour[source], "alpha": 0.65, "linewidth": 1.1}
        _arrow(axes, (boxes[source], boxes[target]), ends, bend, style)
    axes.set_xlim(-1.2, (len(columns) - 1) * _STEP + 1.2)
    axes.set_ylim(-most / 2 - 0.1, most / 2 + 0.1)
    if title:
        axes.set_title(title if len(title) <= 90 else title[:89] + "…", fontsize=9)
    return picture


def _covered(place: Point, lines: Sequence[str], scale: Point) -> tuple[Point, Point]:
    """The middle of a box, and half of its width and height, in inches."""
    half = (max(map(len, lines)) * _LETTER / 2 + _RIM, len(lines) * _LINE / 2 + _RIM)
    return (place[0] * scale[0], place[1] * scale[1]), half


def _bend(
    start: Point, end: Point, others: Sequence[tuple[Point, Point]], steps: int = 40
) -> float:
    """The least bend of an arrow that crosses no other box; the fewest boxes where all cross."""

    def crossed(bend: float) -> int:
        (x0, y0), (x1, y1) = start, end
        middle = ((x0 + x1) / 2 - bend * (y1 - y0), (y0 + y1) / 2 + bend * (x1 - x0))
        count = 0
        for (x, y), (wide, high) in others:
            for t in (k / steps for k in range(steps + 1)):
                shares = ((1 - t) ** 2, 2 * t * (1 - t), t**2)
                px = shares[0] * x0 + shares[1] * middle[0] + shares[2] * x1
                py = shares[0] * y0 + shares[1] * middle[1] + shares[2] * y1
                if abs(px - x) < wide and abs(py - y) < high:
                    count += 1
                    break
        return count

    return min(_BENDS, key=crossed)


def _arrow(
    axes: Any,
    ends: tuple[Any, Any],
    places: tuple[tuple[float, float], tuple[float, float]],
    bend: float,
    style: Mapping[str, Any],
) -> None:
    """From the edge of one text's box to that of another, behind all boxes.

    How large a box is, is known when it is drawn; arrows are drawn before, so they ask for it.
    """
    from matplotlib.text import Annotation

    class Arrow(Annotation):
        def update_positions(self, renderer: Any) -> None:
            for end in ends:
                end.update_bbox_position_size(renderer)
            super().update_positions(renderer)

    patches = {"patchA": ends[0].get_bbox_patch(), "patchB": ends[1].get_bbox_patch()}
    curve = {"connectionstyle": f"arc3,rad={-bend}", "shrinkA": 0, "shrinkB": 0}
    arrow = Arrow("", places[1], places[0], arrowprops={**style, **patches, **curve}, zorder=1)
    axes.add_artist(arrow)
