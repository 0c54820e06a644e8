"""Nodes as values: structural equality, hashes, copies and pickles, however deep."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import fields

from hypothesis import given

from softhat import parse, symbol
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import And, Formula, Not, Symbol
from softhat.logic.syntax.walk import distinct, fold
from tests.logic.strategies import formulas
from tests.slices import examples

a, b = symbol("a"), symbol("b")


def test_equality_is_structural() -> None:
    assert parse("a & b") == (a & b)
    assert parse("a & b") != (b & a)
    assert (a & b) != "a & b"
    assert parse("#(a) > 1") != parse("#(a) > 2")
    assert Symbol("true") != nodes.TRUE
    assert len({parse("a S b"), a.since(b), a.until(b)}) == 2
    assert nodes.Integer(1) != nodes.Constant(True)


@examples(100)
@given(formulas())
def test_copies(formula: Formula) -> None:
    assert pickle.loads(pickle.dumps(formula)) == formula
    assert copy.deepcopy(formula) == formula
    assert copy.copy(formula) == formula


def test_pickles_travel_between_processes() -> None:
    """String hashes differ between processes, so a formula's hash must be made anew."""
    formula = parse("a S #(b) > 1")
    code = (
        "import pickle, sys; f = pickle.loads(sys.stdin.buffer.read());"
        "from softhat import parse; g = parse('a S #(b) > 1'); print(f == g, hash(f) == hash(g))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(formula), capture_output=True, check=True
    )
    assert done.stdout.split() == [b"True", b"True"]


def test_deep_and_shared_formulas() -> None:
    chain: Formula = a
    for _ in range(100_000):
        chain = Not(chain)
    other: Formula = Symbol("a")
    for _ in range(100_000):
        other = Not(other)
    assert chain == other
    assert chain != Not(other)
    assert hash(chain) == hash(other)
    assert pickle.loads(pickle.dumps(chain)) == chain
    shared: Formula = a
    twin: Formula = Symbol("a")
    for _ in range(1_000):
        shared, twin = And(shared, shared), And(twin, twin)
    assert shared == twin
    assert len(distinct(shared)[0]) == 1_001
    assert fold(shared, lambda node, below: 1 + max(below, default=0)) == 1_001
    assert pickle.loads(pickle.dumps(shared)) == shared
    assert shared.truth("ab").tolist() == [True, False]
    del chain, other, shared, twin


def test_children_and_payload_are_all_fields_and_children_are_the_nodes() -> None:
    a = nodes.symbol("a")
    some: list[nodes.Node] = [
        a, nodes.Not(a), nodes.Since(a, a), nodes.Mod(3, 1), nodes.OnceWithin(1, 2, a),
        nodes.SinceWithin(1, 2, a, a), nodes.count(a) >= 3, nodes.recall(a, (a, a), (a, a)),
        3 * nodes.position, nodes.count(a) + 1, nodes.count(a) - 1, nodes.predicate("prime"),
    ]  # fmt: skip
    for node in some:
        values = [getattr(node, field.name) for field in fields(node)]
        assert node.children == tuple(v for v in values if isinstance(v, nodes.Node))
        assert node.payload == tuple(v for v in values if not isinstance(v, nodes.Node))
