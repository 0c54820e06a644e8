"""A GPT-2 export as a network to patch, read off its folder: LayerNorm, learned positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from softhat.circuits.network import Array
from softhat.circuits.stock_network import StockNetwork, applied
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
    sizes = ("n_positions", "n_embd", "n_head", "n_layer")
    attention_bias = "h.{}.attn.c_proj.bias"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
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
                own = self.own(h)
                query, key, value = (
                    reads[:, part * d : (part + 1) * d][:, own].T != 0 for part in range(3)
                )
                heads.append(CircuitHead(query, key, value, writes[own] != 0))
            into, out = w[block + "mlp.c_fc.weight"].T, w[block + "mlp.c_proj.weight"]
            blocks.append(CircuitBlock(tuple(heads), into != 0, out != 0))
        tables = np.concatenate([w["wte.weight"], w["wpe.weight"]])
        return Structure(tables != 0, tuple(blocks), w[self.last] != 0)

    def embedded(self, ids: Array) -> Array:
        embedded: Array = self.w["wte.weight"][ids] + self.w["wpe.weight"][: ids.shape[1]]
        return embedded

    def normed(self, x: Array, number: int, place: int) -> Array:
        name = "ln_f" if number == self.layers else f"h.{number}.ln_{place + 1}"
        centred = x - np.add.reduce(x, axis=-1, keepdims=True) / self.d_model
        variance = np.add.reduce(centred * centred, axis=-1, keepdims=True) / self.d_model
        # In place: words are many and each norm reads all that they hold.
        centred /= np.sqrt(variance + self.config["layer_norm_epsilon"])
        centred *= self.w[f"{name}.weight"]
        centred += self.w[f"{name}.bias"]
        return centred

    def head_part(self, number: int, h: int, slot: str, normed: Array) -> Array:
        matrix, bias = (self.w[f"h.{number}.attn.c_attn.{part}"] for part in ("weight", "bias"))
        start = "qkv".index(slot) * self.d_model + h * self.width
        own = slice(start, start + self.width)
        return applied(normed, matrix[:, own]) + bias[own]

    def projection(self, number: int, h: int) -> Array:
        return self.w[f"h.{number}.attn.c_proj.weight"][self.own(h)]

    def hidden(self, number: int, inner: Array) -> tuple[Array, Array]:
        block = f"h.{number}.mlp."
        into, out = (self.w[f"{block}{name}.weight"] for name in ("c_fc", "c_proj"))
        hidden = self.activation(applied(inner, into) + self.w[f"{block}c_fc.bias"])
        return hidden, applied(hidden, out) + self.w[f"{block}c_proj.bias"]
