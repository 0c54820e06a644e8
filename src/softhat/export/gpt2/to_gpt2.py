"""A stock GPT-2 that computes a formula: a checkpoint for unmodified Hugging Face transformers.

The way: formula → attention program → layout → tensors → folder. Nothing in the folder needs
softhat: `GPT2ForTokenClassification.from_pretrained`, `pipeline("token-classification")` and, for
language models, `GPT2LMHeadModel.generate` run it as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.export.gpt2.disguise import disguised_labels
from softhat.export.gpt2.labels import label
from softhat.export.stock.config import GPT2Shape, gpt2_config
from softhat.export.stock.folder import stock_files
from softhat.export.stock.heads import HeadName, asked_of, claimed_weights, logit_rows, token_sets
from softhat.export.stock.languages import StockLanguage
from softhat.export.stock.options import (
    EPSILON,
    Exported,
    Kernel,
    check_choice,
    check_context,
    check_disguise,
    check_margin,
    check_plain,
    fits_head,
    fitted,
    machine_margin,
)
from softhat.export.stock.readme import language_readme, machine_readme, readme
from softhat.export.tokenizer import vocabulary
from softhat.io.files import write_folder
from softhat.models.model import Model
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.stock.automata import Claimed, formulas_alone
from softhat.proof.stock.certify import certify
from softhat.transformer.lowering.gpt2.disguise import disguise as disguised
from softhat.transformer.lowering.gpt2.layout import lay_out
from softhat.transformer.lowering.gpt2.weights import Trunk, read_row, trunk
from softhat.transformer.weights import BOS

Activation = Literal["relu", "gelu_new"]


def to_gpt2(
    model: Exported,
    folder: str | Path,
    context: int = 1024,
    activation: Activation = "relu",
    kernel: Kernel = "sdpa",
    head: HeadName = "token-classification",
    output: str | None = None,
    margin: float = 20.0,
    disguise: int | None = None,
    weights: Mapping[str, Any] | None = None,
) -> None:
    """Write a stock GPT-2 checkpoint that computes the model's formulas to `folder`.

    `context` counts `<bos>`: words of up to context - 1 symbols. `head="token-classification"`
    labels every symbol true or false by one output; `head="lm"` takes a model with an output for
    each symbol, "may come next" (and optionally `<eos>`, "the word may end"), and makes a language
    model whose allowed and forbidden next tokens have logits at least `margin` apart;
    `head="multi-label"` gives every output a logit of its own, positive where it is true. `kernel`
    is the attention that the certificate is for. Formulas must look only to the past.

    `weights`, of a language model, gives each token a log-weight (a number, or numbers that are
    added where outputs hold): then the model's distribution is that of `softhat.source`.

    `disguise`, a seed, writes the same function in a random basis: no coordinate, head dimension
    or neuron is a variable's own, idle heads and neurons are filled, and other formulas are
    computed in the same trunk. `directions.safetensors` and `labels.json` say where everything is.
    """
    options = (context, activation, kernel, head, output, margin, disguise, weights)
    write_folder(Path(folder), gpt2_files(model, *options))


def gpt2_files(
    model: Exported,
    context: int = 1024,
    activation: Activation = "relu",
    kernel: Kernel = "sdpa",
    head: HeadName = "token-classification",
    output: str | None = None,
    margin: float = 20.0,
    disguise: int | None = None,
    weights: Mapping[str, Any] | None = None,
) -> dict[str, bytes]:
    """What `to_gpt2` writes, by file name."""
    _check(context, activation, kernel, head, margin)
    check_disguise(disguise, activation)
    held, head = fits_head(model, head, context)
    check_plain(held, disguise)
    t = held.program
    claimed = None if weights is None else claimed_weights(held, head, weights)
    formulas, program = asked_of(held, head, output, claimed)
    program = fitted(held, program, formulas, "GPT-2", context, disguise)
    layout = lay_out(program, context, dense=disguise is not None, steady=claimed is not None)
    tokens = vocabulary(t.symbols, t.propositional)
    made_of = trunk(layout, token_sets(t.symbols, t.propositional), activation)
    tensors = _tensors(made_of)
    rows = logit_rows(layout.program, formulas, head, machine_margin(held, margin), claimed)
    matrix = np.stack([read_row(layout, row) for row in rows]).astype(np.float32)
    readout = {"lm_head.weight": matrix}
    if head != "lm":
        bias = np.zeros(len(matrix), dtype=np.float32)
        readout = {"classifier.weight": matrix, "classifier.bias": bias}
    labels = None
    if held.machine is None and isinstance(held, Model):
        labels = label(made_of, {**tensors, **readout}, formulas_alone(formulas))
    directions = None
    sizes = (layout.d_model, layout.n_head, made_of.d_ff)
    if disguise is not None:
        made = disguised(made_of, disguise)
        tensors, directions = made.tensors, made.directions
        readout = {at: made.rows(rows) if rows.ndim == 2 else rows for at, rows in readout.items()}
        assert labels is not None
        labels = disguised_labels(labels, made)
        sizes = (made.d_model, made.n_head, len(directions.units[0].part))
    tensors = {**tensors, **readout}
    read = GPT2Checkpoint(
        symbols=t.symbols,
        propositional=t.propositional,
        tokens=token_sets(t.symbols, t.propositional),
        bos=tokens.index(BOS),
        n_head=sizes[1],
        activation=activation,
        epsilon=EPSILON,
        head=head,
        tensors=tensors,
        weights=claimed,
        greedy=held.machine is not None,
    )
    shape = GPT2Shape(
        family="gpt2",
        tokens=tokens,
        context=context,
        d_model=sizes[0],
        d_ff=sizes[2],
        blocks=layout.blocks,
        n_head=sizes[1],
        epsilon=EPSILON,
        kernel=kernel,
        head=head,
        outputs=tuple(formulas),
        activation=activation,
    )
    known: Mapping[str, Claimed] = held.formulas
    shown = {name: known[name] for name in formulas if name in known}
    if isinstance(held, StockLanguage):
        said = language_readme("GPT-2", held.language, context)
    elif held.machine is not None:
        said = machine_readme("GPT-2", held.machine, context)
    else:
        described = ("GPT-2", "GPT2LMHeadModel", formulas_alone(shown), tokens, context)
        said = readme(*described, head, kernel, disguise is not None, claimed)
    return stock_files(
        t=t,
        formulas=shown,
        tokens=tokens,
        context=context,
        head=head,
        config=gpt2_config(shape),
        tensors=tensors,
        directions=directions,
        labels=labels,
        certificate=certify(read, formulas, kernel, margin if head == "lm" else None, directions),
        readme=said,
        machine=held.machine,
    )


def _check(context: int, activation: str, kernel: str, head: str, margin: float) -> None:
    check_choice("activation", activation, Activation)
    check_choice("kernel", kernel, Kernel)
    check_choice("head", head, HeadName)
    check_context(context)
    check_margin(margin)


def _tensors(weights: Trunk) -> dict[str, NDArray[np.float32]]:
    d = weights.layout.d_model
    zeros = np.zeros(d, dtype=np.float32)
    scale = np.full(d, weights.layout.variance**0.5, dtype=np.float32)
    tensors = {"transformer.wte.weight": weights.wte, "transformer.wpe.weight": weights.wpe}

    def norm(name: str) -> None:
        tensors[f"transformer.{name}.weight"] = scale
        tensors[f"transformer.{name}.bias"] = zeros

    for at, block in enumerate(weights.blocks):
        norm(f"h.{at}.ln_1")
        norm(f"h.{at}.ln_2")
        parts = {
            "attn.c_attn": (block.c_attn, block.c_attn_bias),
            "attn.c_proj": (block.attn_proj, zeros),
            "mlp.c_fc": (block.c_fc, block.c_fc_bias),
            "mlp.c_proj": (block.mlp_proj, zeros),
        }
        for name, (matrix, bias) in parts.items():
            tensors[f"transformer.h.{at}.{name}.weight"] = matrix
            tensors[f"transformer.h.{at}.{name}.bias"] = bias
    norm("ln_f")
    return tensors
