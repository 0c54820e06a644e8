"""The circuit of a Llama export, read off its folder: weights, tokenizer and labels.

The forward pass here is Llama's own (RMSNorm, rotary attention, SwiGLU, shared keys and values) in
float64, so that edges are patched in the model that people load. Every query head has its own
edges into its keys and values, though several share them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from softhat.export.circuits.gpt2 import nodes_of
from softhat.export.circuits.graph import Circuit, Edge
from softhat.export.circuits.network import Array, Change, visible
from softhat.export.circuits.witness import Search
from softhat.files import read_json, read_tensors, read_text


class LlamaNetwork:
    """A Llama, Mistral or Qwen2 for token classification or language modelling."""

    propositional = False

    def __init__(self, folder: Path) -> None:
        self.config = read_json(folder / "config.json")
        tensors = read_tensors(folder / "model.safetensors")
        self.w: dict[str, Array] = {
            name.removeprefix("model.").removesuffix(".weight"): np.asarray(value, np.float64)
            for name, value in tensors.items()
        }
        vocabulary = read_json(folder / "tokenizer.json")["model"]["vocab"]
        special = {self.config["bos_token_id"], self.config["eos_token_id"]}
        names = sorted(vocabulary, key=vocabulary.__getitem__)
        self.symbols = tuple(name for name in names if vocabulary[name] not in special)
        self.ids = np.array([vocabulary[name] for name in self.symbols])
        self.classifies = "score" in self.w
        name = read_text(folder / "formula.txt").partition(": ")[0]
        self.outputs = (name,) if self.classifies else self.symbols
        self.heads = int(self.config["num_attention_heads"])
        self.layers = int(self.config["num_hidden_layers"])
        self.shared = self.heads // int(self.config["num_key_value_heads"])
        self.width = len(self.w["layers.0.self_attn.q_proj"]) // self.heads
        rope = self.config["rope_parameters"]
        exponents = np.arange(0, self.width, 2) / self.width
        self.frequencies = rope["rope_theta"] ** -exponents / rope.get("factor", 1.0)

    def run(
        self, tokens: Array, patch: Change | None = None, seen: dict[str, Array] | None = None
    ) -> tuple[dict[str, Array], Array]:
        """What every node adds, and the margins (words, n, outputs)."""
        seen = {} if seen is None else seen
        w = self.w
        first = np.full((len(tokens), 1), self.config["bos_token_id"])
        x = w["embed_tokens"][np.concatenate([first, self.ids[tokens]], axis=1)]
        seen["blocks.0.hook_resid_pre"] = x
        added = {"input": x}

        def read(name: str, slot: str) -> Array:
            return x if patch is None else x + patch.moved((name, slot), added)

        for number in range(self.layers):
            block = f"layers.{number}."
            for h in range(self.heads):
                name = f"a{number}.h{h}"
                reads = [self._norm(read(name, slot), f"{block}input_layernorm") for slot in "qkv"]
                z = seen[f"blocks.{number}.attn.hook_z.{h}"] = self._mixed(block, h, *reads)
                added[name] = z @ w[block + "self_attn.o_proj"][:, self._own(h)].T
            x = x + sum(added[f"a{number}.h{h}"] for h in range(self.heads))
            seen[f"blocks.{number}.hook_resid_mid"] = x
            inner = self._norm(read(f"m{number}", ""), f"{block}post_attention_layernorm")
            gate = inner @ w[block + "mlp.gate_proj"].T
            hidden = _silu(gate) * (inner @ w[block + "mlp.up_proj"].T)
            seen[f"blocks.{number}.mlp.hook_post"] = hidden
            added[f"m{number}"] = hidden @ w[block + "mlp.down_proj"].T
            x = x + added[f"m{number}"]
            seen[f"blocks.{number}.hook_resid_post"] = x
        return added, self._margins(self._norm(read("logits", ""), "norm"))

    def _own(self, h: int) -> slice:
        return slice(h * self.width, (h + 1) * self.width)

    def keys_of(self, number: int, h: int) -> np.ndarray:
        """The rows of the keys that a head's queries are multiplied with."""
        query = np.asarray(self.w[f"layers.{number}.self_attn.q_proj"][self._own(h)].any(axis=1))
        half = self.width // 2
        pairs = query[:half] | query[half:]
        group = h // self.shared
        return np.flatnonzero(np.concatenate([pairs, pairs])) + group * self.width

    def values_of(self, number: int, h: int) -> np.ndarray:
        """The rows of the values that a head writes."""
        output = self.w[f"layers.{number}.self_attn.o_proj"][:, self._own(h)]
        return np.flatnonzero(output.any(axis=0)) + h // self.shared * self.width

    def _margins(self, x: Array) -> Array:
        if self.classifies:
            logits = x @ self.w["score"].T
            return (logits[..., 1:] - logits[..., :1])[:, 1:]
        logits = x @ self.w["lm_head"].T
        own = logits[..., self.ids]
        return (own - logits.max(axis=-1, keepdims=True) / 2)[:, 1:]

    def _norm(self, x: Array, name: str) -> Array:
        squares = (x**2).mean(axis=-1, keepdims=True)
        normed: Array = x / np.sqrt(squares + self.config["rms_norm_eps"]) * self.w[name]
        return normed

    def _mixed(self, block: str, h: int, query: Array, key: Array, value: Array) -> Array:
        """The values of head h, averaged by its attention."""
        group = self._own(h // self.shared)
        q = self._turned(query @ self.w[block + "self_attn.q_proj"][self._own(h)].T)
        k = self._turned(key @ self.w[block + "self_attn.k_proj"][group].T)
        v = value @ self.w[block + "self_attn.v_proj"][group].T
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(self.width)
        scores[:, ~visible("<=", scores.shape[1])] = -np.inf
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        mean: Array = weights @ v
        return mean

    def _turned(self, x: Array) -> Array:
        angles = np.arange(x.shape[1])[:, None] * self.frequencies
        half = self.width // 2
        a, b = x[..., :half], x[..., half:]
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def _silu(x: Array) -> Array:
    halved: Array = np.tanh(x / 2)
    return x * (0.5 + 0.5 * halved)


def circuit_of_llama(folder: Path, seed: int = 0, words: int = 256) -> Circuit:
    """Nodes as the folder's labels name them, edges from its weights."""
    network = LlamaNetwork(folder)
    search = Search(network, seed, words)
    edges = tuple(
        Edge(source, target, slot, *search.judged(source, target, slot))
        for source, target, slot in structural_edges(network)
    )
    config = {
        "n_layers": network.layers,
        "n_heads": network.heads,
        "d_model": int(network.config["hidden_size"]),
    }
    labels = read_json(folder / "labels.json")
    definitions = tuple(labels.get("definitions", ()))
    nodes = tuple(search.witnessed(nodes_of(network.layers, network.heads, labels)))
    model = str(network.config["model_type"])
    return Circuit(model, nodes, edges, config, search.answers(), definitions)


def structural_edges(network: LlamaNetwork) -> Iterator[tuple[str, str, str]]:
    """(source, target, slot) for every reader of a coordinate that the source writes.

    RMSNorm reads all coordinates, but on the residual stream of an export, whose norm is constant,
    it reads nothing.
    """
    w = network.w
    written: list[tuple[str, set[int]]] = [("input", _some(w["embed_tokens"].any(axis=0)))]

    def readers(target: str, slot: str, read: set[int]) -> Iterator[tuple[str, str, str]]:
        yield from ((source, target, slot) for source, wrote in written if wrote & read)

    for number in range(network.layers):
        attention, mlp = f"layers.{number}.self_attn.", f"layers.{number}.mlp."
        fresh = []
        for h in range(network.heads):
            own = slice(h * network.width, (h + 1) * network.width)
            wrote = _some(w[attention + "o_proj"][:, own].any(axis=1))
            values = w[attention + "v_proj"][network.values_of(number, h)]
            if not wrote or not values.any():
                continue  # an empty head
            keys = w[attention + "k_proj"][network.keys_of(number, h)]
            query = w[attention + "q_proj"][own]
            for slot, matrix in zip("qkv", (query, keys, values), strict=True):
                yield from readers(f"a{number}.h{h}", slot, _some(matrix.any(axis=0)))
            fresh.append((f"a{number}.h{h}", wrote))
        written += fresh
        gated = w[mlp + "gate_proj"].any(axis=0) | w[mlp + "up_proj"].any(axis=0)
        yield from readers(f"m{number}", "", _some(gated))
        written.append((f"m{number}", _some(w[mlp + "down_proj"].any(axis=1))))
    last = w["score"] if network.classifies else w["lm_head"]
    yield from readers("logits", "", _some(last.any(axis=0)))


def _some(row: Any) -> set[int]:
    return set(np.flatnonzero(row).tolist())
