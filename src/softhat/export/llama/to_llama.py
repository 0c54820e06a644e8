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
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from softhat.export.llama.disguise import disguised_llama_labels
from softhat.export.llama.labels import label
from softhat.export.stock.config import CLASSES, LlamaShape, llama_config
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
from softhat.io.errors import SofthatError
from softhat.io.files import write_folder
from softhat.logic.sources import Weights
from softhat.models.model import Model
from softhat.program.heads import Recall, Shift
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.stock.automata import Claimed, formulas_alone
from softhat.proof.stock.certificate import StockCertificate
from softhat.proof.stock.certify import certify
from softhat.transformer.directions import Directions
from softhat.transformer.lowering.gpt2.heads import PairForm
from softhat.transformer.lowering.llama.disguise import DisguisedLlama
from softhat.transformer.lowering.llama.disguise import disguise as disguised
from softhat.transformer.lowering.llama.layout import LlamaLayout, lay_out
from softhat.transformer.lowering.llama.rotary import MOST_DIGITS, Positions, rotary
from softhat.transformer.lowering.llama.weights import LlamaTrunk, row_of, trunk
from softhat.transformer.weights import BOS

Family = Literal["llama", "mistral", "qwen2"]


@dataclass(frozen=True)
class StockLlama:
    """A stock checkpoint before it is written: what every file format is made from."""

    model: Model | StockLanguage
    formulas: Mapping[str, Claimed]
    tokens: tuple[str, ...]
    trunk: LlamaTrunk
    family: Family
    head: HeadName
    kernel: Kernel
    margin: float
    tensors: dict[str, NDArray[np.float32]]
    readout: dict[str, NDArray[np.float32]]
    """The read-out over the coordinates of `trunk`."""
    weights: Weights | None = None
    """The log-weights of a language model, where it has any."""
    disguised: DisguisedLlama | None = None
    """Then the tensors are these, and `trunk` says what they were before."""

    @property
    def layout(self) -> LlamaLayout:
        return self.trunk.layout

    @property
    def directions(self) -> Directions | None:
        return None if self.disguised is None else self.disguised.directions

    @property
    def shown(self) -> dict[str, Claimed]:
        """The formulas that the model was compiled from."""
        known: Mapping[str, Claimed] = self.model.formulas
        return {name: known[name] for name in self.formulas if name in known}

    def certificate(self) -> StockCertificate:
        """What is proved, from the tensors."""
        t, rotary = self.model.program, self.layout.rotary
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
            greedy=self.model.machine is not None,
        )
        kept = self.margin if self.head == "lm" else None
        return certify(read, self.formulas, self.kernel, kept, self.directions)


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
    given = (family, head, positions, kernel, output, margin, disguise, weights)
    made = checkpoint(model, context, *given)
    labels = None
    if made.model.machine is None and isinstance(made.model, Model):
        labels = label(made.trunk, made.readout, formulas_alone(made.formulas), family)
    if made.disguised is not None and labels is not None:
        labels = disguised_llama_labels(labels, made.disguised)
    files = stock_files(
        t=made.model.program,
        formulas=made.shown,
        tokens=made.tokens,
        context=context,
        head=made.head,
        config=llama_config(_shape(made)),
        tensors=made.tensors,
        directions=made.directions,
        labels=labels,
        certificate=made.certificate(),
        readme=_readme(made),
        machine=made.model.machine,
    )
    write_folder(Path(folder), files)


def checkpoint(
    model: Exported,
    context: int,
    family: Family,
    head: HeadName,
    positions: Positions | None,
    kernel: Kernel,
    output: str | None,
    margin: float,
    disguise: int | None = None,
    weights: Mapping[str, Any] | None = None,
) -> StockLlama:
    """The tensors of a stock checkpoint, and what they are made from."""
    _check(context, family, head, positions, kernel, margin)
    check_disguise(disguise)
    held, head = fits_head(model, head, context)
    check_plain(held, disguise)
    t = held.program
    claimed = None if weights is None else claimed_weights(held, head, weights)
    formulas, program = asked_of(held, head, output, claimed)
    program = fitted(held, program, formulas, CLASSES[family], context, disguise)
    codes = max((len(s.keys) for s in program.signals if isinstance(s, Recall)), default=0)
    if positions is None:
        exact = Recall if held.machine is None else Recall | Shift
        looks_up = any(isinstance(s, exact) for s in program.signals)
        looks_up = looks_up and context <= 1 << MOST_DIGITS
        positions = "bits" if looks_up or isinstance(held, StockLanguage) else "rope"
    turning = rotary(positions, context, disguise is not None, codes)
    layout = lay_out(program, turning, square=family == "qwen2", steady=claimed is not None)
    plain = trunk(layout, token_sets(t.symbols, t.propositional))
    rows = logit_rows(layout.program, formulas, head, machine_margin(held, margin), claimed)
    matrix = np.stack([row_of(layout, PairForm(row)) for row in rows]).astype(np.float32)
    readout = {"lm_head.weight": matrix}
    if head != "lm":
        readout = {"score.weight": matrix, "score.bias": np.zeros(len(matrix), dtype=np.float32)}
    hidden = None if disguise is None else disguised(plain, disguise)
    tensors = _tensors(plain if hidden is None else hidden.trunk, family)
    for at, read in readout.items():
        tensors[at] = read if hidden is None or read.ndim == 1 else hidden.rows(read)
    tokens = vocabulary(t.symbols, t.propositional)
    given = (family, head, kernel, margin, tensors, readout, claimed, hidden)
    return StockLlama(held, formulas, tokens, plain, *given)


def _check(
    context: int, family: str, head: str, positions: str | None, kernel: str, margin: float
) -> None:
    if family not in get_args(Family):
        raise SofthatError(
            f"family {family!r} is no architecture that this construction fits as it is: choose "
            f"one of {', '.join(get_args(Family))}"
        )
    check_choice("head", head, HeadName)
    if positions is not None:
        check_choice("positions", positions, Positions)
    check_choice("kernel", kernel, Kernel)
    check_context(context)
    check_margin(margin)


def _tensors(weights: LlamaTrunk, family: Family) -> dict[str, NDArray[np.float32]]:
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


def _shape(made: StockLlama) -> LlamaShape:
    layout, rotary = made.layout, made.layout.rotary
    return LlamaShape(
        family=made.family,
        tokens=made.tokens,
        context=layout.context,
        d_model=layout.d_model,
        d_ff=(made.trunk if made.disguised is None else made.disguised.trunk).d_ff,
        blocks=layout.blocks,
        n_head=layout.n_head,
        epsilon=EPSILON,
        kernel=made.kernel,
        head=made.head,
        outputs=tuple(made.formulas),
        n_kv=layout.n_kv,
        head_dim=rotary.head_dim,
        theta=rotary.theta,
        factor=rotary.factor,
    )


def _readme(made: StockLlama) -> str:
    name = CLASSES[made.family]
    dtypes = (
        "Load it in a number format by `from_pretrained(folder, dtype=…)`: `model.to(…)` would "
        "round the rotary frequencies as well. "
    )
    if made.model.machine is not None:
        return machine_readme(name, made.model.machine, made.layout.context, dtypes)
    if isinstance(made.model, StockLanguage):
        return language_readme(name, made.model.language, made.layout.context, dtypes)
    given = (formulas_alone(made.shown), made.tokens, made.layout.context, made.head, made.kernel)
    hidden = made.disguised is not None
    return readme(name, f"{name}ForCausalLM", *given, hidden, made.weights, dtypes)
