"""Stock checkpoints, GPT-2 and Llama, as networks to patch: read off their folders.

Everything is in float64, so that edges are patched in the model that people load. Every query head
has its own edges into its keys and values, though in a Llama several may share them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from softhat.circuits.decoder import StockDecoder, applied, gpt2_decoder, llama_decoder
from softhat.circuits.disguised import structure_of
from softhat.circuits.network import LEAK, Array, LayerNodes, Network, Slot
from softhat.circuits.structure import Structure, needed
from softhat.export.stock.folder import DIRECTIONS
from softhat.io.files import read_json, read_tensors, read_text
from softhat.numerics.masks import allowed


class StockNetwork(Network):
    """A checkpoint for token classification or language modelling, from its folder."""

    propositional = False
    longest: int
    leak = LEAK

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = read_json(folder / "config.json")
        tensors, is_gpt2 = read_tensors(folder / "model.safetensors"), self.is_gpt2
        self.decoder = (gpt2_decoder if is_gpt2 else llama_decoder)(tensors, self.config)
        context = self.config["n_positions" if is_gpt2 else "max_position_embeddings"]
        self.longest = int(context) - 1  # `<bos>` has a position too
        self.layers, self.heads = len(self.decoder.layers), len(self.decoder.layers[0].heads)
        self.width, self.d_model = self.decoder.layers[0].heads[0].output.shape
        self.empty = [
            [h for h, head in enumerate(layer.heads) if not head.output.any()]
            for layer in self.decoder.layers
        ]
        vocabulary = read_json(folder / "tokenizer.json")["model"]["vocab"]
        special = {self.config["bos_token_id"], self.config["eos_token_id"]}
        names = sorted(vocabulary, key=vocabulary.__getitem__)
        self.symbols = tuple(name for name in names if vocabulary[name] not in special)
        self.ids = np.array([vocabulary[name] for name in self.symbols])
        self.classifies = "lm_head.weight" not in tensors
        self.several = self.config.get("problem_type") == "multi_label_classification"
        self.outputs = self._outputs()

    @property
    def is_gpt2(self) -> bool:
        return bool(self.config.get("model_type") == "gpt2")

    def embedded(self, tokens: Array) -> Array:
        return self.decoder.embedded(self.tokens_with_bos(tokens))

    def nodes(self, number: int, x: Array, recomputed: dict[Slot, Array]) -> LayerNodes:
        layer = self.decoder.layers[number]
        reads = _Reads(self.decoder, number, x, recomputed)

        def units(read: Array) -> tuple[Array, Array]:
            hidden = layer.units.hidden(layer.norms[1](read))
            return hidden, layer.units.out(hidden)

        def written(h: int, means: Array) -> Array:
            return applied(means, layer.heads[h].output)

        bias = 0.0 if layer.bias is None else layer.bias
        return LayerNodes(self.heads, reads.means, written, units, self.empty[number], bias)

    def margins(self, read: Array) -> Array:
        """What is positive where an output holds or a token is allowed."""
        logits = self.decoder.readout(self.decoder.last(read))
        if self.several:
            return logits[:, 1:]
        if self.classifies:
            return (logits[..., 1:] - logits[..., :1])[:, 1:]
        return logits[:, 1:, self.ids]

    def structure(self) -> Structure:
        """Where the weights are; of a disguised model, along its directions."""
        if (self.folder / DIRECTIONS).exists():
            return needed(structure_of(self.folder))
        return self.decoder.structure()

    def tokens_with_bos(self, tokens: Array) -> Array:
        """(words, n) codes as the tokenizer's numbers, `<bos>` first."""
        bos = np.full((len(tokens), 1), self.config["bos_token_id"])
        return np.concatenate([bos, self.ids[tokens]], axis=1)

    def _outputs(self) -> tuple[str, ...]:
        if not self.classifies:
            return self.symbols
        if self.several:
            count = self.decoder.readout.matrix.shape[1]
            return tuple(self.config["id2label"][str(k)] for k in range(count))
        return (read_text(self.folder / "formula.txt").partition(": ")[0],)


class _Reads:
    """What the heads of a block read, which is mostly the same.

    What is read is normed once. All heads read `x`, but for what is patched. The queries, keys,
    values and attention weights that a head computes from `x` are stored in `recomputed`. It is
    shared by all patches of a run for which this block is the first that differs.
    """

    def __init__(
        self, decoder: StockDecoder, number: int, x: Array, recomputed: dict[Slot, Array]
    ) -> None:
        self.decoder, self.layer = decoder, decoder.layers[number]
        self.number, self.x, self.recomputed = number, x, recomputed
        self.norms: dict[int, tuple[Array, Array]] = {}
        """By the identity of what is read, which is held so that no other takes its number."""

    def means(self, h: int, q: Array, k: Array, v: Array) -> Array:
        """The values of a head, averaged by its attention."""
        if q is self.x and k is self.x:
            weights = self._once(h, "weights", lambda: self._weights(h, q, k))
        else:
            weights = self._weights(h, q, k)
        mean: Array = weights @ self._part(h, "v", v)
        return mean

    def _weights(self, h: int, q: Array, k: Array) -> Array:
        return attention(self._part(h, "q", q), self._part(h, "k", k))

    def _part(self, h: int, slot: str, read: Array) -> Array:
        """Queries, keys or values of a head."""

        def part() -> Array:
            made = self.layer.heads[h].inputs[slot](self._normed(read))
            return made if slot == "v" else self.decoder.turned(made)

        return self._once(h, slot, part) if read is self.x else part()

    def _normed(self, read: Array) -> Array:
        if id(read) not in self.norms:
            self.norms[id(read)] = read, self.layer.norms[0](read)
        return self.norms[id(read)][1]

    def _once(self, h: int, what: str, computed: Callable[[], Array]) -> Array:
        at = f"a{self.number}.h{h}", what
        if at not in self.recomputed:
            self.recomputed[at] = computed()
        return self.recomputed[at]


def attention(q: Array, k: Array) -> Array:
    """The weights of a head's causal attention."""
    weights: Array = q @ k.transpose(0, 2, 1)
    weights /= math.sqrt(q.shape[-1])
    weights[:, ~allowed("<=", weights.shape[1])] = -np.inf
    weights -= np.maximum.reduce(weights, axis=2, keepdims=True)
    np.exp(weights, out=weights)
    weights /= np.add.reduce(weights, axis=2, keepdims=True)
    return weights
