"""A circuit as a diagram: a column for each layer, a box for each head and feed-forward."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from softhat.io.pictures.style import COLOURS, figure

_STEP = 2.4
_WRAP = 24


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
    picture = figure(max(5.0, 1.9 * len(columns)), max(2.2, 0.95 * most + 0.8))
    axes = picture.add_subplot()
    axes.set_axis_off()
    place = {}
    for x, column in enumerate(columns):
        for y, name in enumerate(column):
            place[name] = (x * _STEP, (len(column) - 1) / 2 - y)
    colour = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(place)}
    boxes = {}
    for name, (left, height) in place.items():
        shown = "\n".join(textwrap.wrap(texts.get(name, name), _WRAP)[:3])
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": colour[name]}
        boxes[name] = axes.text(
            left, height, shown, ha="center", va="center", fontsize=6.5, bbox=box
        )
    for source, target in dict.fromkeys(edges):
        (x0, y0), (x1, y1) = place[source], place[target]
        bend = 0.25 if y0 == y1 and x1 - x0 > _STEP else 0.0
        style = {"arrowstyle": "-|>", "color": colour[source], "alpha": 0.65, "linewidth": 1.1}
        _arrow(axes, (boxes[source], boxes[target]), ((x0, y0), (x1, y1)), bend, style)
    axes.set_xlim(-1.2, (len(columns) - 1) * _STEP + 1.2)
    axes.set_ylim(-most / 2 - 0.2, most / 2 + 0.2)
    if title:
        axes.set_title(title if len(title) <= 90 else title[:89] + "…", fontsize=9)
    return picture


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
