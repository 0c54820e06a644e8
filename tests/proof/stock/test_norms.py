"""Norms as PyTorch takes them, against what is said of their factors."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from softhat.io.errors import VoidError
from softhat.proof.stock.norms import Norm, square_of
from softhat.proof.stock.storage import STORAGES, U
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell, RawCell
from tests.export.stock_models import torch

FLOAT32, BFLOAT16 = STORAGES[0], STORAGES[1]
BITS: list[Cell] = [BitCell(3)] * 60
LAYER = Norm("LayerNorm", 64.0, 192 * U, 0.0, 0.0, 192 * U, 2 / 128, 1.0)
RMS = Norm("RMSNorm", 64.0, 68 * U, 0.0, 0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("norm", [LAYER, RMS])
def test_what_is_read_is_what_is_stored_times_a_factor(norm: Norm) -> None:
    """64 variables of ±1, off by 2^-12, in 128 coordinates of opposite sign or 64 of their own."""
    rng = np.random.default_rng(1)
    cells, off = [*BITS, *BITS[:4]], np.full(64, 2.0**-12)
    factor = norm.factor(cells, off, FLOAT32)
    for _ in range(200):
        values = rng.choice([-1.0, 1.0], 64) + off * rng.choice([-1, 0.3, 1], 64)
        if norm.centres:
            pairs = np.stack([values, -values + off * rng.uniform(0, 1, 64)], axis=1).reshape(-1)
            x = torch.from_numpy(pairs.astype(np.float32))
            read = torch.nn.functional.layer_norm(x, (128,)).double().numpy()
            held = x.double().numpy()
        else:
            x = torch.from_numpy(values.astype(np.float32))
            read = torch.nn.functional.rms_norm(x, (64,)).double().numpy()
            held = x.double().numpy()
        moved = np.abs(read - held)
        assert (moved <= factor.mean + (factor.scale + 3 * U) * 1.01).all()


def test_integers_of_mean_square_one_are_read_as_they_are() -> None:
    cells: list[Cell] = [*BITS, ConstantCell(2.0, 2.0), *[ConstantCell(0.0, 0.0)] * 3]
    assert RMS.factor(cells, np.zeros(64), FLOAT32).exact
    assert not LAYER.factor(cells, np.zeros(64), FLOAT32).exact
    raw: list[Cell] = [*cells[:-1], RawCell(3, 0.5, 0)]
    assert not RMS.factor(raw, np.zeros(64), FLOAT32).exact


def test_small_formats_read_back_what_stands_above_the_mean() -> None:
    """±A is not moved by half a unit of it; where A is tiny the mean's error would do that."""
    cells: list[Cell] = [*BITS, RawCell(3, 2.0**-4, 0), *BITS[:3]]
    assert LAYER.factor(cells, np.zeros(64), BFLOAT16).exact
    tiny: list[Cell] = [*BITS, RawCell(3, 2.0**-11, 0), *BITS[:3]]
    with pytest.raises(VoidError, match="half an ulp"):
        LAYER.factor(tiny, np.zeros(64), BFLOAT16)


def test_every_position_has_one_norm() -> None:
    assert square_of([ConstantCell(0.5, -0.5), BitCell(3)]) == Fraction(5, 4)
    for cells in ([ConstantCell(0.0, 1.0)], [ConstantCell(0.0, 0.0)]):
        with pytest.raises(VoidError, match="residual"):
            square_of([*cells])
