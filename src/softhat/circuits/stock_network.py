"""What stock checkpoints share as networks to patch: their folder, their logits, their softmax.

Forward pass and places of weights are each architecture's own (`gpt2`, `llama`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from softhat.circuits.disguised import plain_tensors
from softhat.circuits.network import LEAK, Array, Change, visible
from softhat.circuits.structure import Structure, needed
from softhat.export.stock.folder import DIRECTIONS
from softhat.io.files import read_json, read_tensors, read_text


class StockNetwork(ABC):
    """A checkpoint for token classification or language modelling, from its folder."""

    classifier: ClassVar[str]
    """The read-out of a classifier."""
    language_model: ClassVar[str]
    """The read-out of a language model."""
    propositional = False
    longest: int | None
    leak = LEAK
    layers: int
    heads: int
    d_model: int

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = read_json(folder / "config.json")
        self.w = self.named(read_tensors(folder / "model.safetensors"))
        vocabulary = read_json(folder / "tokenizer.json")["model"]["vocab"]
        special = {self.config["bos_token_id"], self.config["eos_token_id"]}
        names = sorted(vocabulary, key=vocabulary.__getitem__)
        self.symbols = tuple(name for name in names if vocabulary[name] not in special)
        self.ids = np.array([vocabulary[name] for name in self.symbols])
        self.classifies = self.classifier in self.w
        self.several = self.config.get("problem_type") == "multi_label_classification"
        self.last = self.classifier if self.classifies else self.language_model
        self.outputs = self._outputs()

    @staticmethod
    @abstractmethod
    def named(tensors: Mapping[str, Array]) -> dict[str, Array]:
        """The tensors in float64, without the trunk's name."""

    @abstractmethod
    def run(
        self, tokens: Array, patch: Change | None = None, seen: dict[str, Array] | None = None
    ) -> tuple[dict[str, Array], Array]:
        """What every node adds, and the margins (words, n, outputs)."""

    @abstractmethod
    def places(self, w: Mapping[str, Array]) -> Structure:
        """Where the weights are."""

    def structure(self) -> Structure:
        """Where the weights are; of a disguised model, along its directions."""
        if (self.folder / DIRECTIONS).exists():
            return needed(self.places(self.named(plain_tensors(self.folder))))
        return self.places(self.w)

    def tokens_with_bos(self, tokens: Array) -> Array:
        """(words, n) codes as the tokenizer's numbers, `<bos>` first."""
        bos = np.full((len(tokens), 1), self.config["bos_token_id"])
        return np.concatenate([bos, self.ids[tokens]], axis=1)

    def margins(self, logits: Array) -> Array:
        """What is positive where an output holds or a token is allowed."""
        if self.several:
            return logits[:, 1:]
        if self.classifies:
            return (logits[..., 1:] - logits[..., :1])[:, 1:]
        return logits[:, 1:, self.ids]

    def _outputs(self) -> tuple[str, ...]:
        if not self.classifies:
            return self.symbols
        if self.several:
            return tuple(self.config["id2label"][str(k)] for k in range(len(self.w[self.last])))
        return (read_text(self.folder / "formula.txt").partition(": ")[0],)


def mixed(q: Array, k: Array, v: Array) -> Array:
    """The values of a head, averaged by its causal attention."""
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    scores[:, ~visible("<=", scores.shape[1])] = -np.inf
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    mean: Array = weights @ v
    return mean
