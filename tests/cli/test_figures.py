"""Pictures for paper: their width, and what is refused."""

from __future__ import annotations

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
