"""The folder of a stock checkpoint read back: what exports of all architectures share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from softhat.export.certificates import digest_of
from softhat.export.closed import AGAIN, check_files, check_tensors, choice, whole
from softhat.export.reading import WEIGHTS, Export, alphabet_of, check_named, formulas_of, stated_in
from softhat.export.stock.config import StockShape, choices, claims, class_of
from softhat.export.stock.folder import DIRECTIONS, GENERATION, MACHINE, generation
from softhat.export.stock.heads import HeadName
from softhat.export.stock.languages import LANGUAGE, language_of
from softhat.export.stock.options import Kernel
from softhat.export.tokenizer import tokenizer_documents, vocabulary
from softhat.frontends.machines.machine import Machine
from softhat.frontends.machines.reading import machine as machine_from
from softhat.io.errors import SofthatError
from softhat.io.files import read_bytes, read_json, read_tensors
from softhat.logic.sources import Weights, log_weights
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.stock.automata import Acceptor, Claimed
from softhat.transformer.directions import Directions, directions_from
from softhat.transformer.weights import EOS

OTHERS = (WEIGHTS, DIRECTIONS, "certificate.json")
"""Files of a folder beside its documents and what the weights are claimed to compute."""


@dataclass(frozen=True)
class StockFolder:
    """The contents of a folder of any stock architecture. Nothing is proved of it before
    `check` has compared all of it."""

    folder: Path
    family: str
    config: dict[str, Any]
    stated: dict[str, Any]
    formulas: Mapping[str, Claimed]
    symbols: tuple[str, ...]
    propositional: bool
    head: HeadName
    kernel: str
    """Which attention the configuration chooses."""
    tensors: Mapping[str, NDArray[Any]]
    weights: Weights | None
    """The log-weights that a language model states: a claim, which the proof checks."""
    digest: str
    machine: Machine | None
    """The machine that the folder is claimed to run: then the formulas are its."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The tokens as the tokenizer knows them, `<bos>` and `<eos>` included."""
        return vocabulary(self.symbols, self.propositional)

    @property
    def claims(self) -> dict[str, Any]:
        """What a checkpoint of any architecture is claimed to be, but for its sizes."""
        greedy = self.machine is not None
        claimed = claims(self.symbols, self.propositional, self.head, self.weights, greedy)
        return {**claimed, "tensors": self.tensors}

    @property
    def choices(self) -> dict[str, Any]:
        """What a configuration of any architecture chooses, but for sizes."""
        return choices(self.family, self.texts, self.kernel, self.head, self.formulas)

    def export(
        self, checkpoint: GPT2Checkpoint | LlamaCheckpoint, shape: StockShape, d_head: int
    ) -> Export:
        """The folder as an export, of heads of this size."""
        return Export(
            self.family,
            self.folder,
            self.digest,
            self.stated,
            self.formulas,
            None,
            checkpoint,
            directions=_directions(self.folder, shape.d_model, shape.n_head, d_head),
            kernel=self.kernel,
            machine=self.machine,
        )

    def whole(self, key: str) -> int:
        return whole(f"{self.folder}/config.json", self.config, key)

    def number(self, key: str) -> float:
        value = self.config.get(key)
        if type(value) is not float:
            raise SofthatError(f"{self.folder}/config.json: {key} is {value!r}, no number: {AGAIN}")
        return value

    def size(self, tensor: str, axis: int) -> int:
        """How large a tensor is along an axis."""
        if tensor not in self.tensors or self.tensors[tensor].ndim <= axis:
            raise SofthatError(f"{self.folder}/{WEIGHTS} has no tensor {tensor}: {AGAIN}")
        return int(self.tensors[tensor].shape[axis])

    def blocks(self, prefix: str) -> int:
        """How many blocks have tensors named `prefix.number.…`."""
        parts = [n.removeprefix(f"{prefix}.").split(".")[0] for n in self.tensors if prefix in n]
        return len({part for part in parts if part.isdigit()})

    def check(
        self, config: dict[str, Any], shapes: Mapping[str, tuple[int, ...]], context: int
    ) -> None:
        """Every key, tensor and file is one of the closed list, and none of the list is missing."""
        runs = self.machine is not None
        tokenizer = tokenizer_documents(self.texts, context, pad_left=runs)
        documents = {"config.json": config, **tokenizer}
        if self.head == "lm":
            documents[GENERATION] = generation(self.texts, runs)
        meaning = (MACHINE,) if runs else ("formula.txt", "predicates.json")
        if any(isinstance(one, Acceptor) for one in self.formulas.values()):
            meaning = (LANGUAGE,)
        check_files(self.folder, documents, (*OTHERS, *meaning))
        check_tensors(self.folder / WEIGHTS, self.tensors, shapes)


def read_stock(folder: Path, config: dict[str, Any], family: str) -> StockFolder:
    """What the folder of a family holds."""
    where = f"{folder}/config.json"
    stated = stated_in(folder)
    symbols, propositional = alphabet_of(folder, stated)
    head = _head(where, config, family)
    machine = machine_of(folder, symbols, head == "lm")
    formulas: Mapping[str, Claimed]
    language = language_of(folder, symbols) if head != "multi-label" else None
    if machine is not None:
        formulas = machine.formulas
    else:
        formulas = language or formulas_of(folder, symbols, propositional)
    if head == "multi-label":
        check_named(folder, config, formulas)
    tensors = read_tensors(folder / WEIGHTS, inside=folder)
    if any(array.dtype != np.float32 for array in tensors.values()):
        raise SofthatError(f"{folder}: the tensors are not float32")
    weights = None
    if head == "lm" and "weights" in stated:
        weights = log_weights(stated["weights"], (*symbols, EOS), (*formulas, EOS))
    return StockFolder(
        folder=folder,
        family=family,
        config=config,
        stated=stated,
        formulas=formulas,
        symbols=symbols,
        propositional=propositional,
        head=head,
        kernel=choice(where, config, "attn_implementation", get_args(Kernel)),
        tensors=tensors,
        weights=weights,
        digest=digest_of(read_bytes(folder / WEIGHTS, inside=folder, most=1 << 33)),
        machine=machine,
    )


def machine_of(folder: Path, symbols: tuple[str, ...], is_lm: bool) -> Machine | None:
    """The machine that a folder says it runs; None if it says formulas."""
    if not (folder / MACHINE).exists():
        return None
    machine = machine_from(read_json(folder / MACHINE, inside=folder))
    if not is_lm or machine.tokens != symbols:
        raise SofthatError(f"{folder}/{MACHINE}: the machine's tokens are not the model's")
    return machine


def _head(where: str, config: dict[str, Any], family: str) -> HeadName:
    """What the class that the configuration names, and its kind of problem, make of the logits."""
    architectures = config.get("architectures")
    several = config.get("problem_type") == "multi_label_classification"
    classifier: HeadName = "multi-label" if several else "token-classification"
    heads: dict[str, HeadName] = {
        class_of(family, "lm"): "lm",
        class_of(family, classifier): classifier,
    }
    if not isinstance(architectures, list) or len(architectures) != 1:
        raise SofthatError(f"{where}: architectures is {architectures!r}, not the name of one")
    if architectures[0] not in heads:
        raise SofthatError(f"{where}: {architectures[0]!r} is no model that softhat exports")
    return heads[architectures[0]]


def _directions(folder: Path, d_model: int, n_head: int, d_head: int) -> Directions | None:
    """The directions of a disguised checkpoint; None if it is not disguised."""
    path = folder / DIRECTIONS
    if not path.exists():
        return None
    return directions_from(read_tensors(path, inside=folder), d_model, n_head, d_head)
