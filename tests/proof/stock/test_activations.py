"""What activations leave of units whose terms fail, against PyTorch's."""

from __future__ import annotations

import pytest

from softhat.proof.stock.activations import GateActivation, GeluNew, Relu, Silu, smooth_tail
from softhat.proof.stock.gates import Gate
from softhat.proof.stock.storage import STORAGES
from tests.export.stock_models import torch

FLOAT32, BFLOAT16, FLOAT16 = STORAGES[0], STORAGES[1], STORAGES[2]


def gate(room: float) -> Gate:
    return Gate(
        target=0, units=(0, 1), out=0.5, low=room, high=room + 4, fails=-room, never=False,
        clears=False,
    )  # fmt: skip


def test_gelu_is_off_relu_by_less_than_its_tail() -> None:
    """Against PyTorch's gelu_new in float64, everywhere beyond the distance."""
    x = torch.linspace(1.0, 40.0, 40_001, dtype=torch.float64)
    for sign in (1.0, -1.0):
        off = (torch.nn.functional.gelu(sign * x, approximate="tanh") - torch.relu(sign * x)).abs()
        for at in range(0, len(x), 500):
            rounding = 1e-15 * x[at:]  # of PyTorch
            assert bool((off[at:] <= smooth_tail(float(x[at])) + rounding).all())


@pytest.mark.parametrize("room", [2.0, 5.0, 30.0])
@pytest.mark.parametrize("activation", [Relu(), GeluNew(), Silu()])
def test_tails_of_both_units(activation: GateActivation, room: float) -> None:
    """Sums that fail stay `far` from 0, and both units write at most the tail. Relu's is 0."""
    clip = gate(room)
    far = activation.far(clip, FLOAT32)
    if far > room:
        return
    act = {Relu: torch.relu, Silu: torch.nn.functional.silu}.get(
        type(activation), lambda x: torch.nn.functional.gelu(x, approximate="tanh")
    )
    x = -torch.linspace(far, 60.0, 20_001, dtype=torch.float32)
    reach = 120.0  # of both units
    left = float(act(x).abs().max()) * 2 * clip.out
    assert left <= activation.tail(clip, far, reach, FLOAT32)


def test_silu_leaves_nothing_where_a_format_stores_it_as_zero() -> None:
    """24·e^-24 is half of float16's least number's fortieth, and a number of bfloat16."""
    silu = Silu()
    left = torch.nn.functional.silu(torch.tensor([-24.0]))
    assert float(left.to(torch.float16)) == 0.0 != float(left.to(torch.bfloat16))
    assert silu.roundings(1, 50, FLOAT16) == 3 < silu.roundings(1, 50, BFLOAT16) == 101
