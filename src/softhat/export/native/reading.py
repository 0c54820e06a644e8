"""Exports of softhat's own architecture read back: PyTorch and Hugging Face folders.

The transformer is made from the tensors; then the configuration and the tensors that follow from
it must be those of the folder (`closed`). So every entry of every tensor was read, and rows that
no word uses, tables of positions that stand in two places, and the rows of tokens for padding are
what they have to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from softhat.ahat.simulation.simulation import VALUE, Simulation
from softhat.export.certificates import digest_of
from softhat.export.closed import AGAIN, check_files, check_sources, check_tensors, choice
from softhat.export.native.token_classifier import (
    MOST_TOKENS,
    SOURCES,
    huggingface_config,
    huggingface_state,
)
from softhat.export.reading import (
    RASP,
    WEIGHTS,
    Export,
    alphabet_of,
    check_named,
    check_symbols,
    formulas_of,
    stated_in,
)
from softhat.export.simulations import SOURCE, exported_simulation
from softhat.export.tokenizer import tokenizer_documents, vocabulary
from softhat.export.torch import sources, state, torch_config
from softhat.io.errors import SofthatError
from softhat.io.files import parse_json, read_bytes, read_tensors, read_text
from softhat.logic.syntax.nodes import Formula
from softhat.models.folders import PREDICATES, formulas_in, predicates_in
from softhat.models.loop_model import LANGUAGE, LoopModel
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from softhat.numbers.laws.stored import from_json as law_of
from softhat.numbers.stored import from_json as feature_of
from softhat.numerics.formats import FORMATS
from softhat.transformer import weights

Tensors = dict[str, NDArray[Any]]


def read_torch(folder: Path, config: dict[str, Any]) -> Export:
    """The export in a folder that `SofthatTransformer.load` opens."""
    tensors = read_tensors(folder / WEIGHTS, inside=folder)
    symbols = check_symbols(tuple(map(str, config["alphabet"])))
    transformer = transformer_from(
        config["architecture"],
        symbols,
        tuple(map(str, config["outputs"])),
        tensors,
        tensors["embedding.weight"],
    )
    export = _native("torch", folder, transformer, tensors["embedding.weight"].dtype.name)
    expected = torch_config(transformer)
    _same_sums(expected["architecture"]["layers"], config["architecture"]["layers"])
    program = sources("module_softhat.py")
    check_files(folder, {"config.json": expected}, (*_beside(export), *program))
    check_sources(folder, program)
    _check_state(folder, tensors, dict(state(transformer)), "")
    return export


def read_huggingface(folder: Path, config: dict[str, Any]) -> Export:
    """The export in a folder that the Auto classes open."""
    stated = stated_in(folder)
    symbols, propositional = alphabet_of(folder, stated)
    stored = read_tensors(folder / WEIGHTS, inside=folder)
    tensors = {name.removeprefix("softhat.body."): array for name, array in stored.items()}
    classifier, bias = tensors.pop("classifier.weight"), tensors.pop("classifier.bias")
    if (folder / RASP).exists() or (folder / LANGUAGE).exists():
        outputs = tuple(str(config["id2label"][str(k)]) for k in range(len(bias)))
    elif (folder / SOURCE).exists():
        outputs = (VALUE,)
    else:
        outputs = tuple(formulas_of(folder, symbols, propositional))
    several = config.get("problem_type") == "multi_label_classification"
    if several:
        check_named(folder, config, outputs)
    at = slice(None) if several else slice(1, None)  # `true` is the second of two
    tensors["readout.weight"], tensors["readout.bias"] = classifier[at], bias[at]
    starts, ends = bool(config["starts_with_bos"]), bool(config["ends_with_eos"])
    shape = {
        "attention": config["attention"],
        "positions": config["positions"],
        "layers": config["layers"],
        "d_model": config["hidden_size"],
        "bos": 0 if starts else None,
        "eos": 0 if ends else None,
        "propositional": propositional,
    }
    rows = tensors["embedding.weight"]
    own = [1 << k for k in range(len(symbols))] if propositional else range(len(symbols))
    sinks = [len(rows) - 2] * starts + [len(rows) - 1] * ends
    transformer = transformer_from(shape, symbols, outputs, tensors, rows[[*own, *sinks]])
    export = _native("huggingface", folder, transformer, rows.dtype.name)
    expected = huggingface_config(transformer, several, rows.dtype.name)
    _same_sums(expected["layers"], config["layers"])
    tokens = vocabulary(symbols, propositional)
    documents = {
        "config.json": expected,
        **tokenizer_documents(tokens, MOST_TOKENS, transformer.has_bos, transformer.has_eos),
    }
    program = sources(*SOURCES)
    check_files(folder, documents, (*_beside(export), *program))
    check_sources(folder, program)
    wanted = huggingface_state(transformer, None if several else outputs[0])
    _check_state(folder, stored, wanted, "softhat.body.")
    return export


def _native(kind: str, folder: Path, t: weights.Transformer, stored: str) -> Export:
    def text(name: str) -> str | None:
        path = folder / name
        return read_text(path, inside=folder) if path.exists() else None

    digest = digest_of(read_bytes(folder / WEIGHTS, inside=folder, most=1 << 33))
    return native_export(kind, folder, digest, stated_in(folder), t, stored, text)


def native_export(
    kind: str,
    path: Path,
    digest: str,
    stated: dict[str, Any],
    t: weights.Transformer,
    stored: str,
    text: Callable[[str], str | None],
) -> Export:
    """The export whose weights these are. What they are claimed to compute is a `text` beside them,
    by the name of its file: a RASP program, a regular language, an AHAT or formulas."""
    formulas: dict[str, Formula] = {}
    held: Model | ValueModel | Simulation
    if (program := text(RASP)) is not None:
        held = ValueModel.read(t, parse_json(program, f"{path}: {RASP}"))
    elif (language := text(LANGUAGE)) is not None:
        held = LoopModel.read_rounds(t, parse_json(language, f"{path}: {LANGUAGE}"))
    elif (source := text(SOURCE)) is not None:
        held = exported_simulation(t, source, stated, stored, str(path))
    else:
        listed, lines = text(PREDICATES), text("formula.txt")
        if lines is None:
            raise SofthatError(f"{path} does not say what it computes: {AGAIN}")
        document = [] if listed is None else parse_json(listed, f"{path}: {PREDICATES}")
        formulas = formulas_in(lines, t.symbols, t.propositional, predicates_in(document))
        if tuple(formulas) != t.outputs:
            raise SofthatError(f"{path}: formula.txt and the weights have different outputs")
        held = Model(t, formulas)
    return Export(kind, path, digest, stated, formulas, held, None, stored)


def _beside(export: Export) -> tuple[str, ...]:
    """The other files of a folder: the weights, and what they are claimed to compute."""
    assert export.model is not None
    return (WEIGHTS, "certificate.json", *export.model.meaning())


def _same_sums(expected: Any, stored: Any) -> None:
    """Take from the file which hidden units share a sum: by rounding, units may have become equal
    that were not. The tensors must agree (`transformer_from`)."""
    for ours, theirs in zip(expected, stored, strict=True):
        ours["share"] = theirs["share"]


def _check_state(folder: Path, stored: Tensors, expected: Tensors, prefix: str) -> None:
    """The tensors are those that follow from the transformer that was read from them, all in one
    number format."""
    number = stored[f"{prefix}embedding.weight"].dtype
    if number.name not in FORMATS:
        raise SofthatError(f"{folder}/{WEIGHTS}: the tensors are {number}, no format of softhat's")
    shapes = {name: array.shape for name, array in expected.items()}
    spread = {}  # a row for each hidden unit, however many share one
    for name in [name for name in shapes if name.endswith("feed_forward.into.weight")]:
        share = stored[name.replace("into.weight", "share")]
        _, width = stored[name].shape
        shapes[name] = (int(share.max(initial=-1)) + 1, width)
        ours = expected[name.replace("into.weight", "share")]
        spread[name] = (share, ours)
    check_tensors(folder / WEIGHTS, stored, shapes)
    for name, array in expected.items():
        if name.endswith("feed_forward.share"):
            same = stored[name].dtype == np.int64  # compared with the configuration before
        else:
            have, wanted = stored[name], array
            if name in spread:
                theirs, ours = spread[name]
                have, wanted = have[theirs], wanted[ours]
            with np.errstate(over="ignore"):
                wanted = wanted.astype(number).astype(np.float64)
            same = stored[name].dtype == number
            same = same and np.array_equal(
                have.astype(np.float64), wanted, equal_nan=name.endswith("positions.tables")
            )
        if not same:
            raise SofthatError(
                f"{folder}/{WEIGHTS}: {name} has entries that are read by nobody, or are not "
                f"those of the configuration: {AGAIN}"
            )


def transformer_from(
    shape: dict[str, Any],
    symbols: tuple[str, ...],
    outputs: tuple[str, ...],
    tensors: Mapping[str, NDArray[Any]],
    embedding: NDArray[Any],
) -> weights.Transformer:
    """The weights of a module's state (`softhat.export.torch.state`). Names are not exported."""
    d_model = int(shape["d_model"])
    choice("the configuration", shape, "attention", get_args(weights.Attention))
    if any(
        mask not in get_args(weights.Mask) for entry in shape["layers"] for mask in entry["masks"]
    ):
        raise SofthatError("the configuration has a mask that is not known")
    sinks = tuple(
        s for s, at in ((weights.BOS, "bos"), (weights.EOS, "eos")) if shape[at] is not None
    )
    wide = {name: np.asarray(array).astype(np.float64) for name, array in tensors.items()}
    if embedding.shape != (len(symbols) + len(sinks), d_model):
        raise SofthatError(f"the embedding has the shape {embedding.shape}")
    layers = []
    for number, entry in enumerate(shape["layers"]):
        at = f"layers.{number}."
        heads, d_k, d_v = len(entry["masks"]), int(entry["d_k"]), int(entry["d_v"])
        stored = tensors[at + "feed_forward.share"]
        share = np.asarray(entry["share"], np.int64)
        if not np.array_equal(stored, share) or set(share.tolist()) != set(range(1 + _top(share))):
            raise SofthatError("the hidden units' sums are not those of the configuration")
        output = wide[at + "attention.output.weight"].reshape(d_model, heads, d_v)
        into = wide[at + "feed_forward.into.weight"].reshape(-1, d_model)[share]
        layers.append(
            weights.Layer(
                labels=("",) * heads,
                kinds=("",) * heads,
                masks=tuple(entry["masks"]),
                laws=tuple(map(law_of, entry["laws"])),
                query=_sparse(wide[at + "attention.query.weight"], heads, d_k, d_model),
                key=_sparse(wide[at + "attention.key.weight"], heads, d_k, d_model),
                value=_sparse(wide[at + "attention.value.weight"], heads, d_v, d_model),
                output=weights.Sparse.from_dense(output.transpose(1, 0, 2)),
                into=weights.Sparse.from_dense(into),
                into_bias=wide[at + "feed_forward.bias"].reshape(len(share)),
                out=_sparse(wide[at + "feed_forward.out.weight"], d_model, len(share)),
                out_bias=wide[at + "feed_forward.out.bias"].reshape(d_model),
            )
        )
    return weights.Transformer(
        attention=shape["attention"],
        symbols=symbols,
        propositional=bool(shape["propositional"]),
        sinks=sinks,
        positions=tuple(feature_of(f, "the positions") for f in shape["positions"]),
        embedding=weights.Sparse.from_dense(embedding),
        position_embedding=_sparse(wide["positions.weight"], d_model, len(shape["positions"])),
        layers=tuple(layers),
        outputs=outputs,
        readout=_sparse(wide["readout.weight"], len(outputs), d_model),
        readout_bias=wide["readout.bias"].reshape(len(outputs)),
        coordinates=(weights.Coordinate(()),) * d_model,
    )


def _top(share: NDArray[np.int64]) -> int:
    return int(share.max(initial=-1))


def _sparse(array: NDArray[np.float64], *shape: int) -> weights.Sparse:
    return weights.Sparse.from_dense(array.reshape(shape))
