"""A stock GPT-2 checkpoint as its folder holds it, read without running anything.

Only `config.json` and `model.safetensors` are opened, through the trusted reader. What the proof
could not account for is refused here: another architecture, tensors that are missing, of another
shape or not finite, weights in half precision, settings that change how attention is computed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from softhat.io.errors import SofthatError
from softhat.io.files.names import as_path
from softhat.io.files.reading import read_json, read_tensors
from softhat.io.files.snapshot import read_as_a_whole
from softhat.trained.activations import Activation, activation_of
from softhat.trained.rounding import Array, Rounding, raised

MOST_WIDTH = 1024
MOST_LAYERS = 12
MOST_PARAMETERS = 20_000_000
"""Larger models are refused: neither the proof nor the search would get anywhere."""

_OTHER_HEADS = {
    "GPT2ForSequenceClassification": "one answer a word",
    "GPT2ForQuestionAnswering": "spans",
    "GPT2DoubleHeadsModel": "two heads",
    "GPT2Model": "no answers, only states",
}
_FIXED = {
    "scale_attn_by_inverse_layer_idx": False,
    "reorder_and_upcast_attn": False,
    "add_cross_attention": False,
    "is_encoder_decoder": False,
}


@dataclass(frozen=True, slots=True)
class LayerNorm:
    """Layer normalisation: gain and shift."""

    gain: Array
    shift: Array
    moved: LayerNorm | None = None
    """How far each entry may be from this one, if the weights may move (`radius`)."""

    def error(self, size: Array, rounding: Rounding) -> Array:
        """How far y·gain + shift can be off, |y| at most `size`, y as it is computed."""
        whole = size * np.abs(self.gain) + np.abs(self.shift)
        moved = None if self.moved is None else size * self.moved.gain + self.moved.shift
        return _rounded(whole, moved, 2, 2, 8, rounding)


@dataclass(frozen=True, slots=True)
class Affine:
    """`x @ weight + bias`."""

    weight: Array
    bias: Array
    moved: Affine | None = None
    """How far each entry may be from this one, if the weights may move (`radius`)."""

    def error(self, size: Array, rounding: Rounding) -> Array:
        """How far the product can be off, |x| at most `size`, x as it is computed: n + 2 roundings
        of each sum, in any order, with or without fused multiply-add."""
        terms = self.weight.shape[0]
        whole = size @ np.abs(self.weight) + np.abs(self.bias)  # bounds every partial sum
        moved = None if self.moved is None else size @ self.moved.weight + self.moved.bias
        return _rounded(whole, moved, terms + 2, terms, 2 * terms + 8, rounding)


def _rounded(
    whole: Array, moved: Array | None, steps: int, flushed: int, own: int, rounding: Rounding
) -> Array:
    """How far so many roundings move results that are at most `whole`, where so many products may
    be flushed to zero and weights may move results by `moved`; `own` roundings are the proof's."""
    gamma = rounding.gamma(steps)
    error = gamma * whole + flushed * rounding.least
    if moved is not None:
        error = error + (1 + gamma) * moved
    return np.asarray(raised(error, own) + rounding.overflow(whole + error))


@dataclass(frozen=True, slots=True)
class Block:
    """One layer: attention, then the feed-forward part, each after a norm, each added."""

    before_attention: LayerNorm
    attention: Affine
    projection: Affine
    before_units: LayerNorm
    units: Affine
    output: Affine

    @property
    def parts(self) -> tuple[LayerNorm | Affine, ...]:
        """Its steps in their order."""
        return tuple(getattr(self, part.name) for part in fields(self))


