"""Which formulas a corpus takes: simplified, not constant, and no head of the model is inert.

That a formula is not constant, and that a head is not inert, is shown by words: one where it is
true and one where it is not; two words of one length, such that an answer on the first changes when
the head says what it says on the second.
"""

from __future__ import annotations

import hashlib

import numpy as np

from softhat.circuits.corpus.targets import Target, exported
from softhat.circuits.network import NativeNetwork, Network
from softhat.circuits.stock_network import StockNetwork
from softhat.circuits.witness import WitnessSearch
from softhat.io.files import read_json
from softhat.logic.optimise.settle import settled
from softhat.logic.optimise.simplify import simplify
from softhat.logic.semantics.batch import WordBatch, evaluate, unpack
from softhat.logic.semantics.gates import Gate, gate
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Node
from softhat.logic.syntax.walk import fold, rebuild
from softhat.runtime.answers import Answers

WORDS = 64
"""Pairs of words that are tried for each head, and, if none shows it, four times as many."""
SHORT = 16
"""The context of a model whose heads are only tried."""


def simplified(formula: Formula, symbols: tuple[str, ...]) -> Formula:
    """The formula without parts that words over these symbols do not need."""
    for _ in range(4):  # what became a constant may show the next
        once = settled(simplify(by_symbols(formula, symbols)), symbols, propositional=False)
        if once == formula:
            break
        formula = once
    return formula


def by_symbols(formula: Formula, symbols: tuple[str, ...]) -> Formula:
    """Boolean functions of the symbol alone as `a | b` or `!(c | d)`, whichever is shorter: a
    position has one symbol, so `a & b` is never true."""
    known: dict[Node, frozenset[str]] = {}
    everything = frozenset(symbols)

    def step(node: Node, below: tuple[Node, ...]) -> Node:
        sets = [known.get(part) for part in below]
        if any(part is None for part in sets):
            return rebuild(node, below)
        held = _holds(node, [part for part in sets if part is not None], everything)
        if held is None:
            return rebuild(node, below)
        written = _written(held, symbols)
        known[written] = held
        return written

    result = fold(formula, step)
    assert isinstance(result, Formula)
    return result


def _holds(
    node: Node, sets: list[frozenset[str]], everything: frozenset[str]
) -> frozenset[str] | None:
    """The symbols at which a function of the symbol holds; None for other nodes."""
    match node:
        case nodes.Symbol(name):
            return frozenset((name,))
        case nodes.Constant(value):
            return everything if value else frozenset()
        case _ if isinstance(node, Gate):
            return frozenset(gate(node, sets, everything))
    return None


def _written(chosen: frozenset[str], symbols: tuple[str, ...]) -> Formula:
    rest = [name for name in symbols if name not in chosen]
    own = [name for name in symbols if name in chosen]
    if not own or not rest:
        return nodes.FALSE if not own else nodes.TRUE
    names = rest if len(rest) < len(own) else own
    either = nodes.any_of(map(nodes.Symbol, names))
    return nodes.Not(either) if names is rest else either


def digest(formula: Formula, words: list[WordBatch]) -> str | None:
    """A digest of the truth at every position of every word; None if the truth is always the
    same."""
    hashed = hashlib.sha256()
    true = false = False
    for batch in words:
        values = unpack(evaluate(formula, batch), batch.count)
        true, false = true or bool(values.any()), false or not values.all()
        hashed.update(np.packbits(values).tobytes())
    return hashed.hexdigest() if true and false else None


def has_inert_head(model: Answers, to: Target) -> bool:
    """Is there a head of the exported model that changes no answer on the words that are tried,
    or no head at all?"""
    if to == "torch":
        heads = [
            f"a{at}.h{h}"
            for at, layer in enumerate(model.transformer.layers)
            for h in range(len(layer.masks))
        ]
        return not heads or _inert(NativeNetwork(model.transformer), heads)
    with exported(model, to, SHORT, proved=False) as folder:
        labels = read_json(folder / "labels.json")
        heads = [f"a{head['layer']}.h{head['head']}" for head in labels["heads"]]
        return not heads or _inert(StockNetwork(folder), heads)


def _inert(network: Network, heads: list[str]) -> bool:
    left = heads
    for words in (WORDS, 4 * WORDS):
        search = WitnessSearch(network, 0, words, wider=0)
        left = [head for head in left if search.node(head) is None]
        if not left:
            return False
    return True
