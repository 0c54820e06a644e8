"""The folder of a stock checkpoint read back: what exports of all architectures share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.errors import SofthatError
from softhat.export.certificates import digest_of
from softhat.export.reading import (
    WEIGHTS,
    alphabet_of,
    bos_of,
    formulas_of,
    names_every_output,
    stated_in,
)
from softhat.export.stock_folder import DIRECTIONS
from softhat.export.stock_heads import HeadName, token_sets
from softhat.files import read_bytes, read_tensors
from softhat.logic.sources import Weights, log_weights
from softhat.logic.syntax.nodes import Formula
from softhat.transformer.directions import Directions, directions_from
from softhat.transformer.weights import EOS


@dataclass(frozen=True)
class StockFolder:
    """What stands in the folder, whatever its architecture."""

    stated: dict[str, Any]
    formulas: dict[str, Formula]
    symbols: tuple[str, ...]
    propositional: bool
    tokens: tuple[frozenset[str], ...]
    bos: int
    head: HeadName
    tensors: Mapping[str, NDArray[Any]]
    weights: Weights | None
    """The log-weights that a language model states: a claim, which the proof checks."""
    digest: str


def read_stock(
    folder: Path, config: dict[str, Any], granted: Mapping[str, Any], lm: str, classifier: str
) -> StockFolder:
    """`granted` is what the proof takes for granted of the configuration, `lm` and `classifier`
    name the classes that may run the folder."""
    stated = stated_in(folder)
    symbols, propositional = alphabet_of(folder, stated)
    for name, wanted in granted.items():
        if config.get(name, wanted) != wanted:
            raise SofthatError(f"{folder}/config.json: {name} is {config[name]!r}, not {wanted!r}")
    (architecture,) = config["architectures"]
    if architecture not in (lm, classifier):
        raise SofthatError(f"{folder}: {architecture} is no model that softhat exports")
    is_lm = architecture == lm
    if is_lm and config.get("tie_word_embeddings", True):
        raise SofthatError(f"{folder}: the lm head is tied to the embedding")
    formulas = formulas_of(folder, symbols, propositional)
    several = names_every_output(folder, config, tuple(formulas))
    tensors = read_tensors(folder / WEIGHTS, inside=folder)
    if any(array.dtype != np.float32 for array in tensors.values()):
        raise SofthatError(f"{folder}: the tensors are not float32")
    weights = None
    if is_lm and "weights" in stated:
        weights = log_weights(stated["weights"], (*symbols, EOS), (*formulas, EOS))
    return StockFolder(
        stated=stated,
        formulas=formulas,
        symbols=symbols,
        propositional=propositional,
        tokens=token_sets(symbols, propositional),
        bos=bos_of(folder, config, symbols, propositional),
        head="lm" if is_lm else "multi-label" if several else "token-classification",
        tensors=tensors,
        weights=weights,
        digest=digest_of(read_bytes(folder / WEIGHTS, inside=folder, most=1 << 33)),
    )


def read_directions(folder: Path, d_model: int, n_head: int, d_head: int) -> Directions | None:
    """The directions of a disguised checkpoint; None if it is not disguised."""
    path = folder / DIRECTIONS
    if not path.exists():
        return None
    return directions_from(read_tensors(path, inside=folder), d_model, n_head, d_head)
