"""A question as methods see it: the model's folder, pairs of words, a metric; and the truth, which
only the marks look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softhat.circuits.graph import Circuit
from softhat.circuits.network import Array
from softhat.circuits.stock_network import StockNetwork
from softhat.export.stock.folder import DIRECTIONS
from softhat.io.errors import SofthatError
from softhat.io.files import is_file, read_json

if TYPE_CHECKING:
    from softhat.circuits.exam.hooked import HookedStock


@dataclass(frozen=True)
class Pairs:
    """Clean and corrupt words (pairs, n) as codes; where the answer is, and whether it is true."""

    clean: Array
    corrupt: Array
    position: Array
    answer: Array


@dataclass(frozen=True)
class Subject:
    """A question of a paper on disk."""

    folder: Path
    """The model's."""
    truth: Path
    """The folder of what is known of it."""
    question: dict[str, Any]
    seed: int = 0
    """Which of its sets of pairs."""

    @property
    def id(self) -> str:
        return str(self.question["id"])

    @property
    def is_disguised(self) -> bool:
        """Are its directions others than the axes?"""
        return is_file(self.folder / DIRECTIONS)

    @cached_property
    def circuit(self) -> Circuit:
        return Circuit.from_json(read_json(self.truth / "circuit.json"))

    @cached_property
    def network(self) -> StockNetwork:
        return StockNetwork(self.folder)

    @cached_property
    def hooked(self) -> HookedStock:
        """The model in float64 with TransformerLens' hooks, the same for all methods."""
        from softhat.circuits.exam.hooked import HookedStock

        return HookedStock(self.folder)

    def fresh(self, least_heads: int = 1) -> HookedStock:
        """A copy of its own, for methods that change it or want more heads."""
        from softhat.circuits.exam.hooked import HookedStock

        return HookedStock(self.folder, least_heads=least_heads)

    @cached_property
    def pairs(self) -> Pairs:
        sets, seed = read_json(self.truth / "pairs.json")["seeds"], self.seed
        if not 0 <= seed < len(sets):
            raise SofthatError(f"a paper has pairs for the seeds 0 to {len(sets) - 1}, not {seed}")
        index = {symbol: code for code, symbol in enumerate(self.network.symbols)}

        def codes(name: str) -> Array:
            return np.array([[index[s] for s in pair[name].split(" ")] for pair in sets[seed]])

        position = np.array([pair["position"] for pair in sets[seed]])
        answer = np.array([pair["answer"] for pair in sets[seed]])
        return Pairs(codes("clean"), codes("corrupt"), position, answer)

    @cached_property
    def tokens(self) -> tuple[Any, Any]:
        """Clean and corrupt words as token numbers after `<bos>`, in PyTorch."""
        import torch

        pairs = self.pairs
        numbers = (self.network.tokens_with_bos(codes) for codes in (pairs.clean, pairs.corrupt))
        clean, corrupt = (torch.from_numpy(each) for each in numbers)
        return clean, corrupt

    def metric(self, logits: Any) -> Any:
        """How sure the model is of each pair's clean answer: the margin, by its sign."""
        import torch

        pairs = self.pairs
        rows = torch.from_numpy(pairs.position + 1)
        signs = torch.from_numpy(np.where(pairs.answer, 1.0, -1.0)).to(logits.dtype)
        own = logits[torch.arange(len(rows)), rows]
        return signs * (own[:, 1] - own[:, 0])


def read_subject(paper: Path, name: str, seed: int = 0) -> Subject:
    """Question `name` of a paper on disk."""
    truth = paper / "truth" / name
    if not is_file(truth / "question.json"):
        raise SofthatError(f"{paper} has no question {name!r}: softhat exam make finishes a paper")
    return Subject(paper / "models" / name, truth, read_json(truth / "question.json"), seed)
