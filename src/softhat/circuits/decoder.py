"""The weights of a stock decoder in one form, whatever its folder calls them.

GPT-2 and Llama differ in what they have: LayerNorm has a shift and RMSNorm none, positions are
learned or turn queries and keys, hidden units have a gate beside them or an activation of their
own, several heads may share keys and values. Here every query head has its own matrices, as views
of the folder's tensors in float64, and what an architecture lacks is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from softhat.circuits.network import Array
from softhat.circuits.structure import CircuitBlock, Structure, head_wires
from softhat.io.errors import SofthatError


@dataclass(frozen=True, slots=True)
class StockProduct:
    """x @ matrix + bias."""

    matrix: Array
    bias: Array | None = None

    def __call__(self, x: Array) -> Array:
        product = applied(x, self.matrix)
        return product if self.bias is None else product + self.bias


@dataclass(frozen=True, slots=True)
class StockNorm:
    """LayerNorm; RMSNorm where there is no shift."""

    gain: Array
    shift: Array | None
    epsilon: float

    def __call__(self, x: Array) -> Array:
        width = x.shape[-1]
        if self.shift is not None:
            x = x - np.add.reduce(x, axis=-1, keepdims=True) / width
        variance = np.add.reduce(x * x, axis=-1, keepdims=True) / width
        normed: Array = x / np.sqrt(variance + self.epsilon)
        normed *= self.gain  # in place: words are many and each norm reads all that they hold
        if self.shift is not None:
            normed += self.shift
        return normed


@dataclass(frozen=True, slots=True)
class DecoderHead:
    """A head's weights."""

    inputs: Mapping[str, StockProduct]
    """What its queries, keys and values (q, k, v) are made by."""
    output: Array
    """(width, d_model)."""


@dataclass(frozen=True, slots=True)
class StockUnits:
    """Hidden units: an activation, or the silu of a gate times what is read."""

    into: StockProduct
    gate: Array | None
    activation: str
    out: StockProduct

    def hidden(self, x: Array) -> Array:
        """The units, of what the norm before them gives."""
        if self.gate is not None:
            return _silu(applied(x, self.gate)) * self.into(x)
        return ACTIVATIONS[self.activation](self.into(x))


@dataclass(frozen=True, slots=True)
class StockLayer:
    """A block: heads and hidden units, a norm before each of the two."""

    norms: tuple[StockNorm, StockNorm]
    """Before attention, and before the units."""
    heads: tuple[DecoderHead, ...]
    bias: Array | None
    """What attention adds beside its heads."""
    units: StockUnits


@dataclass(frozen=True, slots=True)
class StockDecoder:
    """All weights of a checkpoint."""

    tokens: Array
    positions: Array | None
    layers: tuple[StockLayer, ...]
    last: StockNorm
    readout: StockProduct
    frequencies: Array | None
    """By which queries and keys turn from position to position, where positions are not learned."""
    shared: int = 1
    """How many query heads share keys and values."""

    def embedded(self, ids: Array) -> Array:
        """The residual stream before the first block."""
        x: Array = self.tokens[ids]
        return x if self.positions is None else x + self.positions[: ids.shape[1]]

    def turned(self, x: Array) -> Array:
        """Queries or keys as they stand at their positions."""
        if self.frequencies is None:
            return x
        angles = np.arange(x.shape[1])[:, None] * self.frequencies
        a, b = np.split(x, 2, axis=-1)
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    def structure(self) -> Structure:
        """Where the weights are not 0."""
        blocks = []
        for layer in self.layers:
            units = layer.units
            heads = tuple(
                head_wires(
                    {slot: product.matrix.T for slot, product in head.inputs.items()},
                    head.output,
                    turns=self.frequencies is not None,
                )
                for head in layer.heads
            )
            into = units.into.matrix.T != 0
            into = into if units.gate is None else into | (units.gate.T != 0)
            blocks.append(CircuitBlock(heads, into, units.out.matrix != 0))
        tables = [self.tokens] if self.positions is None else [self.tokens, self.positions]
        embedding = np.concatenate(tables) != 0
        return Structure(embedding, tuple(blocks), self.readout.matrix.T != 0)


