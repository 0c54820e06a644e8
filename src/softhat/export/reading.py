"""An exported folder read back: its weights, and the formulas that it is claimed to compute.

Nothing that the export says of itself is believed: the transformer (or checkpoint) is made from
the exported tensors, and `softhat.export.checking` proves its certificate anew. What
`certificate.json` says is kept apart, as a statement to compare with, with the digest of the
weights that it was made for.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.ahat.simulation.simulation import VALUE, Simulation
from softhat.errors import SofthatError
from softhat.export.certificates import digest_of
from softhat.export.simulations import SOURCE, exported_simulation
from softhat.export.tokenizer import vocabulary
from softhat.files import is_file, is_folder, read_bytes, read_json, read_tensors, read_text
from softhat.laws import from_json as law_of
from softhat.logic.binding import bind, predicates_of
from softhat.logic.sources import Weights
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.model import Model
from softhat.positions import from_json as feature_of
from softhat.predicates import from_json as read_predicate
from softhat.proof.gpt2.checkpoint import Checkpoint
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.llama.reading import FAMILIES
from softhat.transformer.directions import Directions
from softhat.transformer.weights import BOS, EOS, Coordinate, Layer, Sparse, Transformer
from softhat.value_model import ValueModel

Tensors = dict[str, NDArray[Any]]
WEIGHTS = "model.safetensors"
RASP = "rasp.json"
"""What the weights are claimed to compute, for a RASP program."""


@dataclass(frozen=True)
class Export:
    """What stands in an exported folder (for ONNX: in a file and those beside it)."""

    kind: str
    """torch, huggingface, onnx, gpt2, llama, mistral or qwen2."""
    path: Path
    digest: str
    """Of the weights, as they stand in the file."""
    stated: dict[str, Any]
    """`certificate.json`: a claim, not a proof."""
    formulas: dict[str, Formula]
    model: Model | ValueModel | Simulation | None
    """What the tensors are, for softhat's own architecture."""
    checkpoint: Checkpoint | LlamaCheckpoint | None
    """What they are, for stock architectures."""
    stored: str = "float32"
    """The number format of the weights, for softhat's own architecture."""
    directions: Directions | None = None
    """Of a disguised checkpoint: claims, which the proof checks against the weights."""

    @property
    def log_weights(self) -> Weights | None:
        """Of a language model's tokens, as it states them: a claim."""
        return None if self.checkpoint is None else self.checkpoint.weights


def is_export(path: str | Path) -> bool:
    """Does this look like something that `softhat export` wrote?"""
    name = os.fspath(path)
    if name.endswith(".onnx"):
        return is_file(name)
    if not is_folder(name):
        return False
    try:
        return _kind(_config(Path(name))) is not None
    except SofthatError:
        return False


def read_export(path: str | Path) -> Export:
    """The export in a folder, or in an ONNX file."""
    path = Path(path)
    try:
        if path.suffix == ".onnx":
            from softhat.export.onnx_reading import read_onnx

            return read_onnx(path)
        config = _config(path)
        match _kind(config):
            case "torch":
                return _torch(path, config)
            case "huggingface":
                return _huggingface(path, config)
            case "gpt2":
                from softhat.export.gpt2_reading import read_gpt2

                return read_gpt2(path, config)
            case "llama" | "mistral" | "qwen2" as family:
                from softhat.export.llama_reading import read_llama

                return read_llama(path, config, family)
        raise SofthatError(f"{path} is no folder that `softhat export` wrote")
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, SofthatError):
            raise
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise SofthatError(f"{path} is damaged: {what}") from None


def _config(folder: Path) -> dict[str, Any]:
    config = read_json(folder / "config.json", inside=folder)
    if not isinstance(config, dict):
        raise SofthatError(f"{folder}/config.json is no JSON object")
    return config


def _kind(config: dict[str, Any]) -> str | None:
    if config.get("format") == "softhat-torch/1":
        return "torch"
    stock = {name: name for name in ("gpt2", *FAMILIES)}
    return {"softhat": "huggingface", **stock}.get(str(config.get("model_type")))


def formulas_in(
    text: str, symbols: tuple[str, ...], propositional: bool, predicates: Any = ()
) -> dict[str, Formula]:
    """`name: formula` a line; `predicates` is what `predicates.json` has, if it is there."""
    listed = [read_predicate(entry, "predicates.json") for entry in predicates]
    bound = {predicate.name: predicate for predicate in listed}
    known = {"propositions" if propositional else "alphabet": symbols}
    formulas: dict[str, Formula] = {}
    for line in text.removesuffix("\n").split("\n"):
        name, colon, written = line.partition(": ")
        if not colon or name in formulas:
            raise SofthatError(f"formula.txt: expected one `name: formula`, got {line[:60]!r}")
        formulas[name] = bind(parse(written, **known), bound)
        predicates_of(formulas[name])  # all are known
    return formulas


