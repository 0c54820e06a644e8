"""The circuit as a diagram: its arrows go from box to box, and cross none that is not theirs."""

from __future__ import annotations

import io
from typing import Any

import pytest

import softhat

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("formula", ["#(a) > #(b) & O (b & Y a)", "F (2*#(a) = #*(a))"])
def test_arrows_reach_their_boxes(formula: str) -> None:
    """Whatever their width: each end of an arrow is on the edge of a box, or behind it."""
    from matplotlib.path import Path
    from matplotlib.text import Annotation

    picture = softhat.compile(formula, alphabet="abc").plot()
    picture.savefig(io.BytesIO(), dpi=picture.dpi, format="png")
    (axes,) = picture.axes
    arrows = [text for text in axes.findobj(Annotation) if text.arrow_patch is not None]
    boxes = [text for text in axes.texts if text.get_bbox_patch() is not None]
    edges = [text.get_bbox_patch().get_window_extent() for text in boxes]
    assert len(arrows) >= len(boxes) - 1

    def gap(point: Any) -> float:
        """From a point to the nearest edge of a box."""
        return min(
            max(abs(point[0] - box.x0 - box.width / 2) - box.width / 2, 0)
            + max(abs(point[1] - box.y0 - box.height / 2) - box.height / 2, 0)
            for box in edges
        )

    for arrow in arrows:
        path = arrow.arrow_patch.get_path()
        corners = path.vertices[path.codes != Path.CLOSEPOLY]
        start, *head = arrow.arrow_patch.get_transform().transform(corners[[0, -3, -2, -1]])
        assert gap(start) < 3
        assert min(map(gap, head)) < 3  # the tip
        assert arrow.get_zorder() < min(box.get_zorder() for box in boxes)


@pytest.mark.parametrize("formula", ["#(a) > #(b) & O (b & Y a)", "F (2*#(a) = #*(a))"])
def test_arrows_go_round_boxes(formula: str) -> None:
    """An arrow over several columns passes no box on its way."""
    from matplotlib.text import Annotation

    picture = softhat.compile(formula, alphabet="abc").plot()
    picture.savefig(io.BytesIO(), dpi=picture.dpi, format="png")
    (axes,) = picture.axes
    arrows = [text for text in axes.findobj(Annotation) if text.arrow_patch is not None]
    boxes = [text.get_bbox_patch() for text in axes.texts if text.get_bbox_patch() is not None]
    for arrow in arrows:
        patch = arrow.arrow_patch
        line = patch.get_transform().transform_path(patch.get_path()).interpolated(30)
        own = (patch.patchA, patch.patchB)
        for box in boxes:
            if box not in own:
                assert not line.intersects_bbox(box.get_window_extent(), filled=False)