@dataclass(frozen=True)
class Checkpoint:
    """A stock GPT-2: everything that the proof reads."""

    folder: Path
    head: str
    """`GPT2LMHeadModel` or `GPT2ForTokenClassification`: the class that runs it."""
    tokens: Array
    positions: Array
    blocks: tuple[Block, ...]
    last: LayerNorm
    answers: Affine
    heads: int
    epsilon: float
    scale: float
    activation: Activation
    named: str
    """The class that its configuration names."""
    bos: int | None
    eos: int | None
    moved: tuple[Array, Array] | None = None
    """How far each entry of tokens and positions may be from this one, if weights may move."""

    @property
    def context(self) -> int:
        return int(self.positions.shape[0])

    @property
    def width(self) -> int:
        return int(self.positions.shape[1])

    @property
    def vocabulary(self) -> int:
        return int(self.tokens.shape[0])

    @property
    def outputs(self) -> int:
        return int(self.answers.weight.shape[1])


def read_checkpoint(folder: str | Path | Checkpoint) -> Checkpoint:
    """The checkpoint in a folder, of one moment, or one line that says why it cannot be taken; a
    checkpoint is itself."""
    if isinstance(folder, Checkpoint):
        return folder
    place = as_path(folder)
    if not place.is_dir():
        raise SofthatError(f"{place} is not a folder: expected a checkpoint with config.json")
    return read_as_a_whole(place, lambda: _read(place))


def _read(folder: Path) -> Checkpoint:
    for name in ("config.json", "model.safetensors"):
        if not (folder / name).exists():
            raise SofthatError(
                f"{folder} has no {name}: expected a GPT-2 that save_pretrained wrote"
            )
    config = read_json(folder / "config.json", folder)
    if not isinstance(config, dict):
        raise SofthatError(f"{folder / 'config.json'} is not an object: expected a configuration")
    return _Reader(folder, config).checkpoint()


