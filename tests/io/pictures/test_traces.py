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
    assert f"{margin:.2g}".replace("-", "−") in shown


@pytest.mark.parametrize("word", ["abca", "abcabbcabacbabcabbcabab"])
def test_answers_stand_below_their_columns(word: str) -> None:
    """As the picture is drawn: each answer is as far right as its token's column of the map."""
    import io

    picture = softhat.compile({"x": "!c S a", "y": "!a S b"}, alphabet="abc").run(word).plot()
    picture.savefig(io.BytesIO(), dpi=picture.dpi, format="png")
    first = picture.axes[0]
    (answers,) = first.child_axes
    places = range(len(word) + 1)
    columns, below = (
        [axes.transData.transform((at, 0))[0] for at in places] for axes in (first, answers)
    )
    assert below == pytest.approx(columns, abs=0.01)
    assert answers.get_window_extent().y1 < first.get_window_extent().y0
    assert [label.get_text() for label in answers.get_xticklabels()] == ["<bos>", *word]


def test_what_is_masked_is_paper() -> None:
    trace = softhat.compile("!c S a", alphabet="abc").run("abca")
    (drawn,) = trace.plot().axes[0].images
    assert drawn.get_array().mask.tolist() == [[j > i for j in range(5)] for i in range(5)]


def test_a_model_without_heads_and_a_wrong_name() -> None:
    trace = softhat.compile("a", alphabet="ab").run("ab")
    trace.plot()
    with pytest.raises(softhat.SofthatError, match=r"\.png"):
        trace.plot("trace.html")


def test_one_head_alone_is_as_wide_as_was_asked() -> None:
    trace = softhat.compile("F (2*#(a) = #*(a))", alphabet="ab").run("abba")
    picture = trace.plot(head=(1, 0), width=2.5)
    assert picture.get_figwidth() == 2.5
    (axes,) = picture.axes
    assert axes.images[0].get_array().filled(0).tolist() == trace.attention[1][0].tolist()
    assert axes.get_title().startswith("layer 1, head 0: Sign")
    assert {text.get_fontsize() for text in axes.get_xticklabels()} == {8}
    assert trace.plot(head=(2, 0)).get_figwidth() == 3.3
    with pytest.raises(softhat.SofthatError, match=r"no head \(3, 0\): choose one of \(0, 0\)"):
        trace.plot(head=(3, 0))
    with pytest.raises(softhat.SofthatError, match="say which with head"):
        trace.plot(width=2.5)
