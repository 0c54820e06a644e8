"""`config.json` of stock checkpoints: for every class the closed list of what it reads.

These functions write the file, and say what must stand in one that is read (`closed`). Every
attribute that transformers reads to compute logits is there, also where the class has a default:
versions differ in it. Aliases are not: whoever adds one adds a key that is not in the list.
(`tests/export/test_stock_config.py` goes through the attributes of the installed classes.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from softhat.export.stock.heads import HeadName, named_logits
from softhat.transformer.weights import BOS, EOS

CLASSES: dict[str, str] = {
    "gpt2": "GPT2",
    "llama": "Llama",
    "mistral": "Mistral",
    "qwen2": "Qwen2",
}
"""How the classes of a family are called in transformers."""


@dataclass(frozen=True, kw_only=True)
class StockShape:
    """What the configuration of a stock checkpoint chooses; the proof takes all of it."""

    family: str
    tokens: Sequence[str]
    context: int
    d_model: int
    d_ff: int
    blocks: int
    n_head: int
    epsilon: float
    kernel: str
    head: HeadName
    outputs: Sequence[str]
    """Of a classifier: what its logits are for."""


@dataclass(frozen=True, kw_only=True)
class GPT2Shape(StockShape):
    activation: str


@dataclass(frozen=True, kw_only=True)
class LlamaShape(StockShape):
    n_kv: int
    head_dim: int
    theta: float
    factor: float
    """Of linear scaling of the rotary frequencies; 1 for none."""


def class_of(family: str, head: HeadName) -> str:
    """The class of transformers that runs a head."""
    lm = "LMHeadModel" if family == "gpt2" else "ForCausalLM"
    return CLASSES[family] + (lm if head == "lm" else "ForTokenClassification")


def gpt2_config(s: GPT2Shape) -> dict[str, Any]:
    """Everything that GPT2LMHeadModel or GPT2ForTokenClassification reads."""
    return {
        **_common(s),
        "n_positions": s.context,
        "n_embd": s.d_model,
        "n_layer": s.blocks,
        "n_head": s.n_head,
        "n_inner": s.d_ff,
        "activation_function": s.activation,
        "layer_norm_epsilon": s.epsilon,
        "attn_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "reorder_and_upcast_attn": False,
        "add_cross_attention": False,
    }


def llama_config(s: LlamaShape) -> dict[str, Any]:
    """Everything that the causal or the token-classification class of a family reads."""
    scaled: dict[str, Any] = {"rope_type": "default"}
    if s.factor != 1:
        scaled = {"rope_type": "linear", "factor": s.factor}
    own: dict[str, dict[str, Any]] = {
        "llama": {"attention_bias": False, "mlp_bias": False, "pretraining_tp": 1},
        "mistral": {},
        "qwen2": {
            "use_sliding_window": False,
            "max_window_layers": s.blocks,
            "layer_types": ["full_attention"] * s.blocks,
        },
    }
    bias = {} if s.head == "lm" else {"token_classification_bias": True}
    return {
        **_common(s),
        "max_position_embeddings": s.context,
        "hidden_size": s.d_model,
        "intermediate_size": s.d_ff,
        "num_hidden_layers": s.blocks,
        "num_attention_heads": s.n_head,
        "num_key_value_heads": s.n_kv,
        "head_dim": s.head_dim,
        "hidden_act": "silu",
        "rms_norm_eps": s.epsilon,
        # Versions of transformers differ in which of these three they read.
        "rope_theta": s.theta,
        "rope_parameters": {**scaled, "rope_theta": s.theta},
        "rope_scaling": scaled if s.factor != 1 else None,
        "sliding_window": None,
        "attention_dropout": 0.0,
        **own[s.family],
        **bias,
    }


def _common(s: StockShape) -> dict[str, Any]:
    labels = {} if s.head == "lm" else {"problem_type": None, **named_logits(s.head, s.outputs)}
    return {
        "architectures": [class_of(s.family, s.head)],
        "model_type": s.family,
        "vocab_size": len(s.tokens),
        "attn_implementation": s.kernel,
        "is_causal": True,
        "is_encoder_decoder": False,
        "chunk_size_feed_forward": 0,
        "output_attentions": False,
        "output_hidden_states": False,
        "return_dict": True,
        "use_cache": True,
        "tie_word_embeddings": False,
        "initializer_range": 0.02,
        "bos_token_id": s.tokens.index(BOS),
        "eos_token_id": s.tokens.index(EOS),
        "pad_token_id": s.tokens.index(EOS),
        **labels,
        "dtype": "float32",
        "torch_dtype": "float32",
    }


def gpt2_shapes(s: GPT2Shape) -> dict[str, tuple[int, ...]]:
    """Every tensor of the class, with its shape."""
    d, wide = s.d_model, 3 * s.d_model
    shapes: dict[str, tuple[int, ...]] = {"wte.weight": (len(s.tokens), d)}
    shapes |= {"wpe.weight": (s.context, d), "ln_f.weight": (d,), "ln_f.bias": (d,)}
    for at in range(s.blocks):
        parts: dict[str, tuple[int, int]] = {
            "attn.c_attn": (d, wide),
            "attn.c_proj": (d, d),
            "mlp.c_fc": (d, s.d_ff),
            "mlp.c_proj": (s.d_ff, d),
        }
        for name, shape in parts.items():
            shapes |= {f"h.{at}.{name}.weight": shape, f"h.{at}.{name}.bias": shape[1:]}
        for norm in ("ln_1", "ln_2"):
            shapes |= {f"h.{at}.{norm}.weight": (d,), f"h.{at}.{norm}.bias": (d,)}
    return {
        **{f"transformer.{n}": shape for n, shape in shapes.items()},
        **_read_out(s, "classifier"),
    }


def llama_shapes(s: LlamaShape) -> dict[str, tuple[int, ...]]:
    """Every tensor of the class, with its shape."""
    d, queries, keys = s.d_model, s.n_head * s.head_dim, s.n_kv * s.head_dim
    shapes: dict[str, tuple[int, ...]] = {"embed_tokens.weight": (len(s.tokens), d)}
    shapes["norm.weight"] = (d,)
    for at in range(s.blocks):
        parts: dict[str, tuple[int, ...]] = {
            "self_attn.q_proj.weight": (queries, d),
            "self_attn.k_proj.weight": (keys, d),
            "self_attn.v_proj.weight": (keys, d),
            "self_attn.o_proj.weight": (d, queries),
            "mlp.gate_proj.weight": (s.d_ff, d),
            "mlp.up_proj.weight": (s.d_ff, d),
            "mlp.down_proj.weight": (d, s.d_ff),
            "input_layernorm.weight": (d,),
            "post_attention_layernorm.weight": (d,),
        }
        if s.family == "qwen2":
            for kind, size in (("q", queries), ("k", keys), ("v", keys)):
                parts[f"self_attn.{kind}_proj.bias"] = (size,)
        shapes |= {f"layers.{at}.{name}": shape for name, shape in parts.items()}
    trunk = {f"model.{name}": shape for name, shape in shapes.items()}
    return {**trunk, **_read_out(s, "score")}


def _read_out(s: StockShape, classifier: str) -> dict[str, tuple[int, ...]]:
    if s.head == "lm":
        return {"lm_head.weight": (len(s.tokens), s.d_model)}
    logits = len(s.outputs) if s.head == "multi-label" else 2
    return {f"{classifier}.weight": (logits, s.d_model), f"{classifier}.bias": (logits,)}
