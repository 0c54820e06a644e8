"""The picture of a trace: it is drawn in every format, and shows word, verdict and margins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import softhat

pytest.importorskip("matplotlib")


def texts(figure: Any) -> list[str]:
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text)]


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_formats(tmp_path: Path, suffix: str) -> None:
    trace = softhat.compile("!c S a", alphabet="abc").run("abca")
    for name in ("one", "two"):
        trace.plot(tmp_path / f"{name}{suffix}")
    first, second = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "two"))
    assert first == second
    assert len(first) > 1000


def test_what_it_says() -> None:
    trace = softhat.compile({"x": "!c S a", "y": "#(a) >= 2"}, alphabet="abc").run("abca")
    shown = texts(trace.plot())
    title = next(text for text in shown if "x: true at the end" in text)
    assert title.startswith("!c S a; #(a) >= 2")
    assert "y: true at the end" in title
    assert {"<bos>", "a", "b", "c"} <= set(shown)
    assert any("layer 1, head 0" in text for text in shown)
    margin = trace.margins["x"][2]
    assert f"{margin:.2g}" in shown


def test_a_model_without_heads_and_a_wrong_name() -> None:
    trace = softhat.compile("a", alphabet="ab").run("ab")
    trace.plot()
    with pytest.raises(softhat.SofthatError, match=r"\.png"):
        trace.plot("trace.html")
