"""What a Hugging Face folder of softhat's own architecture holds: configuration and tensors.

The exporter writes it, and whoever reads a folder compares it (`closed`): so it is a list of all
that `SofthatForTokenClassification` reads. Neither torch nor transformers is needed to know it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.tokenizer import vocabulary
from softhat.export.torch import architecture, state
from softhat.transformer.weights import BOS, EOS, Transformer

SOURCES = ("configuration_softhat.py", "modeling_softhat.py", "module_softhat.py")
AUTO_MAP = {
    "AutoConfig": "configuration_softhat.SofthatConfig",
    "AutoModel": "modeling_softhat.SofthatModel",
    "AutoModelForTokenClassification": "modeling_softhat.SofthatForTokenClassification",
}
MOST_TOKENS = 2**24
"""Positions are exact integers in float32 up to here."""


def huggingface_config(t: Transformer, several: bool, dtype: str) -> dict[str, Any]:
    """The `config.json` of a folder: the closed list of what its classes read.

    `several`: every output has a logit of its own. `dtype` is the format of the weights.
    """
    tokens = vocabulary(t.symbols, t.propositional)
    shape = architecture(t)
    labels = t.outputs if several else ("false", "true")
    return {
        "architectures": ["SofthatForTokenClassification"],
        "auto_map": dict(AUTO_MAP),
        "model_type": "softhat",
        "attention": t.attention,
        "positions": shape["positions"],
        "layers": shape["layers"],
        "hidden_size": t.d_model,
        "vocab_size": len(tokens),
        "num_hidden_layers": len(t.layers),
        "num_attention_heads": max((len(layer.masks) for layer in t.layers), default=0),
        "starts_with_bos": t.has_bos,
        "ends_with_eos": t.has_eos,
        "bos_token_id": tokens.index(BOS),
        "eos_token_id": tokens.index(EOS),
        "pad_token_id": tokens.index(EOS),
        "id2label": {str(at): label for at, label in enumerate(labels)},
        "label2id": {label: at for at, label in enumerate(labels)},
        "problem_type": "multi_label_classification" if several else None,
        "attn_implementation": "sdpa",
        "is_encoder_decoder": False,
        "chunk_size_feed_forward": 0,
        "output_attentions": False,
        "output_hidden_states": False,
        "return_dict": True,
        "tie_word_embeddings": False,
        "dtype": dtype,
        "torch_dtype": dtype,
    }


def huggingface_state(t: Transformer, output: str | None) -> dict[str, NDArray[Any]]:
    """The tensors of a folder, of one output or of all, before they are rounded."""
    arrays: dict[str, NDArray[Any]] = {
        f"softhat.body.{name}": array
        for name, array in state(t)
        if not name.startswith(("readout", "embedding"))
    }
    arrays["softhat.body.embedding.weight"] = _embedding(t)
    rows, bias = t.readout.dense(), t.readout_bias
    if output is not None:
        at = t.outputs.index(output)
        rows, bias = np.stack([-rows[at], rows[at]]), np.array([-bias[at], bias[at]])
    arrays["classifier.weight"], arrays["classifier.bias"] = rows, bias
    return arrays


def _embedding(t: Transformer) -> NDArray[np.float64]:
    """A row a token: symbols or sets of propositions, then `<bos>` and `<eos>` (zero if unused)."""
    table, k = t.embedding.dense(), len(t.symbols)
    rows = table[:k]
    if t.propositional:
        codes = np.arange(1 << k)[:, None] >> np.arange(k) & 1
        rows = codes.astype(np.float64) @ rows
    sinks = np.zeros((2, t.d_model))
    sinks[[at for at, used in enumerate((t.has_bos, t.has_eos)) if used]] = table[k:]
    return np.concatenate([rows, sinks])
