"""`config.json` of stock checkpoints: for every class the closed list of what it reads.

These functions write the file, and say what must stand in one that is read (`closed`). Every
attribute that transformers reads to compute logits is there, also where the class has a default:
versions differ in it. Aliases are not: whoever adds one adds a key that is not in the list.
(`tests/export/test_stock_config.py` goes through the attributes of the installed classes.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from softhat.export.stock.heads import HeadName, named_logits, token_sets
from softhat.export.tokenizer import vocabulary
from softhat.logic.sources import Weights
from softhat.transformer.decoders import GPT2Block, LlamaBlock, Shape
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
    """What only a GPT-2 chooses."""

    activation: str


@dataclass(frozen=True, kw_only=True)
class LlamaShape(StockShape):
    """What only a Llama, a Mistral or a Qwen2 chooses."""

    n_kv: int
    """Heads of keys and values, which query heads share."""
    head_dim: int
    theta: float
    factor: float
    """Of linear scaling of the rotary frequencies; 1 for none."""


def claims(
    symbols: tuple[str, ...],
    propositional: bool,
    head: HeadName,
    weights: Weights | None,
    greedy: bool,
) -> dict[str, Any]:
    """What a checkpoint of any architecture is claimed to be, but for its sizes and tensors."""
    return {
        "symbols": symbols,
        "propositional": propositional,
        "tokens": token_sets(symbols, propositional),
        "bos": vocabulary(symbols, propositional).index(BOS),
        "head": head,
        "weights": weights,
        "greedy": greedy,
    }


def choices(
    family: str, tokens: Sequence[str], kernel: str, head: HeadName, outputs: Iterable[str]
) -> dict[str, Any]:
    """What a configuration of any architecture chooses, but for sizes."""
    chosen = {"family": family, "tokens": tokens, "kernel": kernel, "head": head}
    return {**chosen, "outputs": tuple(outputs)}


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


def gpt2_shapes(s: GPT2Shape) -> dict[str, Shape]:
    """Every tensor of the class, with its shape."""
    d = s.d_model
    shapes: dict[str, Shape] = {"wte.weight": (len(s.tokens), d), "wpe.weight": (s.context, d)}
    shapes |= {"ln_f.weight": (d,), "ln_f.bias": (d,)}
    trunk = {f"transformer.{name}": shape for name, shape in shapes.items()}
    blocks = _blocks(s, GPT2Block.PREFIX, GPT2Block.shapes(d, s.d_ff))
    return {**trunk, **blocks, **_read_out(s, "classifier")}


def llama_shapes(s: LlamaShape) -> dict[str, Shape]:
    """Every tensor of the class, with its shape."""
    d, queries, keys = s.d_model, s.n_head * s.head_dim, s.n_kv * s.head_dim
    trunk = {"model.embed_tokens.weight": (len(s.tokens), d), "model.norm.weight": (d,)}
    shapes = LlamaBlock.shapes(d, queries, keys, s.d_ff)
    if s.family == "qwen2":
        for kind, size in (("q", queries), ("k", keys), ("v", keys)):
            shapes[f"self_attn.{kind}_proj.bias"] = (size,)
    return {**trunk, **_blocks(s, LlamaBlock.PREFIX, shapes), **_read_out(s, "score")}


def _blocks(s: StockShape, prefix: str, shapes: dict[str, Shape]) -> dict[str, Shape]:
    return {f"{prefix}.{at}.{n}": shape for at in range(s.blocks) for n, shape in shapes.items()}


def _read_out(s: StockShape, classifier: str) -> dict[str, Shape]:
    if s.head == "lm":
        return {"lm_head.weight": (len(s.tokens), s.d_model)}
    logits = len(s.outputs) if s.head == "multi-label" else 2
    return {f"{classifier}.weight": (logits, s.d_model), f"{classifier}.bias": (logits,)}
