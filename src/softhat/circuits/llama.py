"""A Llama export as a network to patch, read off its folder.

The forward pass here is Llama's own (RMSNorm, rotary attention, SwiGLU, shared keys and values) in
float64, so that edges are patched in the model that people load. Every query head has its own
edges into its keys and values, though several share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from softhat.circuits.network import Array, Change, started
from softhat.circuits.stock_network import StockNetwork, mixed
from softhat.circuits.structure import CircuitBlock, CircuitHead, Structure


class LlamaNetwork(StockNetwork):
    """A Llama, Mistral or Qwen2 for token classification or language modelling."""

    classifier = "score"
    language_model = "lm_head"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.longest = int(self.config["max_position_embeddings"]) - 1  # `<bos>` has a position too
        self.d_model = int(self.config["hidden_size"])
        self.heads = int(self.config["num_attention_heads"])
        self.layers = int(self.config["num_hidden_layers"])
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

    def run(
        self, tokens: Array, patch: Change | None = None, seen: dict[str, Array] | None = None
    ) -> tuple[dict[str, Array], Array]:
        seen = {} if seen is None else seen
        w = self.w
        known = started(patch)
        if known is not None:
            first, x, added = known
        else:
            first, x = 0, w["embed_tokens"][self.tokens_with_bos(tokens)]
            added = {"input": x}
            seen["blocks.0.hook_resid_pre"] = x

        def read(name: str, slot: str) -> Array:
            moved = 0.0 if patch is None else patch.moved((name, slot), added)
            return x if isinstance(moved, float) else x + moved  # 0.0: nothing is patched

        for number in range(first, self.layers):
            block = f"layers.{number}."
            whole = self._norm(x, f"{block}input_layernorm")
            for h in range(self.heads):
                name = f"a{number}.h{h}"
                given = [read(name, slot) for slot in "qkv"]
                reads = [
                    whole if one is x else self._norm(one, f"{block}input_layernorm")
                    for one in given
                ]
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
        return added, self.margins(self._norm(read("logits", ""), "norm") @ w[self.last].T)

    def _own(self, h: int) -> slice:
        return slice(h * self.width, (h + 1) * self.width)

    def places(self, w: Mapping[str, Array]) -> Structure:
        blocks = []
        for number in range(self.layers):
            attention, mlp = f"layers.{number}.self_attn.", f"layers.{number}.mlp."
            heads = []
            for h in range(self.heads):
                own, group = self._own(h), self._own(h // self.shared)
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
        return mixed(q, k, v)

    def _turned(self, x: Array) -> Array:
        angles = np.arange(x.shape[1])[:, None] * self.frequencies
        half = self.width // 2
        a, b = x[..., :half], x[..., half:]
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def _silu(x: Array) -> Array:
    halved: Array = np.tanh(x / 2)
    return x * (0.5 + 0.5 * halved)
