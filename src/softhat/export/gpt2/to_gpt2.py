"""A stock GPT-2 that computes a formula: a checkpoint for unmodified Hugging Face transformers.

Nothing in the folder needs softhat: `GPT2ForTokenClassification.from_pretrained`,
`pipeline("token-classification")` and, for language models, `GPT2LMHeadModel.generate` run it as it
is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.export.stock.config import GPT2Shape, gpt2_config
from softhat.export.stock.disguise import disguised_labels
from softhat.export.stock.heads import HeadName
from softhat.export.stock.labels import label
from softhat.export.stock.languages import StockLanguage
from softhat.export.stock.making import StockExport, asked
from softhat.export.stock.options import (
    Exported,
    Kernel,
    StockOptions,
    check_choice,
    check_disguise,
)
from softhat.io.files import write_folder
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.transformer.decoders import norm_names
from softhat.transformer.lowering.gpt2.disguise import disguise as disguised
from softhat.transformer.lowering.gpt2.layout import Layout, lay_out
from softhat.transformer.lowering.gpt2.weights import (
    held_in_pairs,
    in_coordinates,
    reading_pairs,
    trunk,
)
from softhat.transformer.lowering.stock.trunk import Trunk, row_over

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
    options = StockOptions(context, kernel, head, output, margin, disguise, weights)
    write_folder(folder, gpt2_files(model, options, activation))


def gpt2_files(
    model: Exported, options: StockOptions, activation: Activation = "relu"
) -> dict[str, bytes]:
    """What `to_gpt2` writes, by file name."""
    return gpt2_export(model, options, activation).files()


def gpt2_export(
    model: Exported, options: StockOptions, activation: Activation = "relu"
) -> StockExport:
    """What `to_gpt2` writes."""
    check_choice("activation", activation, Activation)
    check_disguise(options.disguise, activation)
    request = asked(model, "gpt2", options)
    dense = options.disguise is not None
    layout = lay_out(
        request.program,
        options.context,
        dense=dense,
        steady=request.weights is not None,
        reuse=isinstance(request.model, StockLanguage),  # it has no labels, which name every pair
    )
    plain = trunk(layout, request.token_sets, activation)
    over_pairs = request.readout(layout.program, partial(row_over, layout), "classifier")
    labels = directions = None
    if request.labelled is not None:
        labels = label(plain, over_pairs, request.labelled, "gpt2")
    tensors, rows, n_head, d_ff = _tensors(plain), reading_pairs, layout.n_head, plain.d_ff
    if options.disguise is not None:
        hidden = disguised(plain, options.disguise)
        tensors, directions, rows = hidden.tensors, hidden.directions, hidden.rows
        assert labels is not None
        labels = disguised_labels(labels, hidden)
        n_head, d_ff = hidden.n_head, len(directions.units[0].part)
    readout = {name: rows(read) if read.ndim == 2 else read for name, read in over_pairs.items()}
    checkpoint = GPT2Checkpoint(
        tensors={**tensors, **readout}, n_head=n_head, activation=activation, **request.claims
    )
    shape = GPT2Shape(
        d_model=checkpoint.d_model,
        d_ff=d_ff,
        blocks=layout.blocks,
        n_head=n_head,
        activation=activation,
        **request.choices,
    )
    return StockExport(request, checkpoint, gpt2_config(shape), directions, labels)


def _tensors(weights: Trunk[Layout]) -> dict[str, NDArray[np.float32]]:
    d = weights.layout.d_model
    zeros = np.zeros(d, dtype=np.float32)
    scale = np.full(d, weights.layout.variance**0.5, dtype=np.float32)
    tables = {"wte": weights.tokens, "wpe": weights.positions}
    tensors = {
        f"transformer.{name}.weight": held_in_pairs(table)
        for name, table in tables.items()
        if table is not None
    }
    for norm in norm_names(len(weights.blocks)):
        tensors |= {f"{norm}.weight": scale, f"{norm}.bias": zeros}
    for at, block in enumerate(weights.blocks):
        parts = in_coordinates(block).tensors(at)
        tensors |= {name: np.ascontiguousarray(part) for name, part in parts.items()}
        for bias in ("attn.c_proj.bias", "mlp.c_proj.bias"):
            tensors[f"transformer.h.{at}.{bias}"] = zeros
    return tensors
