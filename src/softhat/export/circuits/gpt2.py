"""The circuit of a GPT-2 export, read off its folder: weights, tokenizer and labels.

The forward pass here is GPT-2's own (LayerNorm, learned positions, causal softmax) in float64, so
that edges are patched in the model that people load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from softhat.errors import SofthatError
from softhat.export.circuits.disguised import needed_structure
from softhat.export.circuits.graph import Circuit, Edge, Node, hook_of
from softhat.export.circuits.network import Array, Change, visible
from softhat.export.circuits.witness import Search
from softhat.export.gpt2_disguise import DIRECTIONS
from softhat.export.labels import Meaning
from softhat.files import read_json, read_tensors, read_text


def _relu(x: Array) -> Array:
    return np.maximum(x, 0.0)


def _gelu_new(x: Array) -> Array:
    inner: Array = np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))
    return 0.5 * x * (1.0 + inner)


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": _relu, "gelu_new": _gelu_new}


class GPT2Network:
    """A GPT-2 for token classification or language modelling, from its folder."""

    propositional = False

    def __init__(self, folder: Path) -> None:
        self.config = read_json(folder / "config.json")
        tensors = read_tensors(folder / "model.safetensors")
        self.w: dict[str, Array] = {
            name.removeprefix("transformer."): np.asarray(value, np.float64)
            for name, value in tensors.items()
        }
        vocabulary = read_json(folder / "tokenizer.json")["model"]["vocab"]
        special = {self.config["bos_token_id"], self.config["eos_token_id"]}
        names = sorted(vocabulary, key=vocabulary.__getitem__)
        self.symbols = tuple(name for name in names if vocabulary[name] not in special)
        self.ids = np.array([vocabulary[name] for name in self.symbols])
        self.classifies = "classifier.weight" in self.w
        self.several = self.config.get("problem_type") == "multi_label_classification"
        self.outputs = self._outputs(folder)
        self.heads = int(self.config["n_head"])
        self.layers = int(self.config["n_layer"])
        self.width = int(self.config["n_embd"]) // self.heads
        self.structure = self.w
        """Weights that are 0 where nothing is read or written; of a disguised model others."""
        if self.config["activation_function"] not in _ACTIVATIONS:
            raise SofthatError(f"unknown activation {self.config['activation_function']!r}")
        self.activation = _ACTIVATIONS[self.config["activation_function"]]

    def _outputs(self, folder: Path) -> tuple[str, ...]:
        if not self.classifies:
            return self.symbols
        if self.several:
            return tuple(self.config["id2label"][str(k)] for k in range(self._logits))
        return (read_text(folder / "formula.txt").partition(": ")[0],)

    @property
    def _logits(self) -> int:
        return len(self.w["classifier.weight"])

    def run(
        self, tokens: Array, patch: Change | None = None, seen: dict[str, Array] | None = None
    ) -> tuple[dict[str, Array], Array]:
        """What every node adds, and the margins (words, n, outputs)."""
        seen = {} if seen is None else seen
        w, rows = self.w, tokens.shape[1] + 1
        ids = np.concatenate(
            [np.full((len(tokens), 1), self.config["bos_token_id"]), self.ids[tokens]], axis=1
        )
        x = seen["blocks.0.hook_resid_pre"] = w["wte.weight"][ids] + w["wpe.weight"][:rows]
        added = {"input": x}

        def read(name: str, slot: str) -> Array:
            moved = 0.0 if patch is None else patch.moved((name, slot), added)
            return x if isinstance(moved, float) else x + moved  # 0.0: nothing is patched

        for number in range(self.layers):
            block = f"h.{number}."
            matrix, bias = w[block + "attn.c_attn.weight"], w[block + "attn.c_attn.bias"]
            whole = self._norm(x, f"{block}ln_1") @ matrix + bias
            for h in range(self.heads):
                name = f"a{number}.h{h}"
                parts = []
                for part, slot in enumerate("qkv"):
                    start = part * len(matrix) + h * self.width
                    own = slice(start, start + self.width)
                    given = read(name, slot)
                    if given is not x:
                        patched = self._norm(given, f"{block}ln_1") @ matrix[:, own] + bias[own]
                    parts.append(whole[..., own] if given is x else patched)
                z = seen[f"blocks.{number}.attn.hook_z.{h}"] = self._mixed(*parts)
                added[name] = z @ self._projection(block, h)
            bias = w[block + "attn.c_proj.bias"]
            x = x + sum(added[f"a{number}.h{h}"] for h in range(self.heads)) + bias
            seen[f"blocks.{number}.hook_resid_mid"] = x
            name = f"m{number}"
            inner = self._norm(read(name, ""), f"{block}ln_2")
            hidden = self.activation(
                inner @ w[block + "mlp.c_fc.weight"] + w[block + "mlp.c_fc.bias"]
            )
            added[name] = hidden @ w[block + "mlp.c_proj.weight"] + w[block + "mlp.c_proj.bias"]
            seen[f"blocks.{number}.mlp.hook_post"] = hidden
            x = x + added[name]
            seen[f"blocks.{number}.hook_resid_post"] = x
        return added, self._margins(self._norm(read("logits", ""), "ln_f"))

    def _margins(self, x: Array) -> Array:
        if self.classifies:
            logits = x @ self.w["classifier.weight"].T + self.w["classifier.bias"]
            if self.several:
                return logits[:, 1:]
            return (logits[..., 1:] - logits[..., :1])[:, 1:]
        logits = x @ self.w["lm_head.weight"].T
        return logits[:, 1:, self.ids]  # positive where the token is allowed

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        spread = np.sqrt(variance + self.config["layer_norm_epsilon"])
        return centred / spread * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def _mixed(self, q: Array, k: Array, v: Array) -> Array:
        """The values of a head, averaged by its attention."""
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(self.width)
        scores[:, ~visible("<=", scores.shape[1])] = -np.inf
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        mean: Array = weights @ v
        return mean

    def _projection(self, block: str, h: int) -> Array:
        matrix = self.w[block + "attn.c_proj.weight"]
        width = len(matrix) // self.heads
        return matrix[h * width : (h + 1) * width]


def circuit_of_folder(folder: Path, seed: int = 0, words: int = 256) -> Circuit:
    """Nodes as the folder's labels name them, edges from its weights."""
    network = GPT2Network(folder)
    if (folder / DIRECTIONS).exists():
        network.structure = needed_structure(folder)
    search = Search(network, seed, words)
    edges = tuple(
        Edge(source, target, slot, *search.judged(source, target, slot))
        for source, target, slot in structural_edges(network)
    )
    config = {
        "n_layers": network.layers,
        "n_heads": network.heads,
        "d_model": int(network.config["n_embd"]),
    }
    labels = read_json(folder / "labels.json")
    definitions = tuple(labels.get("definitions", ()))
    nodes = tuple(search.witnessed(nodes_of(network.layers, network.heads, labels)))
    return Circuit("gpt2", nodes, edges, config, search.answers(), definitions)


