"""A stock checkpoint in the making: what it is asked to compute, and the folder that comes of it.

The way: formula → attention program → layout → tensors → folder. An architecture lays out the
program and makes the tensors; all before and after is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.certificates import export_facts, with_machine
from softhat.export.labels import Labels
from softhat.export.stock.config import CLASSES, choices, claims
from softhat.export.stock.folder import (
    DIRECTIONS,
    GENERATION,
    generation,
    meaning_files,
    safetensors_bytes,
)
from softhat.export.stock.heads import HeadName, asked_of, claimed_weights, logit_rows, token_sets
from softhat.export.stock.languages import StockLanguage
from softhat.export.stock.options import (
    EPSILON,
    Exported,
    Kernel,
    StockOptions,
    check_choice,
    check_context,
    check_disguise,
    check_margin,
    check_plain,
    fits_head,
    fitted,
    machine_margin,
)
from softhat.export.stock.readme import readme
from softhat.export.tokenizer import tokenizer_documents, vocabulary
from softhat.io.files import json_bytes, json_files
from softhat.logic.sources import Weights
from softhat.logic.syntax.nodes import Formula
from softhat.models.model import Model
from softhat.program.signals import Program
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.stock.automata import Claimed, formulas_alone
from softhat.proof.stock.certificate import StockCertificate
from softhat.proof.stock.certify import certify
from softhat.transformer.directions import Directions
from softhat.transformer.lowering.language_model import Row

Tensors = dict[str, NDArray[np.float32]]
NAMES = {"gpt2": "GPT-2"} | {name: CLASSES[name] for name in ("llama", "mistral", "qwen2")}
"""What families are called."""


@dataclass(frozen=True)
class Asked:
    """What a checkpoint is asked to compute, and how it is to be run."""

    model: Model | StockLanguage
    formulas: Mapping[str, Claimed]
    program: Program
    family: str
    context: int
    kernel: Kernel
    head: HeadName
    margin: float
    disguise: int | None
    weights: Weights | None
    """The log-weights of a language model, where it has any."""

    @property
    def tokens(self) -> tuple[str, ...]:
        return vocabulary(self.program.symbols, self.program.propositional)

    @property
    def token_sets(self) -> tuple[frozenset[str], ...]:
        """Which symbols hold at each ordinary token."""
        return token_sets(self.program.symbols, self.program.propositional)

    @property
    def shown(self) -> dict[str, Claimed]:
        """The formulas that the model was compiled from."""
        known: Mapping[str, Claimed] = self.model.formulas
        if isinstance(self.model, StockLanguage):
            return {**known}
        return {name: known[name] for name in self.formulas if name in known}

    @property
    def labelled(self) -> dict[str, Formula] | None:
        """The formulas by which labels say what a checkpoint computes; a machine has no labels."""
        if self.model.machine is not None or not isinstance(self.model, Model):
            return None
        return formulas_alone(self.formulas)

    @property
    def claims(self) -> dict[str, Any]:
        """What a checkpoint of any architecture is claimed to be, but for its tensors."""
        t, greedy = self.program, self.model.machine is not None
        claimed = claims(t.symbols, t.propositional, self.head, self.weights, greedy)
        return {**claimed, "epsilon": EPSILON}

    @property
    def choices(self) -> dict[str, Any]:
        """What a configuration of any architecture chooses, but for sizes."""
        chosen = choices(self.family, self.tokens, self.kernel, self.head, self.formulas)
        return {**chosen, "context": self.context, "epsilon": EPSILON}

    def readout(
        self, program: Program, row_of: Callable[[Row], NDArray[Any]], classifier: str
    ) -> Tensors:
        """The last matrix, whose rows are over what the layout has placed."""
        margin = machine_margin(self.model, self.margin)
        rows = logit_rows(program, self.formulas, self.head, margin, self.weights)
        matrix = np.stack([row_of(row) for row in rows]).astype(np.float32)
        if self.head == "lm":
            return {"lm_head.weight": matrix}
        bias = np.zeros(len(matrix), dtype=np.float32)
        return {f"{classifier}.weight": matrix, f"{classifier}.bias": bias}


def asked(model: Exported, family: str, given: StockOptions) -> Asked:
    """What the options say, if they fit a decoder and each other."""
    check_choice("kernel", given.kernel, Kernel)
    check_choice("head", given.head, HeadName)
    check_context(given.context)
    check_margin(given.margin)
    check_disguise(given.disguise)
    held, head = fits_head(model, given.head, given.context)
    check_plain(held, given.disguise)
    claimed = None if given.weights is None else claimed_weights(held, head, given.weights)
    formulas, program = asked_of(held, head, given.output, claimed)
    program = fitted(held, program, formulas, NAMES[family], given.context, given.disguise)
    run = (given.context, given.kernel, head, given.margin, given.disguise, claimed)
    return Asked(held, formulas, program, family, *run)


@dataclass(frozen=True)
class StockExport:
    """A stock checkpoint before it is written: what every file format is made from."""

    asked: Asked
    checkpoint: GPT2Checkpoint | LlamaCheckpoint
    config: Mapping[str, Any]
    directions: Directions | None
    labels: Labels | None
    loading: str = ""
    """What users must know when they load it."""

    def certificate(self) -> StockCertificate:
        """What is proved, from the tensors."""
        margin = self.asked.margin if self.asked.head == "lm" else None
        given = (self.asked.formulas, self.asked.kernel, margin, self.directions)
        return certify(self.checkpoint, *given)

    def files(self) -> dict[str, bytes]:
        """By file name."""
        asked, files = self.asked, self.unproved()
        proved = with_machine(self.certificate().to_json(), asked.model.machine)
        facts = export_facts(asked.model.program, files["model.safetensors"])
        about = readme(asked, NAMES[asked.family], self.directions is not None, self.loading)
        files["certificate.json"] = json_bytes({**proved, **facts})
        files["README.md"] = about.encode()
        return files

    def unproved(self) -> dict[str, bytes]:
        """What runs and what it means, by file name, without the certificate."""
        asked, machine = self.asked, self.asked.model.machine
        runs = machine is not None
        files = {
            "config.json": json_bytes(self.config),
            "model.safetensors": safetensors_bytes(self.checkpoint.tensors),
            **json_files(tokenizer_documents(asked.tokens, asked.context, pad_left=runs)),
            **meaning_files(asked.shown, machine),
        }
        if self.labels is not None:
            files["labels.json"] = json_bytes(self.labels.to_json())
        if asked.head == "lm":
            files[GENERATION] = json_bytes(generation(asked.tokens, runs))
        if self.directions is not None:
            files[DIRECTIONS] = safetensors_bytes(self.directions.tensors())
        return files
