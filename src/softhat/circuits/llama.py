"""A Llama export as a network to patch, read off its folder.

RMSNorm, rotary attention, SwiGLU, shared keys and values: every query head has its own edges into
its keys and values, though several share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from softhat.circuits.network import Array
from softhat.circuits.stock_network import StockNetwork, applied
from softhat.circuits.structure import CircuitBlock, CircuitHead, Structure


class LlamaNetwork(StockNetwork):
    """A Llama, Mistral or Qwen2 for token classification or language modelling."""

    classifier = "score"
    language_model = "lm_head"
    sizes = (
        "max_position_embeddings", "hidden_size", "num_attention_heads", "num_hidden_layers",
    )  # fmt: skip

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.shared = self.heads // int(self.config["num_key_value_heads"])
        self.width = len(self.w["layers.0.self_attn.q_proj"]) // self.heads
        rope = self.config["rope_parameters"]
        exponents = np.arange(0, self.width, 2) / self.width
        self.frequencies = rope["rope_theta"] ** -exponents / rope.get("factor", 1.0)

    @staticmethod
    def named(tensors: Mapping[str, Array]) -> dict[str, Array]:
        return {
            name.removeprefix("model.").removesuffix(".weight"): np.asarray(value, np.float64)
            for name, value in tensors.items()
        }

    def embedded(self, ids: Array) -> Array:
        embedded: Array = self.w["embed_tokens"][ids]
        return embedded

    def normed(self, x: Array, number: int, place: int) -> Array:
        kind = ("input_layernorm", "post_attention_layernorm")[place]
        name = "norm" if number == self.layers else f"layers.{number}.{kind}"
        squares = (x**2).mean(axis=-1, keepdims=True)
        normed: Array = x / np.sqrt(squares + self.config["rms_norm_eps"]) * self.w[name]
        return normed

    def head_part(self, number: int, h: int, slot: str, normed: Array) -> Array:
        own = self.own(h if slot == "q" else h // self.shared)
        part = applied(normed, self.w[f"layers.{number}.self_attn.{slot}_proj"][own].T)
        return part if slot == "v" else self._turned(part)

    def projection(self, number: int, h: int) -> Array:
        return self.w[f"layers.{number}.self_attn.o_proj"][:, self.own(h)].T

    def hidden(self, number: int, inner: Array) -> tuple[Array, Array]:
        gate, up, down = (
            self.w[f"layers.{number}.mlp.{kind}_proj"].T for kind in ("gate", "up", "down")
        )
        hidden = _silu(applied(inner, gate)) * applied(inner, up)
        return hidden, applied(hidden, down)

    def places(self, w: Mapping[str, Array]) -> Structure:
        blocks = []
        for number in range(self.layers):
            attention, mlp = f"layers.{number}.self_attn.", f"layers.{number}.mlp."
            heads = []
            for h in range(self.heads):
                own, group = self.own(h), self.own(h // self.shared)
                query = w[attention + "q_proj"][own] != 0
                output = w[attention + "o_proj"][:, own].T != 0
                # Of keys and values that several heads share, those that this one uses.
                turning = query.any(axis=1)
                turning = turning | np.roll(turning, self.width // 2)
                key = w[attention + "k_proj"][group] != 0
                value = w[attention + "v_proj"][group] != 0
                key, value = key & turning[:, None], value & output.any(axis=1)[:, None]
                heads.append(CircuitHead(query, key, value, output))
            into = (w[mlp + "gate_proj"] != 0) | (w[mlp + "up_proj"] != 0)
            blocks.append(CircuitBlock(tuple(heads), into, w[mlp + "down_proj"].T != 0))
        return Structure(w["embed_tokens"] != 0, tuple(blocks), w[self.last] != 0)

    def _turned(self, x: Array) -> Array:
        angles = np.arange(x.shape[1])[:, None] * self.frequencies
        half = self.width // 2
        a, b = x[..., :half], x[..., half:]
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def _silu(x: Array) -> Array:
    halved: Array = np.tanh(x / 2)
    return x * (0.5 + 0.5 * halved)