def structural_edges(network: GPT2Network) -> Iterator[tuple[str, str, str]]:
    """(source, target, slot) for every reader of a coordinate that the source writes.

    LayerNorm reads all coordinates, but on the residual stream of an export, whose mean and norm
    are constant, it reads nothing.
    """
    w = network.structure
    written: list[tuple[str, set[int]]] = [
        ("input", _columns(w["wte.weight"]) | _columns(w["wpe.weight"]))
    ]

    def readers(target: str, slot: str, read: set[int]) -> Iterator[tuple[str, str, str]]:
        yield from ((source, target, slot) for source, wrote in written if wrote & read)

    for number in range(network.layers):
        block = f"h.{number}."
        matrix, output = w[block + "attn.c_attn.weight"], w[block + "attn.c_proj.weight"]
        d = matrix.shape[0]
        width = network.width
        fresh = []
        for h in range(network.heads):
            own = slice(h * width, (h + 1) * width)
            read = {
                slot: _columns(matrix[:, part * d + own.start : part * d + own.stop].T)
                for part, slot in enumerate("qkv")
            }
            wrote = _columns(output[own])
            if not wrote or not read["v"]:
                continue  # an empty head
            for slot, coordinates in read.items():
                yield from readers(f"a{number}.h{h}", slot, coordinates)
            fresh.append((f"a{number}.h{h}", wrote))
        written += fresh
        yield from readers(f"m{number}", "", _columns(w[block + "mlp.c_fc.weight"].T))
        written.append((f"m{number}", _columns(w[block + "mlp.c_proj.weight"])))
    last = w["classifier.weight"] if network.classifies else w["lm_head.weight"]
    yield from readers("logits", "", _columns(last))


def nodes_of(layers: int, n_head: int, labels: Mapping[str, Any]) -> Iterator[Node]:
    """The nodes of a stock checkpoint, as its labels name them."""
    heads = {(head["layer"], head["head"]): head for head in labels["heads"]}
    stored: list[list[Meaning]] = [[] for _ in range(layers + 1)]
    # Of a pair of GPT-2's coordinates the second holds the negative of the first.
    step = 2 if labels["model"] == "gpt2" else 1
    firsts = [entry for entry in labels["coordinates"] if entry["index"] % step == 0]
    for place in (*firsts, *labels.get("directions", ())):
        for held in place["holds"]:
            meaning = _meaning({k: v for k, v in held.items() if k not in ("from", "what")})
            if meaning.role in ("input", "gate"):
                stored[held["from"]].append(meaning)
    yield Node("input", hook_of("input"), "", tuple(stored[0]))
    for number in range(layers):
        for h in range(n_head):
            found = heads.get((number, h))
            if found is not None and not found.get("distractor"):
                name = f"a{number}.h{h}"
                said = tuple(map(_meaning, found["computes"]))
                yield Node(name, hook_of(name), found["kind"], said)
        yield Node(f"m{number}", hook_of(f"m{number}"), "gates", tuple(stored[number + 1]))
    said = tuple(map(_meaning, labels.get("outputs", ())))
    yield Node("logits", hook_of("logits"), "", said)


def _meaning(data: Mapping[str, Any]) -> Meaning:
    try:
        return Meaning.from_json(dict(data))
    except TypeError:
        raise SofthatError("labels.json was written by another version: export again") from None


def _columns(matrix: Array) -> set[int]:
    return set(np.flatnonzero(matrix.any(axis=0)).tolist())
