"""Position features as part of an ONNX graph: each is computed from the word's length and mask."""

from __future__ import annotations

import numpy as np

from softhat.export.onnx.graph import Graph
from softhat.io.errors import SofthatError
from softhat.numbers import positions
from softhat.numbers.predicates import (
    BuiltIn,
    ListedByLength,
    Periodic,
    Predicate,
    column,
    depends_on_length,
)
from softhat.numbers.predicates import longest as length_of
from softhat.transformer.weights import Transformer

PREDICATE_TABLE = 1 << 16
"""Positions to which an arithmetic set is stored as a table: no graph computes the primes."""


def longest_word(t: Transformer) -> int | None:
    """The longest words that the tables made here allow."""
    stored = [
        f.predicate
        for f in t.positions
        if isinstance(f, positions.Holds) and isinstance(f.predicate, BuiltIn)
    ]
    return None if all(map(depends_on_length, stored)) else PREDICATE_TABLE


def position_part(
    g: Graph, t: Transformer, ordinary: str, valid: str, length: str, scale: str
) -> str:
    """Position features (batch, rows, features) times the position embedding."""
    if not t.positions:
        return g.numbers(np.zeros((1, 1, t.d_model)))
    index = g.op("Sub", g.op("CumSum", valid, g.ints(1)), g.ints([int(t.has_bos)]))
    columns = []
    for feature in t.positions:
        column = _feature(g, feature, ordinary, index, length, t.has_bos)
        if isinstance(feature, positions.Named) and feature.scaled:
            column = g.op("Div", column, scale)
        columns.append(g.op("Unsqueeze", column, g.ints([2])))
    table = g.op("Concat", *columns, axis=2)
    return g.op("MatMul", table, g.numbers(t.position_embedding.dense().T))


def _feature(
    g: Graph, feature: positions.Feature, ordinary: str, index: str, length: str, bos: bool
) -> str:
    """One feature, (batch, rows), before it is divided by P."""
    own = g.op("Cast", ordinary, to=g.BOOL)
    one = g.op("Add", g.op("Mul", index, g.ints([0])), g.ints([1]))
    i = g.op("Mul", ordinary, index)
    match feature:
        case positions.Mod(modulus, remainder, sinks):
            rest = g.op("Mod", index, g.ints([min(modulus, 2**62)]))
            equal = g.op("Equal", rest, g.ints([min(remainder, 2**62)]))
            return g.float(equal if sinks else g.op("And", own, equal))
        case positions.DigitFeature(bit, position, length_factor, constant):
            number = g.op("Mul", index, g.ints([position]))
            number = g.op("Add", number, g.op("Mul", length, g.ints([length_factor])))
            number = g.op("Max", g.op("Add", number, g.ints([constant])), g.ints([0]))
            digit = g.op("Mod", g.op("Div", number, g.ints([1 << min(bit, 62)])), g.ints([2]))
            return g.float(g.op("Mul", ordinary, digit))
        case positions.Table(entries):
            values = g.numbers(np.array([positions.nearest_float(x) for x in entries] + [0.0]))
            held = g.op("Or", own, g.op("Equal", index, g.ints([0]))) if bos else own
            place = index if bos else g.op("Sub", index, g.ints([1]))
            return g.op("Gather", values, g.op("Where", held, place, g.ints([len(entries)])))
        case positions.Holds(predicate):
            return g.op("Mul", g.float(ordinary), _predicate(g, predicate, own, index, length))
        case positions.Named("1"):
            return g.float(one)
        case positions.Named("ordinary"):
            return g.float(ordinary)
        case positions.Named("i"):
            return g.float(i)
        case positions.Named("r"):
            distance = g.op("Sub", g.op("Add", length, g.ints([1])), index)
            return g.float(g.op("Mul", ordinary, distance))
        case positions.Named("n"):
            return g.float(g.op("Mul", one, length))
        case positions.Named("i/n"):
            return g.op("Div", g.float(i), g.float(length))
        case positions.Named(name) if name in positions.SHARES or name in positions.PLACES:
            share = g.float(i if name in positions.SHARES else index)
            for _ in range({**positions.SHARES, **positions.PLACES}[name]):
                share = g.op("Div", share, g.float(length))
            return share
        case positions.Named("1/i"):
            return g.op("Div", g.float(ordinary), g.float(g.op("Max", i, one)))
        case positions.Named("i^2"):
            return g.float(g.op("Mul", i, i))
        case positions.Named("(-1)^i"):
            odd = g.op("Mod", index, g.ints([2]))
            return g.float(g.op("Sub", g.ints([1]), g.op("Mul", odd, g.ints([2]))))
        case positions.Named("first"):
            return g.float(g.op("And", own, g.op("Equal", index, g.ints([1]))))
        case positions.Named("last"):
            return g.float(g.op("And", own, g.op("Equal", index, length)))
        case positions.Named(name):
            raise SofthatError(f"unknown position feature {name!r}")


def _predicate(g: Graph, predicate: Predicate, own: str, index: str, length: str) -> str:
    """A numerical predicate at the word's own positions, (batch, rows); elsewhere anything."""
    before = g.op("Sub", g.op("Where", own, index, g.ints([1])), g.ints([1]))  # 0 for i = 1
    match predicate:
        case BuiltIn("middle"):
            twice = g.op("Mul", index, g.ints([2]))
            late = g.op("Equal", twice, g.op("Add", length, g.ints([1])))
            return g.float(g.op("Or", g.op("Equal", twice, length), late))
        case Periodic(_, start, period):
            beyond = g.op("Mod", g.op("Sub", before, g.ints([len(start)])), g.ints([len(period)]))
            beyond = g.op("Add", beyond, g.ints([len(start)]))
            early = g.op("Less", before, g.ints([len(start)]))
            place = g.op("Where", early, before, beyond)
            held = np.array([bit == "1" for bit in start + period])
        case ListedByLength(_, longest, _):
            # The bits of length n begin after those of 1 … n-1.
            above = g.op("Mul", length, g.op("Sub", length, g.ints([1])))
            place = g.op("Add", g.op("Div", above, g.ints([2])), before)
            rows = [column(predicate, np.arange(1, n + 1), n) for n in range(1, longest + 1)]
            held = np.concatenate(rows)
        case _:
            place = before
            size = length_of(predicate) or PREDICATE_TABLE
            held = column(predicate, np.arange(1, size + 1), size)
    return g.op("Gather", g.numbers(held.astype(np.float64)), place)
