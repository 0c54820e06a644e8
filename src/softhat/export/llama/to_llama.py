"""A stock Llama that computes a formula: a checkpoint for unmodified Hugging Face transformers.

Nothing in the folder needs softhat: `LlamaForTokenClassification.from_pretrained`,
`pipeline("token-classification")` and, for language models, `LlamaForCausalLM.generate` run it as
it is. Mistral and Qwen2 are the same construction under other names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from softhat.export.stock.config import LlamaShape, llama_config
from softhat.export.stock.disguise import disguised_labels
from softhat.export.stock.heads import HeadName
from softhat.export.stock.labels import label
from softhat.export.stock.languages import StockLanguage
from softhat.export.stock.making import Asked, StockExport, Tensors, asked
from softhat.export.stock.options import Exported, Kernel, StockOptions, check_choice
from softhat.io.errors import SofthatError
from softhat.io.files import write_folder
from softhat.program.heads import Recall, Shift
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.transformer.lowering.llama.disguise import DisguisedLlama
from softhat.transformer.lowering.llama.disguise import disguise as disguised
from softhat.transformer.lowering.llama.layout import LlamaLayout, lay_out
from softhat.transformer.lowering.llama.rotary import MOST_DIGITS, Positions, rotary
from softhat.transformer.lowering.llama.weights import in_coordinates, row_of, trunk
from softhat.transformer.lowering.stock.forms import PairForm
from softhat.transformer.lowering.stock.trunk import Trunk

Family = Literal["llama", "mistral", "qwen2"]
LOADING = (
    "Load it in a number format by `from_pretrained(folder, dtype=…)`: `model.to(…)` would "
    "round the rotary frequencies as well. "
)


@dataclass(frozen=True)
class StockLlama:
    """The tensors of a stock checkpoint, and what they are made from."""

    asked: Asked
    trunk: Trunk[LlamaLayout]
    tensors: Tensors
    readout: Tensors
    """The read-out over the coordinates of `trunk`."""
    disguised: DisguisedLlama | None = None
    """Then the tensors are these, and `trunk` says what they were before."""

    @property
    def layout(self) -> LlamaLayout:
        return self.trunk.layout

    def export(self) -> StockExport:
        layout, rotary = self.layout, self.layout.rotary
        attention: dict[str, Any] = {
            "n_head": layout.n_head,
            "n_kv": layout.n_kv,
            "head_dim": rotary.head_dim,
            "theta": rotary.theta,
            "factor": rotary.factor,
        }
        checkpoint = LlamaCheckpoint(
            tensors=self.tensors,
            family=self.asked.family,
            context=layout.context,
            **attention,
            **self.asked.claims,
        )
        shape = LlamaShape(
            d_model=layout.d_model,
            d_ff=(self.trunk if self.disguised is None else self.disguised.trunk).d_ff,
            blocks=layout.blocks,
            **attention,
            **self.asked.choices,
        )
        directions = labels = None
        if self.asked.labelled is not None:
            labels = label(self.trunk, self.readout, self.asked.labelled, self.asked.family)
        if self.disguised is not None:
            directions = self.disguised.directions
            assert labels is not None
            labels = disguised_labels(labels, self.disguised)
        given = (llama_config(shape), directions, labels, LOADING)
        return StockExport(self.asked, checkpoint, *given)


def to_llama(
    model: Exported,
    folder: str | Path,
    context: int = 1024,
    family: Family = "llama",
    head: HeadName = "token-classification",
    positions: Positions | None = None,
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
    `mod` and other predicates of the position. Formulas have the first if nothing is said, regular
    languages, recalls and machines that look back the second.

    `head="token-classification"` labels every symbol true or false by one output; `head="lm"` takes
    a model with an output for each symbol, "may come next" (and optionally `<eos>`, "the word may
    end"), and makes a language model whose allowed and forbidden next tokens have logits at least
    `margin` apart; `head="multi-label"` gives every output a logit of its own, positive where it is
    true. `kernel` is the attention that the certificate is for. Formulas must look only to the
    past.

    `weights`, of a language model, gives each token a log-weight (a number, or numbers that are
    added where outputs hold): then the model's distribution is that of `softhat.source`.

    `disguise`, a seed, writes the same function in a random basis, with distractors;
    `directions.safetensors` and `labels.json` say where everything is. It is proved in float32.
    """
    given = StockOptions(context, kernel, head, output, margin, disguise, weights)
    llama = checkpoint(model, family, positions, given)
    write_folder(folder, llama.export().files())


def checkpoint(
    model: Exported, family: Family, positions: Positions | None, given: StockOptions
) -> StockLlama:
    """The tensors of a stock checkpoint, and what they are made from."""
    if family not in get_args(Family):
        raise SofthatError(
            f"family {family!r} is no architecture that this construction fits as it is: choose "
            f"one of {', '.join(get_args(Family))}"
        )
    if positions is not None:
        check_choice("positions", positions, Positions)
    context, disguise = given.context, given.disguise
    request = asked(model, family, given)
    signals = request.program.signals
    codes = max((len(s.keys) for s in signals if isinstance(s, Recall)), default=0)
    if positions is None:
        exact = Recall if request.model.machine is None else Recall | Shift
        looks_up = any(isinstance(s, exact) for s in signals) and context <= 1 << MOST_DIGITS
        positions = "bits" if looks_up or isinstance(request.model, StockLanguage) else "rope"
    turning = rotary(positions, context, disguise is not None, codes)
    steady = request.weights is not None
    layout = lay_out(request.program, turning, square=family == "qwen2", steady=steady)
    plain = trunk(layout, request.token_sets)
    readout = request.readout(layout.program, lambda row: row_of(layout, PairForm(row)), "score")
    hidden = None if disguise is None else disguised(plain, disguise)
    tensors = _tensors(plain if hidden is None else hidden.trunk, family)
    for at, read in readout.items():
        tensors[at] = read if hidden is None or read.ndim == 1 else hidden.rows(read)
    return StockLlama(request, plain, tensors, readout, hidden)


def _tensors(weights: Trunk[LlamaLayout], family: Family) -> Tensors:
    ones = np.ones(weights.layout.d_model, dtype=np.float32)
    tensors = {"model.embed_tokens.weight": weights.tokens, "model.norm.weight": ones}
    for at, block in enumerate(weights.blocks):
        name = f"model.layers.{at}"
        tensors |= in_coordinates(block).tensors(at)
        if family == "qwen2":
            for kind, matrix in {"q": block.query, "k": block.key, "v": block.value}.items():
                zeros = np.zeros(len(matrix), dtype=np.float32)
                tensors[f"{name}.self_attn.{kind}_proj.bias"] = zeros
        for kind in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{name}.{kind}.weight"] = ones
    return tensors
