"""A stock decoder before it is written: what its parts read and write, over variables.

A variable is a pair of a GPT-2's coordinates, or a coordinate of a Llama. Rows of queries, keys,
values and hidden units read variables; a GPT-2's have constants beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from softhat.program.inputs import TokenIn
from softhat.program.registers import Register
from softhat.program.schedule import Term
from softhat.transformer.lowering.stock.forms import PairForm
from softhat.transformer.lowering.stock.plan import BOS_PAIR, ORDINARY, Key, StockLayout

Array = NDArray[Any]
LOW, HIGH = 1 / 4, 3 / 4
"""Where the two hidden units of a clip start: what they add lies between."""
L = TypeVar("L", bound=StockLayout, covariant=True)


@dataclass(frozen=True, slots=True)
class LoweredClip:
    """Two hidden units that add `step` to a variable where a sum is 1, and nothing where it is 0 or
    less."""

    target: Register
    total: PairForm
    step: float
    term: Term | None = None
    """Of the gate that stores the target, if it is one of a term."""
    is_table: bool = False
    """It is one of digits, for a predicate of the position."""


@dataclass(frozen=True, kw_only=True)
class TrunkUnits:
    """The hidden units of one block, and where its gates are."""

    gate: Array
    """(units, variables)."""
    gate_constants: Array
    up: Array | None
    """The second factors, where they have one."""
    down: Array
    """(variables, units)."""
    clips: tuple[LoweredClip, ...]
    """The k-th is made of the units 2k and 2k + 1."""

    @property
    def sides(self) -> int:
        """How many units there are that write something."""
        return int(np.count_nonzero(np.abs(self.down).sum(axis=0)))


@dataclass(frozen=True, kw_only=True)
class TrunkBlock(TrunkUnits):
    """The matrices of one block."""

    query: Array
    """(rows of all heads, variables); keys and values likewise."""
    key: Array
    value: Array
    constants: Array
    """(3, rows of all heads), of queries, keys and values."""
    output: Array
    """(variables, rows of all heads)."""


@dataclass(frozen=True)
class Trunk(Generic[L]):
    """Embeddings and blocks, before any head."""

    layout: L
    tokens: Array
    positions: Array | None
    """What positions add, if they are learned."""
    blocks: tuple[TrunkBlock, ...]
    gain: float
    """G: a gate clips G·s."""

    @property
    def d_ff(self) -> int:
        return len(self.blocks[0].gate)


def row_over(layout: StockLayout, weights: Mapping[Key, float]) -> NDArray[np.float64]:
    """A linear form as a row over variables."""
    row = np.zeros(layout.variables)
    for key, w in weights.items():
        row[layout.place[key]] += w
    return row


def token_columns(
    layout: StockLayout, tokens: tuple[frozenset[str], ...]
) -> Iterator[tuple[Key, NDArray[Any]]]:
    """What the rows of the ordinary tokens, of `<bos>` and of `<eos>` (which is also padding) hold,
    for each variable that depends on the token. `tokens` says which symbols hold at each."""
    bos = np.zeros(len(tokens) + 2)
    bos[len(tokens)] = 1.0
    yield BOS_PAIR, bos
    yield ORDINARY, 1.0 - bos
    for at, signal in enumerate(layout.program.signals):
        if isinstance(signal, TokenIn) and Register(at, False) in layout.place:
            holds = [bool(symbols.intersection(signal.symbols)) for symbols in tokens]
            yield Register(at, False), np.where([*holds, False, False], 1.0, -1.0)
    for layer in layout.schedule.layers:
        for gate in layer.gates:
            if gate.complement:  # true until a term takes it away
                yield Register(gate.signal, False), 1.0 - 2.0 * bos


def clipped(
    layout: StockLayout,
    clips: Sequence[LoweredClip],
    d_ff: int,
    gain: float,
    read: Callable[[PairForm], tuple[NDArray[np.float64], float]],
    second: NDArray[np.float64] | None = None,
) -> TrunkUnits:
    """The units of a block: of each clip, those of G(z - 1/4) and G(z - 3/4), whose difference is
    written. `read` makes a row and a constant of a form, `second` is the units' second factor."""
    gate, constants, down = (
        np.zeros(shape, np.float32)
        for shape in ((d_ff, layout.variables), d_ff, (layout.variables, d_ff))
    )
    for at, clip in enumerate(clips):
        for unit, threshold, sign in ((2 * at, LOW, 1.0), (2 * at + 1, HIGH, -1.0)):
            moved = PairForm(clip.total.weights, clip.total.constant - threshold).times(gain)
            gate[unit], constants[unit] = read(moved)
            down[layout.place[clip.target], unit] = sign * clip.step / (gain * (HIGH - LOW))
    up = None
    if second is not None:
        up = np.zeros_like(gate)
        up[: 2 * len(clips)] = second
    return TrunkUnits(gate=gate, gate_constants=constants, up=up, down=down, clips=tuple(clips))
