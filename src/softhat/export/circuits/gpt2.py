"""A GPT-2 export as a network to patch, read off its folder.

The forward pass here is GPT-2's own (LayerNorm, learned positions, causal softmax) in float64, so
that edges are patched in the model that people load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from softhat.errors import SofthatError
from softhat.export.circuits.disguised import plain_tensors
from softhat.export.circuits.network import LEAK, Array, Change, started, visible
from softhat.export.circuits.structure import Block, Head, Structure, needed
from softhat.export.gpt2_disguise import DIRECTIONS
from softhat.files import read_json, read_tensors, read_text


def _relu(x: Array) -> Array:
    return np.maximum(x, 0.0)


def _gelu_new(x: Array) -> Array:
    inner: Array = np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))
    return 0.5 * x * (1.0 + inner)


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": _relu, "gelu_new": _gelu_new}


def _named(tensors: Mapping[str, Array]) -> dict[str, Array]:
    """Without the trunk's name."""
    return {
        name.removeprefix("transformer."): np.asarray(value, np.float64)
        for name, value in tensors.items()
    }


class GPT2Network:
    """A GPT-2 for token classification or language modelling, from its folder."""

    propositional = False
    leak = LEAK

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = read_json(folder / "config.json")
        self.w = _named(read_tensors(folder / "model.safetensors"))
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
        self.d_model = int(self.config["n_embd"])
        self.width = self.d_model // self.heads
        if self.config["activation_function"] not in _ACTIVATIONS:
            raise SofthatError(f"unknown activation {self.config['activation_function']!r}")
        self.activation = _ACTIVATIONS[self.config["activation_function"]]

    @property
    def last(self) -> str:
        """The read-out."""
        return "classifier.weight" if self.classifies else "lm_head.weight"

    def structure(self) -> Structure:
        """Where the weights are; of a disguised model, along its directions."""
        if (self.folder / DIRECTIONS).exists():
            return needed(self._structure(_named(plain_tensors(self.folder))))
        return self._structure(self.w)

    def _structure(self, w: Mapping[str, Array]) -> Structure:
        blocks = []
        for number in range(self.layers):
            block = f"h.{number}."
            reads, writes = w[block + "attn.c_attn.weight"], w[block + "attn.c_proj.weight"]
            d = len(reads)
            heads = []
            for h in range(self.heads):
                own = slice(h * self.width, (h + 1) * self.width)
                query, key, value = (
                    reads[:, part * d : (part + 1) * d][:, own].T != 0 for part in range(3)
                )
                heads.append(Head(query, key, value, writes[own] != 0))
            into, out = w[block + "mlp.c_fc.weight"].T, w[block + "mlp.c_proj.weight"]
            blocks.append(Block(tuple(heads), into != 0, out != 0))
        tables = np.concatenate([w["wte.weight"], w["wpe.weight"]])
        return Structure(tables != 0, tuple(blocks), w[self.last] != 0)

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
        asked = seen is not None
        seen = {} if seen is None else seen
        w = self.w
        known = started(patch)
        if known is not None:
            first, x, added = known
        else:
            first, x = 0, self._embedded(tokens)
            added = {"input": x}
            seen["blocks.0.hook_resid_pre"] = x

        def read(name: str, slot: str) -> Array:
            moved = 0.0 if patch is None else patch.moved((name, slot), added)
            return x if isinstance(moved, float) else x + moved  # 0.0: nothing is patched

        for number in range(first, self.layers):
            block = f"h.{number}."
            matrix, bias = w[block + "attn.c_attn.weight"], w[block + "attn.c_attn.bias"]
            whole = self._norm(x, f"{block}ln_1") @ matrix + bias
            for h in range(self.heads):
                name = f"a{number}.h{h}"
                projection = self._projection(block, h)
                if not asked and not projection.any():
                    added[name] = np.zeros_like(x)  # an empty head
                    continue
                parts = []
                for part, slot in enumerate("qkv"):
                    start = part * len(matrix) + h * self.width
                    own = slice(start, start + self.width)
                    given = read(name, slot)
                    if given is not x:
                        patched = self._norm(given, f"{block}ln_1") @ matrix[:, own] + bias[own]
                    parts.append(whole[..., own] if given is x else patched)
                z = seen[f"blocks.{number}.attn.hook_z.{h}"] = self._mixed(*parts)
                added[name] = z @ projection
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

    def _embedded(self, tokens: Array) -> Array:
        bos = np.full((len(tokens), 1), self.config["bos_token_id"])
        ids = np.concatenate([bos, self.ids[tokens]], axis=1)
        x: Array = self.w["wte.weight"][ids] + self.w["wpe.weight"][: ids.shape[1]]
        return x

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
