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

from softhat.circuits.gpt2 import GPT2Network
from softhat.circuits.llama import LlamaNetwork
from softhat.circuits.stock import stock_network


class HookedStock(HookedRootModule):
    """A GPT-2 or Llama export. Its logits are those of the export.

    With `least_heads`, heads that add nothing fill up each layer: some packages take no model with
    one head.
    """

    def __init__(
        self, folder: Path, dtype: torch.dtype = torch.float64, least_heads: int = 1
    ) -> None:
        super().__init__()
        network = stock_network(folder)
        self.network = network
        gpt2 = isinstance(network, GPT2Network)
        w = {name: torch.from_numpy(value).to(dtype) for name, value in network.w.items()}
        self.cfg = SimpleNamespace(
            n_layers=network.layers,
            n_heads=max(network.heads, least_heads),
            d_model=network.d_model,
            d_head=network.width,
            n_ctx=(network.longest or 0) + 1,
            n_key_value_heads=None if gpt2 else network.heads // _shared(network),
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
        self.embedding = nn.Parameter(w["wte.weight" if gpt2 else "embed_tokens"])
        self.positions = w["wpe.weight"] if gpt2 else None
        self.hook_embed, self.hook_pos_embed = HookPoint(), HookPoint()
        self.blocks = nn.ModuleList([_block(network, w, at) for at in range(network.layers)])
        for block in self.blocks:
            block.attn.fill_up(self.cfg.n_heads)
        last = w[network.last]
        bias = w.get("classifier.bias", torch.zeros(len(last), dtype=dtype))
        scale = w["ln_f.weight" if gpt2 else "norm"]
        self.ln_final = _Norm(scale, w.get("ln_f.bias"), _epsilon(network))
        self.unembed = _Unembed(last, bias)
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


class _Norm(nn.Module):
    """LayerNorm with a bias, RMSNorm without one."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, epsilon: float = 0.0) -> None:
        super().__init__()
        self.weight, self.bias, self.epsilon = weight, bias, epsilon

    def forward(self, x: Tensor) -> Tensor:
        if self.bias is not None:
            x = x - x.mean(-1, keepdim=True)
        size = (x.pow(2).mean(-1, keepdim=True) + self.epsilon).sqrt()
        normed = x / size * self.weight
        return normed if self.bias is None else normed + self.bias


class _Unembed(nn.Module):
    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.W_U, self.b_U = nn.Parameter(weight.T.contiguous()), nn.Parameter(bias)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.W_U + self.b_U


class _Attention(nn.Module):
    """Weights by head, as TransformerLens holds them; keys and values of grouped heads repeated."""

    def __init__(
        self,
        weights: Sequence[Tensor],
        biases: Sequence[Tensor],
        out: tuple[Tensor, Tensor],
        frequencies: Tensor | None,
    ) -> None:
        super().__init__()
        self.W_Q, self.W_K, self.W_V = (nn.Parameter(each.contiguous()) for each in weights)
        self.b_Q, self.b_K, self.b_V = (nn.Parameter(each.contiguous()) for each in biases)
        self.W_O, self.b_O = (nn.Parameter(each.contiguous()) for each in out)
        self.frequencies = frequencies
        self.hook_q, self.hook_k, self.hook_v = HookPoint(), HookPoint(), HookPoint()
        self.hook_attn_scores, self.hook_pattern = HookPoint(), HookPoint()
        self.hook_z, self.hook_result = HookPoint(), HookPoint()

    def fill_up(self, heads: int) -> None:
        """Heads of zeros, up to this number."""
        missing = heads - len(self.W_Q)
        for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V"):
            own = getattr(self, name)
            zeros = torch.zeros(missing, *own.shape[1:], dtype=own.dtype)
            setattr(self, name, nn.Parameter(torch.cat([own.data, zeros])))

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

    def __init__(
        self,
        into: tuple[Tensor, Tensor],
        out: tuple[Tensor, Tensor],
        activation: str,
        gate: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.W_in, self.b_in = (nn.Parameter(each.contiguous()) for each in into)
        self.W_out, self.b_out = (nn.Parameter(each.contiguous()) for each in out)
        self.W_gate = None if gate is None else nn.Parameter(gate.contiguous())
        self.activation = activation
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
    def __init__(self, ln1: _Norm, attn: _Attention, ln2: _Norm, mlp: _MLP) -> None:
        super().__init__()
        self.ln1, self.attn, self.ln2, self.mlp = ln1, attn, ln2, mlp
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


def _shared(network: GPT2Network | LlamaNetwork) -> int:
    return network.shared if isinstance(network, LlamaNetwork) else 1


def _epsilon(network: GPT2Network | LlamaNetwork) -> float:
    gpt2 = isinstance(network, GPT2Network)
    return float(network.config["layer_norm_epsilon" if gpt2 else "rms_norm_eps"])


def _block(network: GPT2Network | LlamaNetwork, w: dict[str, Tensor], number: int) -> _HookedBlock:
    if isinstance(network, GPT2Network):
        return _gpt2_block(network, w, number)
    return _llama_block(network, w, number)


def _gpt2_block(network: GPT2Network, w: dict[str, Tensor], number: int) -> _HookedBlock:
    at = f"h.{number}."
    heads, d = network.heads, network.d_model
    matrix, bias = w[at + "attn.c_attn.weight"], w[at + "attn.c_attn.bias"]
    weights = [
        part.reshape(d, heads, network.width).permute(1, 0, 2) for part in matrix.chunk(3, dim=1)
    ]
    biases = [part.reshape(heads, network.width) for part in bias.chunk(3)]
    out = w[at + "attn.c_proj.weight"].reshape(heads, network.width, d)
    attention = _Attention(weights, biases, (out, w[at + "attn.c_proj.bias"]), None)
    mlp = _MLP(
        (w[at + "mlp.c_fc.weight"], w[at + "mlp.c_fc.bias"]),
        (w[at + "mlp.c_proj.weight"], w[at + "mlp.c_proj.bias"]),
        network.config["activation_function"],
    )
    norms = (
        _Norm(w[at + name + ".weight"], w[at + name + ".bias"], _epsilon(network))
        for name in ("ln_1", "ln_2")
    )
    first, second = norms
    return _HookedBlock(first, attention, second, mlp)


def _llama_block(network: LlamaNetwork, w: dict[str, Tensor], number: int) -> _HookedBlock:
    at = f"layers.{number}."
    heads, d, width = network.heads, network.d_model, network.width
    weights = []
    for name in ("q_proj", "k_proj", "v_proj"):
        own = w[at + "self_attn." + name].reshape(-1, width, d).permute(0, 2, 1)
        weights.append(own.repeat_interleave(heads // len(own), dim=0))
    zeros = torch.zeros(heads, width, dtype=weights[0].dtype)
    out = w[at + "self_attn.o_proj"].T.reshape(heads, width, d)
    nothing = torch.zeros(d, dtype=out.dtype)
    frequencies = torch.from_numpy(network.frequencies).to(out.dtype)
    attention = _Attention(weights, [zeros] * 3, (out, nothing), frequencies)
    up = w[at + "mlp.up_proj"].T
    mlp = _MLP(
        (up, torch.zeros(up.shape[1], dtype=up.dtype)),
        (w[at + "mlp.down_proj"].T, nothing),
        "silu",
        w[at + "mlp.gate_proj"].T,
    )
    first, second = (
        _Norm(w[at + name], epsilon=_epsilon(network))
        for name in ("input_layernorm", "post_attention_layernorm")
    )
    return _HookedBlock(first, attention, second, mlp)
