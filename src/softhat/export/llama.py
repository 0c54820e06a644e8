"""A stock Llama that computes a formula: a checkpoint for unmodified Hugging Face transformers.

The way: formula → attention program → layout → tensors → folder. Nothing in the folder needs
softhat: `LlamaForTokenClassification.from_pretrained`, `pipeline("token-classification")` and, for
language models, `LlamaForCausalLM.generate` run it as it is. Mistral and Qwen2 are the same
construction under other names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.compiler import compile as compile_model
from softhat.errors import SofthatError
from softhat.export.llama_disguise import disguised_llama_labels
from softhat.export.llama_labels import label
from softhat.export.stock import (
    EPSILON,
    Kernel,
    check_choice,
    check_context,
    check_disguise,
    check_margin,
    fitted,
)
from softhat.export.stock_folder import stock_files
from softhat.export.stock_heads import (
    HeadName,
    asked_of,
    claimed_weights,
    logit_rows,
    named_logits,
    token_sets,
)
from softhat.export.stock_readme import readme
from softhat.export.tokenizer import vocabulary
from softhat.files import write_folder
from softhat.logic.sources import Weights
from softhat.logic.syntax import nodes
from softhat.lowering.gpt2.heads import Form
from softhat.lowering.llama.disguise import Disguised
from softhat.lowering.llama.disguise import disguise as disguised
from softhat.lowering.llama.layout import Layout, lay_out
from softhat.lowering.llama.rotary import Positions, rotary
from softhat.lowering.llama.weights import Trunk, row_of, trunk
from softhat.model import Model
from softhat.proof.llama.certificate import certify
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.stock.certificate import StockCertificate
from softhat.transformer.directions import Directions
from softhat.transformer.weights import BOS, EOS

Family = Literal["llama", "mistral", "qwen2"]
CLASSES: dict[str, str] = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2"}


@dataclass(frozen=True)
class StockLlama:
    """A stock checkpoint before it is written: what every file format is made from."""

    model: Model
    formulas: dict[str, nodes.Formula]
    tokens: tuple[str, ...]
    trunk: Trunk
    family: Family
    head: HeadName
    kernel: Kernel
    margin: float
    tensors: dict[str, NDArray[np.float32]]
    readout: dict[str, NDArray[np.float32]]
    """The read-out over the coordinates of `trunk`."""
    weights: Weights | None = None
    """The log-weights of a language model, where it has any."""
    disguised: Disguised | None = None
    """Then the tensors are these, and `trunk` says what they were before."""

    @property
    def layout(self) -> Layout:
        return self.trunk.layout

    @property
    def directions(self) -> Directions | None:
        return None if self.disguised is None else self.disguised.directions

    @property
    def shown(self) -> dict[str, nodes.Formula]:
        """The formulas that the model was compiled from."""
        known = self.model.formulas
        return {name: known[name] for name in self.formulas if name in known}

    def certificate(self) -> StockCertificate:
        """What is proved, from the tensors."""
        t, rotary = self.model.transformer, self.layout.rotary
        read = LlamaCheckpoint(
            symbols=t.symbols,
            propositional=t.propositional,
            tokens=token_sets(t.symbols, t.propositional),
            bos=self.tokens.index(BOS),
            family=self.family,
            context=self.layout.context,
            n_head=self.layout.n_head,
            n_kv=self.layout.n_kv,
            head_dim=rotary.head_dim,
            theta=rotary.theta,
            factor=rotary.factor,
            epsilon=EPSILON,
            head=self.head,
            tensors=self.tensors,
            weights=self.weights,
        )
        kept = self.margin if self.head == "lm" else None
        return certify(read, self.formulas, self.kernel, kept, self.directions)


def to_llama(
    model: Model | nodes.Formula | str,
    folder: str | Path,
    context: int = 1024,
    family: Family = "llama",
    head: HeadName = "token-classification",
    positions: Positions = "rope",
    kernel: Kernel = "sdpa",
    output: str | None = None,
    margin: float = 20.0,
    disguise: int | None = None,
    weights: Mapping[str, Any] | None = None,
) -> None:
    """Write a stock Llama checkpoint that computes the model's formulas to `folder`.

    `context` counts `<bos>`: words of up to context - 1 symbols. `family` is `llama`, `mistral` or
    `qwen2`. `positions="rope"` looks back by rotary distances: no extra layer, float32;
    `positions="bits"` finds the binary digits of positions in a block of their own: bfloat16, and
    `mod` and other predicates of the position. `head="token-classification"` labels every symbol
    true or false by one output; `head="lm"` takes a model with an output for each symbol, "may come
    next" (and optionally `<eos>`, "the word may end"), and makes a language model whose allowed and
    forbidden next tokens have logits at least `margin` apart; `head="multi-label"` gives every
    output a logit of its own, positive where it is true. `kernel` is the attention that the
    certificate is for. Formulas must look only to the past.

    `weights`, of a language model, gives each token a log-weight (a number, or numbers that are
    added where outputs hold): then the model's distribution is that of `softhat.source`.

    `disguise`, a seed, writes the same function in a random basis, with distractors;
    `directions.safetensors` and `labels.json` say where everything is. It is proved in float32.
    """
    given = (family, head, positions, kernel, output, margin, disguise, weights)
    made = checkpoint(model, context, *given)
    labels = label(made.trunk, made.readout, made.formulas, family)
    if made.disguised is not None:
        labels = disguised_llama_labels(labels, made.disguised)
    files = stock_files(
        t=made.model.transformer,
        formulas=made.shown,
        tokens=made.tokens,
        context=context,
        head=head,
        config=_config(made),
        tensors=made.tensors,
        directions=made.directions,
        labels=labels,
        certificate=made.certificate(),
        readme=_readme(made),
    )
    write_folder(Path(folder), files)


def checkpoint(
    model: Model | nodes.Formula | str,
    context: int,
    family: Family,
    head: HeadName,
    positions: Positions,
    kernel: Kernel,
    output: str | None,
    margin: float,
    disguise: int | None = None,
    weights: Mapping[str, Any] | None = None,
) -> StockLlama:
    """The tensors of a stock checkpoint, and what they are made from."""
    _check(context, family, head, positions, kernel, margin)
    check_disguise(disguise)
    if isinstance(model, nodes.Formula | str):
        model = compile_model(model)
    if not isinstance(model, Model):
        raise SofthatError(f"expected a model that softhat.compile made, got {model!r}")
    t = model.transformer
    claimed = None if weights is None else claimed_weights(model, head, weights)
    formulas, program = asked_of(model, head, output, claimed)
    program = fitted(program, formulas, CLASSES[family], context, disguise)
    turning = rotary(positions, context, dense=disguise is not None)
    layout = lay_out(program, turning, square=family == "qwen2", steady=claimed is not None)
    plain = trunk(layout, token_sets(t.symbols, t.propositional))
    rows = logit_rows(layout.program, formulas, head, margin, claimed)
    matrix = np.stack([row_of(layout, Form(row)) for row in rows]).astype(np.float32)
    readout = {"lm_head.weight": matrix}
    if head != "lm":
        readout = {"score.weight": matrix, "score.bias": np.zeros(len(matrix), dtype=np.float32)}
    hidden = None if disguise is None else disguised(plain, disguise)
    tensors = _tensors(plain if hidden is None else hidden.trunk, family)
    for at, read in readout.items():
        tensors[at] = read if hidden is None or read.ndim == 1 else hidden.rows(read)
    tokens = vocabulary(t.symbols, t.propositional)
    given = (family, head, kernel, margin, tensors, readout, claimed, hidden)
    return StockLlama(model, formulas, tokens, plain, *given)


def _check(
    context: int, family: str, head: str, positions: str, kernel: str, margin: float
) -> None:
    if family not in CLASSES:
        raise SofthatError(
            f"family {family!r} is no architecture that this construction fits as it is: choose "
            f"one of {', '.join(CLASSES)}"
        )
    check_choice("head", head, HeadName)
    check_choice("positions", positions, Positions)
    check_choice("kernel", kernel, Kernel)
    check_context(context)
    check_margin(margin)


def _tensors(weights: Trunk, family: Family) -> dict[str, NDArray[np.float32]]:
    ones = np.ones(weights.layout.d_model, dtype=np.float32)
    tensors = {"model.embed_tokens.weight": weights.embedding, "model.norm.weight": ones}
    for at, block in enumerate(weights.blocks):
        name = f"model.layers.{at}"
        attention = {"q": block.query, "k": block.key, "v": block.value, "o": block.output}
        for kind, matrix in attention.items():
            tensors[f"{name}.self_attn.{kind}_proj.weight"] = matrix
            if family == "qwen2" and kind != "o":
                zeros = np.zeros(len(matrix), dtype=np.float32)
                tensors[f"{name}.self_attn.{kind}_proj.bias"] = zeros
        for kind, matrix in {"gate": block.gate, "up": block.up, "down": block.down}.items():
            tensors[f"{name}.mlp.{kind}_proj.weight"] = matrix
        for kind in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{name}.{kind}.weight"] = ones
    return tensors


def _config(made: StockLlama) -> dict[str, Any]:
    layout, rotary, tokens = made.layout, made.layout.rotary, made.tokens
    lm = made.head == "lm"
    kind = "ForCausalLM" if lm else "ForTokenClassification"
    labels = {} if lm else named_logits(made.head, made.formulas)
    scaled: dict[str, Any] = {"rope_type": "default"}
    if rotary.factor != 1:
        scaled = {"rope_type": "linear", "factor": rotary.factor}
    own: dict[str, dict[str, Any]] = {
        "llama": {"attention_bias": False, "mlp_bias": False, "head_dim": rotary.head_dim},
        "mistral": {"sliding_window": None, "head_dim": rotary.head_dim},
        "qwen2": {"use_sliding_window": False, "sliding_window": None},
    }
    return {
        "architectures": [CLASSES[made.family] + kind],
        "model_type": made.family,
        "vocab_size": len(tokens),
        "max_position_embeddings": layout.context,
        "hidden_size": layout.d_model,
        "intermediate_size": (made.trunk if made.disguised is None else made.disguised.trunk).d_ff,
        "num_hidden_layers": layout.blocks,
        "num_attention_heads": layout.n_head,
        "num_key_value_heads": layout.n_kv,
        "hidden_act": "silu",
        "rms_norm_eps": EPSILON,
        "rope_theta": rotary.theta,
        "rope_parameters": {**scaled, "rope_theta": rotary.theta},
        **({"rope_scaling": scaled} if rotary.factor != 1 else {}),
        **own[made.family],
        "attn_implementation": made.kernel,
        "attention_dropout": 0.0,
        "tie_word_embeddings": False,
        "use_cache": True,
        "bos_token_id": tokens.index(BOS),
        "eos_token_id": tokens.index(EOS),
        "pad_token_id": tokens.index(EOS),
        **labels,
        "torch_dtype": "float32",
    }


def _readme(made: StockLlama) -> str:
    name = CLASSES[made.family]
    dtypes = (
        "Load it in a number format by `from_pretrained(folder, dtype=…)`: `model.to(…)` would "
        "round the rotary frequencies as well. "
    )
    given = (made.shown, made.tokens, made.layout.context, made.head, made.kernel)
    hidden = made.disguised is not None
    return readme(name, f"{name}ForCausalLM", *given, hidden, made.weights, dtypes)
