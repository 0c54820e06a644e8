"""Pictures for paper: their width, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from softhat.cli.figures import paper_width
from softhat.io.errors import SofthatError
from tests.cli.run import softhat

AHAT = Path(__file__).resolve().parent.parent.parent / "examples" / "ahat" / "last-token.json"


def test_widths() -> None:
    assert paper_width("screen", None) is None
    assert paper_width("paper", None) == 3.3
    assert paper_width("paper", "3.3in") == 3.3
    assert paper_width("paper", "84 mm") == pytest.approx(84 / 25.4)
    for wrong in ("3.3", "0in", "wide", "99in"):
        with pytest.raises(SofthatError, match="--width is a size"):
            paper_width("paper", wrong)
    with pytest.raises(SofthatError, match="goes with --style paper"):
        paper_width("screen", "3in")


def test_a_picture_has_the_width_that_was_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = str(tmp_path / "x.svg")
    style = ["--style", "paper", "--width", "3.3in"]
    assert softhat("analyze", str(AHAT), "--up-to", "4", "--plot", picture, *style).code == 0
    assert f'width="{3.3 * 72:.1f}pt"' in Path(picture).read_text()
    done = softhat("analyze", str(AHAT), "--up-to", "4", *style)
    assert done.code == 2 and "--plot" in done.err


def test_one_panel_alone(tmp_path: Path) -> None:
    """A head has two panels: its gap and its temperature."""
    pytest.importorskip("matplotlib")
    heights = []
    asked = ["analyze", str(AHAT), "--up-to", "4", "--plot"]
    for name, panel in (("all", []), ("first", ["--panel", "1"]), ("second", ["--panel", "2"])):
        picture = tmp_path / f"{name}.svg"
        assert softhat(*asked, str(picture), "--style", "paper", *panel).code == 0
        text = picture.read_text()
        found = re.search(r'height="([\d.]+)pt"', text)
        assert found is not None
        heights.append(float(found[1]))
        assert ("<!-- gap γ -->" in text) == (name != "second")
        assert ("<!-- β -->" in text) == (name != "first")
    assert heights[0] == pytest.approx(2 * heights[1]) and heights[1] == heights[2]
    for wrong, said in ((["--panel", "3"], "panels 1 to 2"), (["--panel", "0"], "panels 1 to 2")):
        done = softhat(*asked, str(tmp_path / "x.svg"), *wrong)
        assert done.code == 2 and said in done.err
    done = softhat("analyze", str(AHAT), "--up-to", "4", "--panel", "1")
    assert done.code == 2 and "--plot" in done.err


def test_fonts_are_not_of_type_3(tmp_path: Path) -> None:
    """Publishers refuse those."""
    pytest.importorskip("matplotlib")
    picture = tmp_path / "x.pdf"
    assert softhat("analyze", str(AHAT), "--up-to", "4", "--plot", str(picture)).code == 0
    content = picture.read_bytes()
    assert b"/Type3" not in content and b"/CIDFontType2" in content