def formulas_of(folder: Path, symbols: tuple[str, ...], propositional: bool) -> dict[str, Formula]:
    path = folder / "predicates.json"
    predicates = read_json(path, inside=folder) if path.exists() else ()
    text = read_text(folder / "formula.txt", inside=folder)
    return formulas_in(text, symbols, propositional, predicates)


def stated_in(folder: Path) -> dict[str, Any]:
    path = folder / "certificate.json"
    stated = read_json(path, inside=folder) if path.exists() else {}
    if not isinstance(stated, dict):
        raise SofthatError(f"{path} is no JSON object")
    return stated


def check_symbols(symbols: tuple[str, ...]) -> tuple[str, ...]:
    """No symbol is a sink's or padding's token."""
    for symbol in symbols:
        if symbol in (BOS, EOS, "<pad>"):
            raise SofthatError(f"the alphabet has the reserved symbol {symbol}: rename it")
    return symbols


# softhat's own architecture


def _torch(folder: Path, config: dict[str, Any]) -> Export:
    tensors = read_tensors(folder / WEIGHTS, inside=folder)
    symbols = check_symbols(tuple(map(str, config["alphabet"])))
    shape = config["architecture"]
    transformer = transformer_from(
        shape,
        symbols,
        tuple(map(str, config["outputs"])),
        dict(tensors),
        tensors["embedding.weight"],
    )
    return _native("torch", folder, transformer, tensors["embedding.weight"].dtype.name)


def _huggingface(folder: Path, config: dict[str, Any]) -> Export:
    stated = stated_in(folder)
    symbols, propositional = alphabet_of(folder, stated)
    tensors = {
        name.removeprefix("softhat.body."): array
        for name, array in read_tensors(folder / WEIGHTS, inside=folder).items()
    }
    classifier, bias = tensors.pop("classifier.weight"), tensors.pop("classifier.bias")
    is_rasp = (folder / RASP).exists()
    if is_rasp:
        outputs = tuple(str(config["id2label"][str(k)]) for k in range(len(bias)))
    elif (folder / SOURCE).exists():
        outputs = (VALUE,)
    else:
        outputs = tuple(formulas_of(folder, symbols, propositional))
    if is_rasp or names_every_output(folder, config, outputs):
        tensors["readout.weight"], tensors["readout.bias"] = classifier, bias
    else:
        if not np.array_equal(classifier[0], -classifier[1]) or bias[0] != -bias[1]:
            raise SofthatError(f"{folder}: the classifier's two logits are not opposite")
        tensors["readout.weight"], tensors["readout.bias"] = classifier[1:], bias[1:]
    rows = tensors["embedding.weight"].astype(np.float64)
    table = rows[:-2]
    if propositional:
        codes = np.arange(len(table))[:, None] >> np.arange(len(symbols)) & 1
        table = rows[[1 << k for k in range(len(symbols))]]
        if not np.array_equal(codes @ table, rows[:-2]):
            raise SofthatError(f"{folder}: a set's embedding is not the sum of its propositions'")
    sinks = int(config["starts_with_bos"]) + int(config["ends_with_eos"])
    shape = {
        "attention": config["attention"],
        "positions": config["positions"],
        "layers": config["layers"],
        "d_model": config["hidden_size"],
        "bos": 0 if config["starts_with_bos"] else None,
        "eos": 0 if config["ends_with_eos"] else None,
        "propositional": propositional,
    }
    embedding = np.concatenate([table, rows[-2:][:sinks]])
    stored = tensors["embedding.weight"].dtype.name
    made = transformer_from(shape, symbols, outputs, tensors, embedding)
    return _native("huggingface", folder, made, stored)


def _native(kind: str, folder: Path, t: Transformer, stored: str) -> Export:
    digest = digest_of(read_bytes(folder / WEIGHTS, inside=folder, most=1 << 33))
    if (folder / RASP).exists():
        program = ValueModel.read(t, read_json(folder / RASP, inside=folder))
        return Export(kind, folder, digest, stated_in(folder), {}, program, None)
    if (folder / SOURCE).exists():
        stated, source = stated_in(folder), read_text(folder / SOURCE, inside=folder)
        made = exported_simulation(t, source, stated, stored, str(folder))
        return Export(kind, folder, digest, stated, {}, made, None, stored)
    formulas = formulas_of(folder, t.symbols, t.propositional)
    if tuple(formulas) != t.outputs:
        raise SofthatError(f"{folder}: formula.txt and the weights have different outputs")
    return Export(kind, folder, digest, stated_in(folder), formulas, Model(t, formulas), None)


