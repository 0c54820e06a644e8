"""A stock checkpoint as its folder holds it: tensors, vocabulary and head, whatever runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.logic.sources import Weights
from softhat.transformer.decoders import DecoderBlock, Shape

Array = NDArray[np.float32]
HeadName = Literal["token-classification", "lm", "multi-label"]
B = TypeVar("B", bound=DecoderBlock)


@dataclass(frozen=True, kw_only=True)
class StockCheckpoint(ABC):
    """What the proofs of all architectures read. Token t < len(tokens) is an ordinary token."""

    CLASSIFIER: ClassVar[str]
    """What the head of a token classifier is called."""

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
