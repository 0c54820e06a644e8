"""A GPT-2 export as a network to patch, read off its folder.

The forward pass here is GPT-2's own (LayerNorm, learned positions, causal softmax) in float64, so
that edges are patched in the model that people load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from softhat.circuits.network import Array, Change, started
from softhat.circuits.stock_network import StockNetwork, mixed
from softhat.circuits.structure import CircuitBlock, CircuitHead, Structure
from softhat.io.errors import SofthatError


def _relu(x: Array) -> Array:
    return np.maximum(x, 0.0)


def _gelu_new(x: Array) -> Array:
    inner: Array = np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))
    return 0.5 * x * (1.0 + inner)


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": _relu, "gelu_new": _gelu_new}


class GPT2Network(StockNetwork):
    """A GPT-2 for token classification or language modelling."""

    classifier = "classifier.weight"
    language_model = "lm_head.weight"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.longest = int(self.config["n_positions"]) - 1  # `<bos>` has a position too
        self.heads = int(self.config["n_head"])
        self.layers = int(self.config["n_layer"])
        self.d_model = int(self.config["n_embd"])
        self.width = self.d_model // self.heads
        if self.config["activation_function"] not in _ACTIVATIONS:
            raise SofthatError(f"unknown activation {self.config['activation_function']!r}")
        self.activation = _ACTIVATIONS[self.config["activation_function"]]

    @staticmethod
    def named(tensors: Mapping[str, Array]) -> dict[str, Array]:
        return {
            name.removeprefix("transformer."): np.asarray(value, np.float64)
            for name, value in tensors.items()
        }

    def places(self, w: Mapping[str, Array]) -> Structure:
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
                heads.append(CircuitHead(query, key, value, writes[own] != 0))
            into, out = w[block + "mlp.c_fc.weight"].T, w[block + "mlp.c_proj.weight"]
            blocks.append(CircuitBlock(tuple(heads), into != 0, out != 0))
        tables = np.concatenate([w["wte.weight"], w["wpe.weight"]])
        return Structure(tables != 0, tuple(blocks), w[self.last] != 0)

    def run(
        self, tokens: Array, patch: Change | None = None, seen: dict[str, Array] | None = None
    ) -> tuple[dict[str, Array], Array]:
        asked = seen is not None
        seen = {} if seen is None else seen
        w = self.w
        known = started(patch)
        if known is not None:
            first, x, added = known
        else:
            ids = self.tokens_with_bos(tokens)
            first, x = 0, w["wte.weight"][ids] + w["wpe.weight"][: ids.shape[1]]
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
                z = seen[f"blocks.{number}.attn.hook_z.{h}"] = mixed(*parts)
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
        logits = self._norm(read("logits", ""), "ln_f") @ w[self.last].T
        if self.classifies:
            logits = logits + w["classifier.bias"]
        return added, self.margins(logits)

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        spread = np.sqrt(variance + self.config["layer_norm_epsilon"])
        return centred / spread * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def _projection(self, block: str, h: int) -> Array:
        matrix = self.w[block + "attn.c_proj.weight"]
        width = len(matrix) // self.heads
        return matrix[h * width : (h + 1) * width]
