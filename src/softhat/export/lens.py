"""Compiled decoders in TransformerLens' own architecture (`TransformerBridge.boot_native`).

TransformerLens has one mask for all heads (causal), learned positions up to a context, and no
sink at the end. So formulas that run as decoders fit: the position features become the learned
positions, the temperature is that of the longest word, folded into the queries together with the
√d_head by which TransformerLens divides. Layers, heads, neurons and coordinates keep the numbers of
`with_one_mask(model)`, so `native_labels` names them. Two-way and future formulas do not fit;
`softhat.to_torch` gives them as a module with named submodules, for PyTorch hooks and nnsight.

TransformerLens normalises attention weights before it sums, and computes the two units of a clip
separately: there is no certificate for it.
"""

from __future__ import annotations

from math import isnan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.compiler import with_one_mask
from softhat.errors import MissingExtraError, SofthatError
from softhat.export.torch import import_torch, torch_dtype, transformer_of
from softhat.laws import Constant
from softhat.model import Model
from softhat.positions import floats, needs_end
from softhat.runtime.answers import Answers
from softhat.transformer.weights import (
    Layer,
    Transformer,
    inverse_temperature,
    scale,
    sharpness_of,
)

Array = NDArray[np.float64]


def to_transformer_lens(model: Answers, context: int = 1024, dtype: Any = "float32") -> Any:
    """A `TransformerBridge` whose logits (batch, 1 + n, outputs) are the margins: > 0 iff true.

    Its tokens are the symbols' indices after one `<bos>`, which has the index after the last
    symbol: `bridge(torch.tensor([[len(alphabet), *symbols]]))`. `context` counts `<bos>`.
    """
    torch = import_torch()
    try:
        from transformer_lens.config import TransformerBridgeConfig
        from transformer_lens.model_bridge import TransformerBridge
    except ImportError:
        raise MissingExtraError("transformer-lens", "lens") from None
    t = transformer_of(model)
    if isinstance(model, Model) and not t.has_eos:
        t = with_one_mask(model).transformer
    _check(t, context)
    heads = max((len(layer.masks) for layer in t.layers), default=0) or 1
    d_mlp = max((len(layer.into_bias) for layer in t.layers), default=0) or 1
    d_head = _d_head(t)
    config = TransformerBridgeConfig(
        d_model=t.d_model + 1,  # the last coordinate is 1: the read-out has no bias of its own
        d_head=d_head,
        n_heads=heads,
        n_layers=len(t.layers),
        n_ctx=context,
        d_mlp=d_mlp,
        d_vocab=len(t.tokens),
        d_vocab_out=len(t.outputs),
        act_fn="relu",
        normalization_type=None,
        attention_dir="causal",
        positional_embedding_type="standard",
        init_weights=False,
    )
    chosen = torch_dtype(dtype)
    bridge = TransformerBridge.boot_native(config, dtype=chosen)
    with torch.no_grad():
        parameters = dict(bridge.original_model.named_parameters())
        for name, array in _weights(t, context, heads, d_head, d_mlp).items():
            _parameter(parameters, name).copy_(torch.from_numpy(array))
    return bridge.eval()


def _check(t: Transformer, context: int) -> None:
    if context < 2:
        raise SofthatError(f"a context holds <bos> and at least one symbol, not {context}")
    if t.propositional:
        raise SofthatError("TransformerLens reads tokens, not sets of propositions: use to_torch")
    if t.attention == "hard":
        raise SofthatError("TransformerLens computes softmax: compile for 'unbounded' attention")
    masks = {mask for layer in t.layers for mask in layer.masks}
    if t.has_eos or any(map(needs_end, t.positions)) or not masks <= {"<="}:
        raise SofthatError(
            "TransformerLens has causal heads only, so the formula must run as a decoder (no "
            "future operators, n, last or #*): softhat.to_torch gives a module with hooks"
        )
    laws = {law for layer in t.layers for law in layer.laws}
    if any(isnan(sharpness_of(law)) and not isinstance(law, Constant) for law in laws):
        raise SofthatError(
            "TransformerLens has one temperature for all lengths: softhat.to_torch gives a module"
        )


def _d_head(t: Transformer) -> int:
    """A power of four, so that dividing by √d_head is exact."""
    widths = [max(layer.query.shape[1], layer.value.shape[1]) for layer in t.layers]
    size = 4
    while size < max(widths, default=0):
        size *= 4
    return size


def _parameter(parameters: dict[str, Any], name: str) -> Any:
    """By the name in TransformerLens' module; its wrappers put a part of their own in between."""
    wanted = [p for key, p in parameters.items() if key.replace("._original_component", "") == name]
    if len(wanted) != 1:
        raise SofthatError(f"this TransformerLens has no parameter {name}: softhat knows version 4")
    return wanted[0]


def _weights(t: Transformer, context: int, heads: int, d_head: int, d_mlp: int) -> dict[str, Array]:
    d_model = t.d_model + 1
    n = context - int(t.has_bos)
    position_scale = scale(t.attention, n)
    table = floats(t.positions, n, bos=t.has_bos, scale=position_scale)
    positions = np.ones((context, d_model))
    positions[:, :-1] = table @ t.position_embedding.dense().T
    arrays = {
        "tok_embed.weight": _padded(t.embedding.dense(), (len(t.tokens), d_model)),
        "pos.weight": positions,
        "head.weight": np.concatenate([t.readout.dense(), t.readout_bias[:, None]], axis=1),
    }
    for number, layer in enumerate(t.layers):
        at = f"layers.{number}."
        beta = np.ones(len(layer.masks))
        if t.attention == "temperature":
            beta = np.array([inverse_temperature(law, n) for law in layer.laws])
        query = layer.query.dense() * (beta * sqrt(d_head))[:, None, None]
        for name, matrix in (
            ("q", query),
            ("k", layer.key.dense()),
            ("v", layer.value.dense()),
        ):
            stacked = _padded(matrix, (heads, d_head, d_model)).reshape(heads * d_head, d_model)
            arrays[f"{at}attn.{name}.weight"] = stacked
            arrays[f"{at}attn.{name}.bias"] = np.zeros(heads * d_head)
        output = _padded(layer.output.dense(), (heads, d_model, d_head))
        arrays[f"{at}attn.o.weight"] = output.transpose(1, 0, 2).reshape(d_model, heads * d_head)
        arrays[f"{at}attn.o.bias"] = np.zeros(d_model)
        arrays |= {at + name: array for name, array in _mlp(layer, d_model, d_mlp).items()}
    return arrays


def _mlp(layer: Layer, d_model: int, d_mlp: int) -> dict[str, Array]:
    return {
        "mlp.fc_in.weight": _padded(layer.into.dense(), (d_mlp, d_model)),
        "mlp.fc_in.bias": _padded(layer.into_bias, (d_mlp,)),
        "mlp.fc_out.weight": _padded(layer.out.dense(), (d_model, d_mlp)),
        "mlp.fc_out.bias": _padded(layer.out_bias, (d_model,)),
    }


def _padded(array: Array, shape: tuple[int, ...]) -> Array:
    """Zeros added at the end of every axis."""
    return np.pad(array, [(0, want - have) for want, have in zip(shape, array.shape, strict=True)])
