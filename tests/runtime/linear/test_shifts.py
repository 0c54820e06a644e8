"""The convolution of a Shift against its softmax, and chunk against step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softhat.runtime.linear.columns import View
from softhat.runtime.linear.kernels import Word
from softhat.runtime.linear.shifts import ShiftKernel
from softhat.transformer.rows import UnknownShapeError
from softhat.transformer.shapes import HeadForm, Residues


@pytest.mark.parametrize("scaled", [False, True])
@given(
    bits=st.lists(st.integers(0, 1), min_size=1, max_size=50),
    distance=st.integers(1, 5),
    more=st.integers(1, 3),
    slope=st.sampled_from([4.0, 8.0]),
    cut=st.integers(1, 20),
)
@settings(max_examples=40)
def test_the_mean_is_the_softmax(
    scaled: bool, bits: list[int], distance: int, more: int, slope: float, cut: int
) -> None:
    """Theorem 23: -slope·d - penalty·[d ≢ c mod m], the sink without a residue and the value 0."""
    modulus = distance + more
    penalty = 2 * slope if scaled else slope * (distance + 3)
    shape = Residues(slope, penalty, scaled, distance, modulus)
    kernel = ShiftKernel(HeadForm("<=", shape, (((0, 1.0),),), ((),)), shape)
    values = np.array([0.0, *bits])
    n = len(bits)
    word = Word(n, float(1 << (n + 1).bit_length()))
    state, found = kernel.fresh(), []
    for start in range(0, n + 1, cut):
        part = values[start : start + cut]
        found += kernel.chunk(state, View([part], len(part)), start, word)[0].tolist()
    state = kernel.fresh()
    single = [kernel.step(state, [x], t, word)[0] for t, x in enumerate(values.tolist())]
    assert single == pytest.approx(found, rel=1e-12, abs=1e-15)
    lost = penalty * (word.scale if scaled else 1.0)
    for t in range(1, n + 1):
        scores = np.array([
            -slope * (t - j) - lost * (j > 0 and (t - j - distance) % modulus != 0)
            for j in range(t + 1)
        ])  # fmt: skip
        weights = np.exp(scores - scores.max())
        mean = float(weights @ values[: t + 1] / weights.sum())
        assert found[t] == pytest.approx(mean, abs=1e-14)


def test_what_runs_densely() -> None:
    far = Residues(400.0, 2000.0, False, 2, 3)
    with pytest.raises(UnknownShapeError, match="too far"):
        ShiftKernel(HeadForm("<=", far, (((0, 1.0),),), ((),)), far)
    near = Residues(4.0, 40.0, False, 2, 3)
    with pytest.raises(UnknownShapeError, match="no stored bit"):
        ShiftKernel(HeadForm("<=", near, (((0, 1.0), (1, 3.0)),), ((),)), near)