def transformer_from(
    shape: dict[str, Any],
    symbols: tuple[str, ...],
    outputs: tuple[str, ...],
    tensors: Tensors,
    embedding: NDArray[Any],
) -> Transformer:
    """The weights of a module's state (`softhat.export.torch.state`). Names are not exported."""
    d_model = int(shape["d_model"])
    sinks = tuple(s for s, at in ((BOS, "bos"), (EOS, "eos")) if shape[at] is not None)
    wide = {name: np.asarray(array).astype(np.float64) for name, array in tensors.items()}
    if embedding.shape != (len(symbols) + len(sinks), d_model):
        raise SofthatError(f"the embedding has the shape {embedding.shape}")
    layers = []
    for number, entry in enumerate(shape["layers"]):
        at = f"layers.{number}."
        heads, d_k, d_v = len(entry["masks"]), int(entry["d_k"]), int(entry["d_v"])
        stored = tensors[at + "feed_forward.share"]
        share = np.asarray(entry["share"], np.int64)
        if not np.array_equal(stored, share):
            raise SofthatError("the hidden units' sums are not those of the configuration")
        output = wide[at + "attention.output.weight"].reshape(d_model, heads, d_v)
        into = wide[at + "feed_forward.into.weight"].reshape(-1, d_model)[share]
        layers.append(
            Layer(
                labels=("",) * heads,
                kinds=("",) * heads,
                masks=tuple(entry["masks"]),
                laws=tuple(map(law_of, entry["laws"])),
                query=_sparse(wide[at + "attention.query.weight"], heads, d_k, d_model),
                key=_sparse(wide[at + "attention.key.weight"], heads, d_k, d_model),
                value=_sparse(wide[at + "attention.value.weight"], heads, d_v, d_model),
                output=Sparse.from_dense(output.transpose(1, 0, 2)),
                into=Sparse.from_dense(into),
                into_bias=wide[at + "feed_forward.bias"].reshape(len(share)),
                out=_sparse(wide[at + "feed_forward.out.weight"], d_model, len(share)),
                out_bias=wide[at + "feed_forward.out.bias"].reshape(d_model),
            )
        )
    return Transformer(
        attention=shape["attention"],
        symbols=symbols,
        propositional=bool(shape["propositional"]),
        sinks=sinks,
        positions=tuple(feature_of(f, "the positions") for f in shape["positions"]),
        embedding=Sparse.from_dense(embedding),
        position_embedding=_sparse(wide["positions.weight"], d_model, len(shape["positions"])),
        layers=tuple(layers),
        outputs=outputs,
        readout=_sparse(wide["readout.weight"], len(outputs), d_model),
        readout_bias=wide["readout.bias"].reshape(len(outputs)),
        coordinates=(Coordinate(()),) * d_model,
    )


def _sparse(array: NDArray[np.float64], *shape: int) -> Sparse:
    return Sparse.from_dense(array.reshape(shape))


def names_every_output(folder: Path, config: dict[str, Any], outputs: tuple[str, ...]) -> bool:
    """Has every output a logit of its own? Then the configuration names them in order."""
    if config.get("problem_type") != "multi_label_classification":
        return False
    labels = config["id2label"]
    if tuple(labels[str(k)] for k in range(len(labels))) != outputs:
        raise SofthatError(f"{folder}: config.json and formula.txt name different outputs")
    return True


# What stock architectures share


def alphabet_of(folder: Path, stated: dict[str, Any]) -> tuple[tuple[str, ...], bool]:
    """Alphabet and mode as `certificate.json` states them, if the tokenizer has their tokens."""
    symbols = check_symbols(tuple(map(str, stated["alphabet"])))
    propositional = bool(stated["propositional"])
    vocab = read_json(folder / "tokenizer.json", inside=folder)["model"]["vocab"]
    tokens = {token: at for at, token in enumerate(vocabulary(symbols, propositional))}
    if vocab != tokens:
        raise SofthatError(f"{folder}: the tokenizer's tokens are not those of the alphabet")
    return symbols, propositional


def bos_of(
    folder: Path, config: dict[str, Any], symbols: tuple[str, ...], propositional: bool
) -> int:
    """The token that the tokenizer puts first, if the configuration says the same."""
    bos = vocabulary(symbols, propositional).index(BOS)
    if int(config["bos_token_id"]) != bos:
        raise SofthatError(f"{folder}/config.json: bos_token_id is not the tokenizer's, {bos}")
    return bos


def check_sizes(folder: Path, config: dict[str, Any], sizes: dict[str, int]) -> None:
    """The configuration runs as many blocks as the weights have."""
    for name, size in sizes.items():
        if int(config[name]) != size:
            raise SofthatError(f"{folder}/config.json: {name} is {config[name]}, not {size}")