def gpt2_decoder(tensors: Mapping[str, Array], config: Mapping[str, Any]) -> StockDecoder:
    """A GPT-2, whose Conv1D stores matrices by what they read."""
    w = {name.removeprefix("transformer."): _wide(tensor) for name, tensor in tensors.items()}
    d, heads, activation = config["n_embd"], config["n_head"], config["activation_function"]
    if activation not in ACTIVATIONS:
        raise SofthatError(f"unknown activation {activation!r}")

    def product(name: str, own: slice = slice(None)) -> StockProduct:
        return StockProduct(w[f"{name}.weight"][:, own], w[f"{name}.bias"][own])

    def norm(name: str) -> StockNorm:
        gain, shift = w[f"{name}.weight"], w[f"{name}.bias"]
        return StockNorm(gain, shift, config["layer_norm_epsilon"])

    def head(at: str, h: int) -> DecoderHead:
        first, end = h * d // heads, (h + 1) * d // heads
        inputs = {
            slot: product(f"{at}.c_attn", slice(part * d + first, part * d + end))
            for part, slot in enumerate("qkv")
        }
        return DecoderHead(inputs, w[f"{at}.c_proj.weight"][first:end])

    def layer(at: str) -> StockLayer:
        return StockLayer(
            (norm(f"{at}.ln_1"), norm(f"{at}.ln_2")),
            tuple(head(f"{at}.attn", h) for h in range(heads)),
            w[f"{at}.attn.c_proj.bias"],
            StockUnits(product(f"{at}.mlp.c_fc"), None, activation, product(f"{at}.mlp.c_proj")),
        )

    last = "classifier.weight" if "classifier.weight" in w else "lm_head.weight"
    return StockDecoder(
        w["wte.weight"],
        w["wpe.weight"],
        tuple(layer(f"h.{number}") for number in range(config["n_layer"])),
        norm("ln_f"),
        StockProduct(w[last].T, w.get("classifier.bias")),
        None,
    )


def llama_decoder(tensors: Mapping[str, Array], config: Mapping[str, Any]) -> StockDecoder:
    """A Llama, Mistral or Qwen2, whose linear layers store matrices by what they write. Exports
    have no biases in their blocks."""
    w = {name.removeprefix("model."): _wide(tensor) for name, tensor in tensors.items()}
    heads = config["num_attention_heads"]
    shared = heads // config["num_key_value_heads"]
    width = len(w["layers.0.self_attn.q_proj.weight"]) // heads
    rope = config["rope_parameters"]
    exponents = np.arange(0, width, 2) / width

    def product(name: str, part: int | None = None) -> StockProduct:
        own = slice(None) if part is None else slice(part * width, (part + 1) * width)
        return StockProduct(w[f"{name}.weight"][own].T)

    def norm(name: str) -> StockNorm:
        return StockNorm(w[f"{name}.weight"], None, config["rms_norm_eps"])

    def head(at: str, h: int) -> DecoderHead:
        parts = {"q": h, "k": h // shared, "v": h // shared}
        inputs = {slot: product(f"{at}.{slot}_proj", part) for slot, part in parts.items()}
        output = w[f"{at}.o_proj.weight"][:, h * width : (h + 1) * width].T
        return DecoderHead(inputs, output)

    def layer(at: str) -> StockLayer:
        up, gate, down = (product(f"{at}.mlp.{kind}_proj") for kind in ("up", "gate", "down"))
        return StockLayer(
            (norm(f"{at}.input_layernorm"), norm(f"{at}.post_attention_layernorm")),
            tuple(head(f"{at}.self_attn", h) for h in range(heads)),
            None,
            StockUnits(up, gate.matrix, "silu", down),
        )

    last = "score.weight" if "score.weight" in w else "lm_head.weight"
    return StockDecoder(
        w["embed_tokens.weight"],
        None,
        tuple(layer(f"layers.{number}") for number in range(config["num_hidden_layers"])),
        norm("norm"),
        StockProduct(w[last].T, w.get("score.bias")),
        rope["rope_theta"] ** -exponents / rope.get("factor", 1.0),
        shared,
    )


def applied(x: Array, matrix: Array) -> Array:
    """x @ matrix, for all words in one product."""
    product: Array = x.reshape(-1, x.shape[-1]) @ matrix
    return product.reshape(*x.shape[:-1], -1)


def _wide(tensor: Array) -> Array:
    return np.asarray(tensor, np.float64)


def _relu(x: Array) -> Array:
    return np.maximum(x, 0.0)


def _gelu_new(x: Array) -> Array:
    inner: Array = np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))
    return 0.5 * x * (1.0 + inner)


def _silu(x: Array) -> Array:
    halved: Array = np.tanh(x / 2)
    return x * (0.5 + 0.5 * halved)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": _relu, "gelu_new": _gelu_new}
