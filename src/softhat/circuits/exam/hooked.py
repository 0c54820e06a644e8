"""A stock checkpoint with TransformerLens' hooks, as methods for circuits expect it.

Methods were written for `HookedTransformer`, which TransformerLens 4 no longer has. This is the
part of it that they use: its hook points by name, split inputs of heads (`hook_q_input` …), each
head's result, and keys and values of grouped heads shown once for every query head. The forward
pass is that of the architecture, in float64 or float32, on weights read off the folder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformer_lens import HookedRootModule
from transformer_lens.hook_points import HookPoint

from softhat.circuits.decoder import (
    StockDecoder,
    StockLayer,
    StockNorm,
    StockProduct,
    StockUnits,
)
from softhat.circuits.network import Array
from softhat.circuits.stock_network import StockNetwork


class HookedStock(HookedRootModule):
    """A GPT-2 or Llama export. Its logits are those of the export.

    With `least_heads`, heads that add nothing fill up each layer: some packages take no model with
    one head.
    """

    def __init__(
        self, folder: Path, dtype: torch.dtype = torch.float64, least_heads: int = 1
    ) -> None:
        super().__init__()
        network = self.network = StockNetwork(folder)
        decoder = network.decoder
        self.cfg = SimpleNamespace(
            n_layers=network.layers,
            n_heads=max(network.heads, least_heads),
            d_model=network.d_model,
            d_head=network.width,
            n_ctx=network.longest + 1,
            n_key_value_heads=None if network.is_gpt2 else network.heads // decoder.shared,
            ungroup_grouped_query_attention=True,
            parallel_attn_mlp=False,
            attn_only=False,
            use_attn_result=True,
            use_split_qkv_input=True,
            use_hook_mlp_in=True,
            use_normalization_before_and_after=False,
            device="cpu",
            dtype=dtype,
        )
        self.tokenizer = None
        self.embedding = _parameter(decoder.tokens, dtype)
        self.positions = (
            None if decoder.positions is None else torch.tensor(decoder.positions, dtype=dtype)
        )
        self.hook_embed, self.hook_pos_embed = HookPoint(), HookPoint()
        heads = self.cfg.n_heads
        self.blocks = nn.ModuleList(
            [_HookedBlock(decoder, layer, heads, dtype) for layer in decoder.layers]
        )
        self.ln_final = _Norm(decoder.last, dtype)
        self.unembed = _Unembed(decoder.readout, dtype)
        self.setup()
        self.eval()

    def forward(
        self, tokens_or_stream: Tensor, start_at_layer: int | None = None, **_: Any
    ) -> Tensor:
        """Logits (words, rows, labels) of token numbers, `<bos>` included; or, from a layer on,
        of the residual stream before it. Words of one batch have one length: nothing is padded."""
        x = tokens_or_stream if start_at_layer is not None else self.embedded(tokens_or_stream)
        for block in list(self.blocks)[start_at_layer or 0 :]:
            x = block(x)
        return self.unembed(self.ln_final(x))

    def embedded(self, tokens: Tensor) -> Tensor:
        x = self.hook_embed(self.embedding[tokens])
        if self.positions is None:
            return x
        return x + self.hook_pos_embed(self.positions[: tokens.shape[1]].expand_as(x))

    def input_to_embed(self, tokens: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """The residual stream at the start, and the tokens, as ACDC asks for them."""
        return self.embedded(tokens), tokens, None, None

    def to_tokens(self, words: Sequence[str], **_: Any) -> Tensor:
        """Words of one length, symbols separated by spaces, as token numbers after `<bos>`."""
        symbols = self.network.symbols
        codes = [[symbols.index(symbol) for symbol in word.split()] for word in words]
        return torch.from_numpy(self.network.tokens_with_bos(np.array(codes)))


def _parameter(array: Array, dtype: torch.dtype) -> nn.Parameter:
    return nn.Parameter(torch.from_numpy(np.ascontiguousarray(array)).to(dtype))


def _bias(product: StockProduct) -> Array:
    """Zeros where there is none."""
    return np.zeros(product.matrix.shape[1]) if product.bias is None else product.bias


class _Norm(nn.Module):
    """LayerNorm; RMSNorm where there is no shift."""

    def __init__(self, norm: StockNorm, dtype: torch.dtype) -> None:
        super().__init__()
        self.weight = torch.tensor(norm.gain, dtype=dtype)
        self.bias = None if norm.shift is None else torch.tensor(norm.shift, dtype=dtype)
        self.epsilon = norm.epsilon

    def forward(self, x: Tensor) -> Tensor:
        if self.bias is not None:
            x = x - x.mean(-1, keepdim=True)
        size = (x.pow(2).mean(-1, keepdim=True) + self.epsilon).sqrt()
        normed = x / size * self.weight
        return normed if self.bias is None else normed + self.bias


class _Unembed(nn.Module):
    def __init__(self, readout: StockProduct, dtype: torch.dtype) -> None:
        super().__init__()
        self.W_U = _parameter(readout.matrix, dtype)
        self.b_U = _parameter(_bias(readout), dtype)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.W_U + self.b_U


class _Attention(nn.Module):
    """Weights by head, as TransformerLens holds them, heads of zeros at the end up to `heads`;
    keys and values of grouped heads repeated."""

    def __init__(
        self, decoder: StockDecoder, layer: StockLayer, heads: int, dtype: torch.dtype
    ) -> None:
        super().__init__()

        def stacked(parts: list[Array]) -> nn.Parameter:
            missing = [np.zeros_like(parts[0])] * (heads - len(parts))
            return _parameter(np.stack([*parts, *missing]), dtype)

        for slot in "qkv":
            products = [head.inputs[slot] for head in layer.heads]
            setattr(self, f"W_{slot.upper()}", stacked([each.matrix for each in products]))
            setattr(self, f"b_{slot.upper()}", stacked([_bias(each) for each in products]))
        self.W_O = stacked([head.output for head in layer.heads])
        nothing = np.zeros(decoder.tokens.shape[1])
        self.b_O = _parameter(nothing if layer.bias is None else layer.bias, dtype)
        turning = decoder.frequencies
        self.frequencies = None if turning is None else torch.tensor(turning, dtype=dtype)
        self.hook_q, self.hook_k, self.hook_v = HookPoint(), HookPoint(), HookPoint()
        self.hook_attn_scores, self.hook_pattern = HookPoint(), HookPoint()
        self.hook_z, self.hook_result = HookPoint(), HookPoint()

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """What each head adds, (words, rows, heads, d_model), of what each reads."""
        v = self.hook_v(torch.einsum("bphd,hde->bphe", value, self.W_V) + self.b_V)
        weights = self.hook_pattern(self.pattern(query, key, self.hook_q, self.hook_k))
        z = self.hook_z(torch.einsum("bhpq,bqhe->bphe", weights, v))
        return self.hook_result(torch.einsum("bphe,hed->bphd", z, self.W_O))

    def pattern(self, query: Tensor, key: Tensor, *hooks: HookPoint) -> Tensor:
        """The attention weights (words, heads, rows, rows) of what queries and keys read; with
        the hooks of both, also their scores pass a hook."""
        q = torch.einsum("bphd,hde->bphe", query, self.W_Q) + self.b_Q
        k = torch.einsum("bphd,hde->bphe", key, self.W_K) + self.b_K
        q, k = (hook(each) for hook, each in zip(hooks, (q, k), strict=True)) if hooks else (q, k)
        scores = torch.einsum("bphe,bqhe->bhpq", self._turned(q), self._turned(k))
        rows = scores.shape[-1]
        hidden = torch.ones(rows, rows, dtype=torch.bool).triu(1)
        scores = (scores / math.sqrt(q.shape[-1])).masked_fill(hidden, -math.inf)
        return torch.softmax(self.hook_attn_scores(scores) if hooks else scores, dim=-1)

    def _turned(self, x: Tensor) -> Tensor:
        if self.frequencies is None:
            return x
        angles = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * self.frequencies
        cos, sin = angles.cos()[:, None], angles.sin()[:, None]
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class _MLP(nn.Module):
    """Hidden units by an activation, or by a gate that multiplies them."""

    def __init__(self, units: StockUnits, dtype: torch.dtype) -> None:
        super().__init__()
        for name, product in (("in", units.into), ("out", units.out)):
            setattr(self, f"W_{name}", _parameter(product.matrix, dtype))
            setattr(self, f"b_{name}", _parameter(_bias(product), dtype))
        self.W_gate = None if units.gate is None else _parameter(units.gate, dtype)
        self.activation = units.activation
        self.hook_pre, self.hook_post = HookPoint(), HookPoint()

    def forward(self, x: Tensor) -> Tensor:
        pre = self.hook_pre(x @ self.W_in + self.b_in)
        if self.W_gate is not None:
            post = nn.functional.silu(x @ self.W_gate) * pre
        elif self.activation == "relu":
            post = torch.relu(pre)
        else:
            post = nn.functional.gelu(pre, approximate="tanh")
        return self.hook_post(post) @ self.W_out + self.b_out


class _HookedBlock(nn.Module):
    def __init__(
        self, decoder: StockDecoder, layer: StockLayer, heads: int, dtype: torch.dtype
    ) -> None:
        super().__init__()
        self.ln1, self.ln2 = (_Norm(norm, dtype) for norm in layer.norms)
        self.attn = _Attention(decoder, layer, heads, dtype)
        self.mlp = _MLP(layer.units, dtype)
        self.hook_resid_pre, self.hook_resid_mid = HookPoint(), HookPoint()
        self.hook_resid_post = HookPoint()
        self.hook_q_input, self.hook_k_input = HookPoint(), HookPoint()
        self.hook_v_input, self.hook_attn_out = HookPoint(), HookPoint()
        self.hook_mlp_in, self.hook_mlp_out = HookPoint(), HookPoint()

    def forward(self, x: Tensor) -> Tensor:
        x = self.hook_resid_pre(x)
        heads = len(self.attn.W_Q)
        read = [
            self.ln1(hook(x.unsqueeze(2).repeat(1, 1, heads, 1)))
            for hook in (self.hook_q_input, self.hook_k_input, self.hook_v_input)
        ]
        x = x + self.hook_attn_out(self.attn(*read).sum(2) + self.attn.b_O)
        x = self.hook_resid_mid(x)
        added = self.mlp(self.ln2(self.hook_mlp_in(x.clone())))
        return self.hook_resid_post(x + self.hook_mlp_out(added))
