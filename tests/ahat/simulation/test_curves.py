"""What pictures of laws show: laws above and below what is measured, fits called fits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.curves import analysis_curves, simulation_curves
from softhat.io.pictures.laws import save_laws


def test_a_simulation(tmp_path: Path) -> None:
    curves = simulation_curves(softhat.simulate(GALLERY["last-token"]()))
    (head,) = curves.heads
    proved, measured = (dict(s.points) for s in head.gaps)
    assert measured == {n: proved[n] for n in measured} != {}
    chosen, exact, critical, least = (dict(s.points) for s in head.betas)
    for n in critical:
        assert exact[n] == pytest.approx(critical[n])
    for n in least:
        assert least[n] <= chosen[n] * (1 + 1e-9) <= 1.2 * least[n]
    pytest.importorskip("matplotlib")
    save_laws(curves, tmp_path / "laws.png")
    assert (tmp_path / "laws.png").read_bytes()[:4] == b"\x89PNG"
    numbers = json.loads((tmp_path / "laws.plot.json").read_text())
    assert numbers["heads"][0]["gaps"][0]["kind"] == "law"


def test_an_analysis() -> None:
    (argmin,) = analysis_curves(softhat.analyze(GALLERY["dyck-argmin"](), up_to=8)).heads
    assert "argmin" in argmin.title
    assert [s.kind for s in argmin.gaps] == ["law", "data"]
    law, data = (dict(s.points) for s in argmin.gaps)
    assert all(law[n] <= gap * (1 + 1e-9) for n, gap in data.items())
    assert [s.kind for s in argmin.betas] == ["data", "fit"]
    assert argmin.betas[1].label.startswith("fitted")
    (first,) = analysis_curves(softhat.analyze(GALLERY["first-token"](), up_to=5)).heads
    assert [s.kind for s in first.betas] == ["law", "data"]  # exact: no fit is needed


def test_an_axis_that_spans_little_has_plain_numbers() -> None:
    """6, 7, 8: no powers of ten with factors, and not one mark alone."""
    pytest.importorskip("matplotlib")
    from softhat.io.pictures.laws import laws_figure

    curves = analysis_curves(softhat.analyze(GALLERY["sort"](), up_to=5))
    gaps, betas = laws_figure(curves).axes
    low, high = betas.get_ylim()
    betas.figure.canvas.draw()
    shown = [label.get_text() for label in betas.get_yticklabels(which="both")]
    values = [float(text) for text in shown if text]
    assert sum(low <= value <= high for value in values) >= 2
    assert any("10^" in label.get_text() for label in gaps.get_yticklabels())


def test_nothing_to_draw() -> None:
    curves = analysis_curves(softhat.analyze(GALLERY["majority"](), up_to=3))
    with pytest.raises(softhat.SofthatError, match="nothing to draw"):
        save_laws(curves, "x.png")
