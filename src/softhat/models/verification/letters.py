"""Which symbols have to be told apart: one representative for each kind.

Two symbols are of one kind if the formulas cannot tell them apart (no letter predicate in them
does) and the model cannot either (their embedding rows are equal, so it computes the same on
both). Words over representatives then stand for all words, soundly: an embedding row that was
tampered with makes a kind of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.logic.fragments import symbols_of
from softhat.logic.semantics.gates import Gate, gate
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.walk import distinct
from softhat.models.model import Model

MOST_SETS = 16
"""Propositions of which all sets are listed; with more, only a few sets are."""


def letters(model: Model) -> tuple[NDArray[Any], bool]:
    """Representatives, as symbol codes (k,) or proposition bits (k, propositions), and whether
    they stand for all letters (with many propositions they are a choice)."""
    t = model.transformer
    formulas = [model.formulas[name] for name in t.outputs]
    embedding = t.embedding.dense()
    if t.propositional:
        return _sets(formulas, t.symbols, embedding)
    named = symbols_of(*formulas)
    rank = {name: k for k, name in enumerate(named)}
    predicates = letter_predicates(formulas, named)
    seen: dict[tuple[Any, ...], int] = {}
    for code, symbol in enumerate(t.symbols):
        bit = rank.get(symbol, len(named))
        role = tuple(mask >> bit & 1 for mask in predicates)
        seen.setdefault((role, embedding[code].tobytes()), code)
    return np.array(list(seen.values()), np.int64), True


def _sets(
    formulas: Sequence[Formula], propositions: Sequence[str], embedding: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], bool]:
    """A proposition that no formula names and that embeds to zero stays false."""
    named = set(symbols_of(*formulas))
    used = [k for k, name in enumerate(propositions) if name in named or embedding[k].any()]
    if len(used) <= MOST_SETS:
        chosen = np.array(list(product((False, True), repeat=len(used))), np.bool_)
    else:
        none, one = np.zeros((1, len(used)), np.bool_), np.eye(len(used), dtype=np.bool_)
        chosen = np.concatenate([none, ~none, one])
    table = np.zeros((len(chosen), len(propositions)), np.bool_)
    table[:, used] = chosen.reshape(len(chosen), len(used))
    return table, len(used) <= MOST_SETS


def letter_predicates(formulas: Sequence[Formula], named: Sequence[str]) -> list[int]:
    """The largest subformulas that speak of one letter only, as sets of symbols: bit k for
    `named[k]`, the bit after them for every other symbol."""
    rank = {name: k for k, name in enumerate(named)}
    everything = (1 << len(named) + 1) - 1
    rows, roots = distinct(*formulas)
    masks: list[int | None] = []
    for node, places in rows:
        masks.append(_mask(node, [masks[place] for place in places], rank, everything))
    tops = {place for k, (_, places) in enumerate(rows) if masks[k] is None for place in places}
    return sorted({mask for k in tops.union(roots) if (mask := masks[k]) is not None})


def _mask(
    node: nodes.Node, below: list[int | None], rank: dict[str, int], everything: int
) -> int | None:
    parts = [mask for mask in below if mask is not None]
    if len(parts) < len(below):
        return None
    match node:
        case nodes.Symbol(name):
            return 1 << rank[name]
        case nodes.Constant(value):
            return everything if value else 0
        case _ if isinstance(node, Gate):
            return int(gate(node, parts, everything))
    return None
