"""Pictures of leak, margin and phase: what they are drawn from, and that they are drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.explore.pictures import (
    curves,
    largest_correct,
    leak_and_margin,
    phase,
    sharpness_of,
    spread,
    with_sharpness,
)
from softhat.io.errors import SofthatError

pytest.importorskip("matplotlib")


def test_what_is_measured_stays_within_what_is_certified() -> None:
    model = softhat.compile("(!c S a) & (!a S b)", alphabet="abc")
    (narrow, wide) = curves(model, ("bfloat16", "float64"), (4, 16, 64, 400))
    leak = max(head.leak for head in model.certificate.heads)
    slack = min(output.slack for output in model.certificate.outputs)
    assert max(map(max, wide.leak)) <= leak + 1e-12
    assert max(map(max, wide.leak)) > 0.99 * leak  # the words are hostile enough to reach it
    assert min(wide.margin) >= slack - 1e-12
    assert max(map(max, narrow.leak[:3])) < 0.02
    assert narrow.margin[3] <= 0 < narrow.margin[2]  # 400 > 256 positions


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
def test_sharpness_is_the_exponent_of_the_leak(attention: str) -> None:
    """Latest leaks e^-C: measured on a word of decided positions that alternate in value."""
    model = softhat.compile("!c S a", alphabet="abc", attention=attention)
    assert sharpness_of(model) == 4
    for c in (1.0, 2.0, 3.0):
        changed = with_sharpness(model, c / 4)
        word = changed.encode("c" * 30 + "a")
        margin = changed.run_batch(word[None], "float64")[0, -1, 0]
        assert np.isclose(margin, 0.5 - np.exp(-c), atol=1e-9)


def test_the_largest_correct_length() -> None:
    """O a with softness: from e^-C > 1/2 on, one `a` after many `b` is outvoted. Positions are
    exact in bfloat16 to 256."""
    model = softhat.compile("!c S a", alphabet="abc")
    assert largest_correct(with_sharpness(model, 0.5 / 4), "float32", 100) < 10
    assert largest_correct(model, "float32", 100) == 100
    assert 256 <= largest_correct(model, "bfloat16", 400) < 300
    with pytest.raises(SofthatError, match="no sharpness"):
        with_sharpness(softhat.compile("a S b", attention="hard"), 2)


def test_lengths_are_spread_evenly_and_end_at_the_longest() -> None:
    assert spread(16) == [2, 3, 4, 6, 8, 11, 16]
    assert spread(100)[-1] == 100
    assert spread(1) == [1]


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_files(tmp_path: Path, suffix: str) -> None:
    model = softhat.compile({"x": "!c S a", "y": "#(a) > #(b)"}, alphabet="abc")
    start = b"\x89PNG" if suffix == ".png" else b"<?xml"
    leak_and_margin(model, tmp_path / f"leak{suffix}", ("float16", "float32"), longest=40)
    points = phase(model, tmp_path / f"phase{suffix}", ("bfloat16",), (1.0, 4.0), limit=20)
    assert [c for c, _, _ in points["bfloat16"]] == [1.0, 4.0]
    assert points["bfloat16"][1][1] == 20
    for name in ("leak", "phase"):
        assert (tmp_path / f"{name}{suffix}").read_bytes().startswith(start)
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(SofthatError, match=r"\.png, \.svg, \.pdf"):
        leak_and_margin(model, tmp_path / "leak.bmp", ("float32",), longest=4)
    with pytest.raises(SofthatError, match="cannot write"):
        leak_and_margin(model, tmp_path / "no" / "leak.png", ("float32",), longest=4)
