"""What stock checkpoints share as networks to patch: their folder, the walk over their blocks.

Norms, projections and places of weights are each architecture's own (`gpt2`, `llama`). Everything
is in float64, so that edges are patched in the model that people load.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from softhat.circuits.disguised import structure_of
from softhat.circuits.network import LEAK, Array, Change, NodePatch, Slot, known
from softhat.circuits.structure import Structure, needed
from softhat.export.stock.folder import DIRECTIONS
from softhat.io.files import read_json, read_tensors, read_text
from softhat.numerics.masks import allowed


class StockNetwork(ABC):
    """A checkpoint for token classification or language modelling, from its folder."""

    classifier: ClassVar[str]
    """The read-out of a classifier."""
    language_model: ClassVar[str]
    """The read-out of a language model."""
    sizes: ClassVar[tuple[str, ...]]
    """What config.json calls the context, the residual stream's width, the heads and the blocks."""
    attention_bias: ClassVar[str] = ""
    """What a block's attention adds beside its heads, by the block's number."""
    propositional = False
    longest: int | None
    leak = LEAK
    layers: int
    heads: int
    d_model: int
    width: int
    """Of a head."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = read_json(folder / "config.json")
        sizes = (int(self.config[name]) for name in self.sizes)
        context, self.d_model, self.heads, self.layers = sizes
        self.longest = context - 1  # `<bos>` has a position too
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
    def embedded(self, ids: Array) -> Array:
        """The residual stream before the first block."""

    @abstractmethod
    def normed(self, x: Array, number: int, place: int) -> Array:
        """What a block's attention (place 0) or feed-forward (1) reads; after the last block, what
        the read-out does."""

    @abstractmethod
    def head_part(self, number: int, h: int, slot: str, normed: Array) -> Array:
        """Queries (`q`), keys (`k`) or values (`v`) of a head."""

    @abstractmethod
    def projection(self, number: int, h: int) -> Array:
        """(width, d_model): what a head's outputs write."""

    @abstractmethod
    def hidden(self, number: int, inner: Array) -> tuple[Array, Array]:
        """A block's hidden units, and what they write."""

    def run(
        self, tokens: Array, patch: Change | None = None, seen: dict[str, Array] | None = None
    ) -> tuple[dict[str, Array], Array]:
        """What every node adds, and the margins (words, n, outputs)."""
        asked = seen is not None
        seen = {} if seen is None else seen
        shared = known(patch)
        if shared is not None:
            first, x, added = shared.first, shared.begun.before[shared.first], dict(shared.same)
        else:
            first, x = 0, self.embedded(self.tokens_with_bos(tokens))
            added = {"input": x}
            seen["blocks.0.hook_resid_pre"] = x

        def read(name: str, slot: str) -> Array:
            moved = 0.0 if patch is None else patch.moved((name, slot), added)
            return x if isinstance(moved, float) else x + moved  # 0.0: nothing is patched

        for number in range(first, self.layers):
            recomputed = shared.begun.recomputed if shared is not None and number == first else {}
            block = _Block(self, number, x, recomputed)
            # A node that is patched for all readers is read by all heads alike.
            for_all = read(f"a{number}.h0", "q") if isinstance(patch, NodePatch) else None
            for h in range(self.heads):
                name = f"a{number}.h{h}"
                if name in added:
                    continue
                projection = self.projection(number, h)
                if not asked and not projection.any():
                    added[name] = np.zeros_like(x)  # an empty head
                    continue
                q, k, v = (read(name, slot) if for_all is None else for_all for slot in "qkv")
                z = block.means(h, q, k, v)
                seen[f"blocks.{number}.attn.hook_z.{h}"] = z
                added[name] = applied(z, projection)
                if shared is not None and not shared.differs(name, added[name]):
                    return dict(shared.begun.added), shared.begun.margins
            x = x + sum(added[f"a{number}.h{h}"] for h in range(self.heads))
            x = x + self.w.get(self.attention_bias.format(number), 0.0)
            seen[f"blocks.{number}.hook_resid_mid"] = x
            inner = self.normed(read(f"m{number}", ""), number, 1)
            hidden, added[f"m{number}"] = self.hidden(number, inner)
            if shared is not None and not shared.differs(f"m{number}", added[f"m{number}"]):
                return dict(shared.begun.added), shared.begun.margins
            seen[f"blocks.{number}.mlp.hook_post"] = hidden
            x = x + added[f"m{number}"]
            seen[f"blocks.{number}.hook_resid_post"] = x
        logits = applied(self.normed(read("logits", ""), self.layers, 0), self.w[self.last].T)
        if self.classifies:
            logits = logits + self.w[f"{self.classifier.removesuffix('.weight')}.bias"]
        return added, self.margins(logits)

    @abstractmethod
    def places(self, w: Mapping[str, Array]) -> Structure:
        """Where the weights are."""

    def own(self, h: int) -> slice:
        """The rows of a head."""
        return slice(h * self.width, (h + 1) * self.width)

    def structure(self) -> Structure:
        """Where the weights are; of a disguised model, along its directions."""
        if (self.folder / DIRECTIONS).exists():
            return needed(structure_of(self.folder))
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


class _Block:
    """The attention of a block that most heads read alike.

    What is read is normed once. All heads read `x`, but for what is patched. The queries, keys,
    values and attention weights that a head computes from `x` are stored in `recomputed`. It is
    shared by all patches of a run for which this block is the first that differs.
    """

    def __init__(
        self, network: StockNetwork, number: int, x: Array, recomputed: dict[Slot, Array]
    ) -> None:
        self.network, self.number, self.x, self.recomputed = network, number, x, recomputed
        self.norms: dict[int, tuple[Array, Array]] = {}
        """By the identity of what is read, which is held so that no other takes its number."""

    def means(self, h: int, q: Array, k: Array, v: Array) -> Array:
        """The values of a head, averaged by its attention: its queries, keys and values read so."""
        if q is self.x and k is self.x:
            weights = self._once(h, "weights", lambda: self._weights(h, q, k))
        else:
            weights = self._weights(h, q, k)
        mean: Array = weights @ self._part(h, "v", v)
        return mean

    def _weights(self, h: int, q: Array, k: Array) -> Array:
        return attention(self._part(h, "q", q), self._part(h, "k", k))

    def _part(self, h: int, slot: str, read: Array) -> Array:
        def part() -> Array:
            return self.network.head_part(self.number, h, slot, self._normed(read))

        return self._once(h, slot, part) if read is self.x else part()

    def _normed(self, read: Array) -> Array:
        if id(read) not in self.norms:
            self.norms[id(read)] = read, self.network.normed(read, self.number, 0)
        return self.norms[id(read)][1]

    def _once(self, h: int, what: str, computed: Callable[[], Array]) -> Array:
        at = f"a{self.number}.h{h}", what
        if at not in self.recomputed:
            self.recomputed[at] = computed()
        return self.recomputed[at]


def applied(x: Array, matrix: Array) -> Array:
    """x @ matrix, for all words in one product."""
    product: Array = x.reshape(-1, x.shape[-1]) @ matrix
    return product.reshape(*x.shape[:-1], -1)


def attention(q: Array, k: Array) -> Array:
    """The weights of a head's causal attention."""
    weights: Array = q @ k.transpose(0, 2, 1)
    weights /= math.sqrt(q.shape[-1])
    weights[:, ~allowed("<=", weights.shape[1])] = -np.inf
    weights -= np.maximum.reduce(weights, axis=2, keepdims=True)
    np.exp(weights, out=weights)
    weights /= np.add.reduce(weights, axis=2, keepdims=True)
    return weights
