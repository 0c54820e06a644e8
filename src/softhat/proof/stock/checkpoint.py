"""A stock checkpoint as its folder holds it, and how its tensors are read over variables.

A variable is a pair (+v, -v) of a GPT-2's coordinates, or one coordinate of a Llama. What an
architecture is beyond the shapes of its tensors is a `DecoderFacts`: facts that the derivation and
the bounds read. The walk itself is the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from typing import ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.logic.sources import Weights
from softhat.proof.stock.activations import GateActivation
from softhat.proof.stock.norms import Norm
from softhat.proof.stock.variables import Cell, Rows
from softhat.transformer.decoders import DecoderBlock, Shape

Array = NDArray[np.float32]
HeadName = Literal["token-classification", "lm", "multi-label"]
B = TypeVar("B", bound=DecoderBlock)


@dataclass(frozen=True)
class Embedding:
    """What tokens and positions hold: (rows, variables) each, or (rows, coordinates)."""

    tokens: Array
    positions: Array


@dataclass(frozen=True)
class BlockMatrices:
    """A block's matrices over variables, or over coordinates: what the rows of all heads' queries,
    keys and values read, and the hidden units; and what these write."""

    query: Rows
    key: Rows
    value: Rows
    output: Array
    """(variables, rows of all heads)."""
    gate: Rows
    up: Rows | None
    """The second factors of hidden units, where they have one."""
    down: Array
    """(variables, units)."""


@dataclass(frozen=True)
class DecoderFacts:
    """The facts in which decoders differ."""

    context: int
    blocks: int
    n_head: int
    n_kv: int
    """How many heads of keys and values the heads share."""
    head_size: int
    frequencies: NDArray[np.float64]
    """ω of each row of a head: of its rotary pairs, or of single coordinates, which do not turn."""
    activation: GateActivation
    coordinates: int
    """How many coordinates a variable has: as many products has each weight on it."""
    raw: bool
    """Heads write ±A, and gates store what they return; otherwise they write bits themselves. What
    is used again stays off by what it was off, and then nothing may ask for exactly what was."""
    least_logit: float = 0.0
    """Logits must be larger than this in size."""
    has_recalls: bool = True
    """Heads have room for the digits of a recall: `last[…]` is an atom of its own."""
    advice: str = ""
    """How another choice of positions gives small formats more."""

    @property
    def turns(self) -> bool:
        return bool(self.frequencies.any())

    @property
    def root(self) -> float:
        """√d, which scores are divided by."""
        return float(isqrt(self.head_size))

    def rows_of(self, head: int) -> tuple[slice, slice]:
        """Where a head's queries are, and the keys and values that it shares with others."""
        size, group = self.head_size, head // (self.n_head // self.n_kv)
        return slice(head * size, (head + 1) * size), slice(group * size, (group + 1) * size)


@dataclass(frozen=True)
class Assumed:
    """What is taken for granted of the software that runs an architecture, beside attention."""

    sums: str
    others: tuple[str, ...]
    not_left: tuple[str, ...]
    """The formats in which eager attention may not see padding on the left.

    Padding there has rows that see no key: eager attention adds the least number of the format to
    each score. In float16 that and a score below -16 is -inf; and float64's least number is in
    float32, where a softmax is taken in that. A row of -inf is not a number after the softmax, and
    the next block's heads read it. (In bfloat16 and float32 the least number absorbs every score;
    fused attention adds in float32.)"""


@dataclass(frozen=True, kw_only=True)
class StockCheckpoint(ABC):
    """What the proofs of all architectures read. Token t < len(tokens) is an ordinary token."""

    CLASSIFIER: ClassVar[str]
    """What the head of a token classifier is called."""
    NORM: ClassVar[str]
    """What the names of norms have in them, and no others'."""
    ASSUMED: ClassVar[Assumed]

    symbols: tuple[str, ...]
    propositional: bool
    tokens: tuple[frozenset[str], ...]
    """Which symbols (or propositions) hold at each ordinary token."""
    bos: int
    n_head: int
    epsilon: float
    head: HeadName
    tensors: Mapping[str, Array]
    weights: Weights | None = None
    """The log-weights that a language model is claimed to have, where it states any."""
    greedy: bool = False
    """Is a language model claimed to allow exactly one token after every history?"""

    @property
    @abstractmethod
    def d_model(self) -> int: ...

    @property
    @abstractmethod
    def architecture(self) -> DecoderFacts:
        """Its facts; what no proof is written for is refused."""

    @abstractmethod
    def tables(self) -> Embedding:
        """What is embedded, over coordinates."""

    def embedding(self) -> Embedding:
        """The same over variables."""
        return self.tables()

    @abstractmethod
    def over_coordinates(self, at: int) -> BlockMatrices:
        """A block, over coordinates."""

    def over_variables(self, at: int) -> BlockMatrices:
        """The same over variables."""
        return self.over_coordinates(at)

    @abstractmethod
    def norm(self, cells: list[Cell]) -> Norm:
        """All its norms, of a residual stream that starts as `cells`."""

    @abstractmethod
    def logit_rows(self) -> tuple[Rows, bool]:
        """The rows of the logits over variables, and whether they have a bias."""

    @property
    def readout(self) -> str:
        """The tensor whose rows are the logits."""
        return "lm_head.weight" if self.head == "lm" else f"{self.CLASSIFIER}.weight"

    def logits(self) -> tuple[Array, bool]:
        """The rows of the logits, and whether they have a bias."""
        rows = self.tensor(self.readout)
        if rows.ndim != 2 or rows.shape[1] != self.d_model:
            raise VoidError("the read-out does not read the residual stream")
        bias = f"{self.CLASSIFIER}.bias"
        return rows, self.head != "lm" and bool(self.tensor(bias, len(rows)).any())

    def tensor(self, name: str, *shape: int) -> Array:
        """A tensor of that shape (any shape if none is given)."""
        tensor = self.tensors.get(name)
        if tensor is None:
            raise VoidError(f"there is no tensor {name}")
        if shape and tensor.shape != shape:
            raise VoidError(f"{name} has the shape {tensor.shape}, not {shape}")
        if not np.isfinite(tensor).all():
            raise VoidError(f"{name} has an entry that is not a finite number")
        return tensor

    def block_of(self, kind: type[B], at: int, shapes: Mapping[str, Shape]) -> B:
        """The matrices of a block, which have these shapes."""
        name = f"{kind.PREFIX}.{at}"
        parts = kind.names().items()
        return kind(**{part: self.tensor(f"{name}.{n}", *shapes[n]) for part, n in parts})

    def blocks_of(self, kind: type[DecoderBlock]) -> int:
        """How many blocks there are tensors of."""
        start = f"{kind.PREFIX}."
        names = [name.removeprefix(start) for name in self.tensors if name.startswith(start)]
        return max((int(name.split(".")[0]) for name in names), default=-1) + 1


def check_root(size: int) -> None:
    """Scores are divided by √size, which is to be exact."""
    root = isqrt(max(size, 0))
    if size < 1 or root * root != size or root & (root - 1):
        raise VoidError(f"heads of size {size}: 1/√size is not a power of two")