class _Reader:
    """The configuration and the tensors of a folder, checked as they are taken."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.folder, self.config = folder, config
        if config.get("model_type") != "gpt2":
            kind = config.get("model_type") or config.get("format") or "unknown"
            raise SofthatError(f"{folder} is a model of kind {kind!r}: only GPT-2 can be proved")
        self.layers = self.number("n_layer", MOST_LAYERS)
        self.width = self.number("n_embd", MOST_WIDTH)
        self.heads = self.number("n_head", self.width)
        self.context = self.number("n_positions", 1 << 16)
        if self.width % self.heads:
            raise SofthatError(f"{folder}: {self.width} entries do not divide among {self.heads}")
        for name, value in _FIXED.items():
            if config.get(name, value) != value:
                raise SofthatError(f"{folder}: {name} = {config[name]!r} is not supported")
        if config.get("quantization_config"):
            raise SofthatError(f"{folder} is quantised: only float32 weights can be proved")
        self.tensors = self._tensors()

    def number(self, name: str, most: int) -> int:
        value = self.config.get(name)
        if type(value) is not int or value < 1:
            raise SofthatError(f"{self.folder}: config.json says {name} = {value!r}, not a count")
        if value > most:
            raise SofthatError(
                f"{self.folder} is too large to be proved: {name} = {value:,}, at most {most:,}"
            )
        return value

    def _tensors(self) -> dict[str, Any]:
        path = self.folder / "model.safetensors"
        read = read_tensors(path, self.folder, lambda name: not _is_mask(name))
        if sum(tensor.size for tensor in read.values()) > MOST_PARAMETERS:
            raise SofthatError(
                f"{self.folder} is too large to be proved: more than {MOST_PARAMETERS:,} parameters"
            )
        for name, tensor in read.items():
            if tensor.dtype != np.float32:
                raise SofthatError(
                    f"{path}: {name} is {tensor.dtype}, but only float32 weights can be proved: "
                    "save the model with model.float()"
                )
            if not np.isfinite(tensor).all():
                raise SofthatError(f"{path}: {name} has an entry that is not a finite number")
        return {name.removeprefix("transformer."): tensor for name, tensor in read.items()}

    def tensor(self, name: str, *shape: int) -> Array:
        if name not in self.tensors:
            raise SofthatError(f"{self.folder}: the tensor {name} is missing")
        tensor = self.tensors.pop(name)
        if tensor.shape != shape:
            raise SofthatError(f"{self.folder}: {name} has the shape {tensor.shape}, not {shape}")
        return np.asarray(tensor, np.float64)

    def norm(self, name: str) -> LayerNorm:
        width = self.width
        return LayerNorm(self.tensor(f"{name}.weight", width), self.tensor(f"{name}.bias", width))

    def affine(self, name: str, inside: int, outside: int) -> Affine:
        return Affine(
            self.tensor(f"{name}.weight", inside, outside), self.tensor(f"{name}.bias", outside)
        )

    def checkpoint(self) -> Checkpoint:
        config, width = self.config, self.width
        named = (config.get("architectures") or ["GPT2LMHeadModel"])[0]
        if named in _OTHER_HEADS:
            raise SofthatError(
                f"{self.folder} is a {named} ({_OTHER_HEADS[named]}): expected GPT2LMHeadModel or "
                "GPT2ForTokenClassification"
            )
        inner = config.get("n_inner") or 4 * width
        vocabulary = self.number("vocab_size", 1 << 17)
        tokens = self.tensor("wte.weight", vocabulary, width)
        positions = self.tensor("wpe.weight", self.context, width)
        blocks = []
        for layer in range(self.layers):
            at = f"h.{layer}"
            blocks.append(
                Block(
                    self.norm(f"{at}.ln_1"),
                    self.affine(f"{at}.attn.c_attn", width, 3 * width),
                    self.affine(f"{at}.attn.c_proj", width, width),
                    self.norm(f"{at}.ln_2"),
                    self.affine(f"{at}.mlp.c_fc", width, inner),
                    self.affine(f"{at}.mlp.c_proj", inner, width),
                )
            )
        last = self.norm("ln_f")
        head, answers = self._answers(tokens)
        if self.tensors:
            raise SofthatError(
                f"{self.folder}: the tensor {min(self.tensors)} is none of a stock {head}"
            )
        scale = 1 / sqrt(width // self.heads) if config.get("scale_attn_weights", True) else 1.0
        epsilon = config.get("layer_norm_epsilon", 1e-5)
        if not isinstance(epsilon, float | int) or not 0 < epsilon < 1:
            raise SofthatError(f"{self.folder}: layer_norm_epsilon = {epsilon!r} is not in (0, 1)")
        return Checkpoint(
            self.folder, head, tokens, positions, tuple(blocks), last, answers, self.heads,
            float(epsilon), scale, activation_of(str(config.get("activation_function"))), named,
            _id(config.get("bos_token_id")), _id(config.get("eos_token_id")),
        )  # fmt: skip

    def _answers(self, tokens: Array) -> tuple[str, Affine]:
        """What reads the answers off: a classifier, or the embedding (which must be tied)."""
        if "classifier.weight" in self.tensors:
            labels = self.tensors["classifier.weight"].shape[0]
            weight = self.tensor("classifier.weight", labels, self.width)
            bias = self.tensor("classifier.bias", labels)
            return "GPT2ForTokenClassification", Affine(weight.T.copy(), bias)
        tied = self.config.get("tie_word_embeddings", True)
        if "lm_head.weight" in self.tensors:
            own = self.tensor("lm_head.weight", *tokens.shape)
            if tied and not np.array_equal(own, tokens):
                raise SofthatError(
                    f"{self.folder}: lm_head.weight differs from wte.weight though the "
                    "configuration ties them: set tie_word_embeddings to false"
                )
            return "GPT2LMHeadModel", Affine(own.T.copy(), np.zeros(len(own)))
        if not tied:
            raise SofthatError(
                f"{self.folder}: the tensor lm_head.weight is missing, and "
                "tie_word_embeddings is false"
            )
        return "GPT2LMHeadModel", Affine(tokens.T.copy(), np.zeros(len(tokens)))


def _is_mask(name: str) -> bool:
    """Buffers of older versions: the causal mask and its number."""
    return re.search(r"\.attn\.(masked_)?bias$", name) is not None


def _id(value: Any) -> int | None:
    return value if type(value) is int else None
