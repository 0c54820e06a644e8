"""Formulas as values: builders, equality, hashing, immutability, copies."""

import copy
import dataclasses
import pickle
import subprocess
import sys

import pytest
from hypothesis import given, settings

import softhat
from softhat import SofthatError, count, count_all, count_future, length, parse, position, symbol
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import And, Formula, Not, Symbol
from softhat.logic.syntax.walk import distinct, fold
from tests.logic.strategies import formulas

a, b = symbol("a"), symbol("b")


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (~a & b, "!a & b"),
        (a | b, "a | b"),
        (a ^ b, "a xor b"),
        (a >> b, "a -> b"),
        (a.implies(b), "a -> b"),
        (a.iff(b), "a <-> b"),
        (a.since(b), "a S b"),
        (a.until(b).yesterday(), "Y (a U b)"),
        (count(a) >= 2 * count(b), "#(a) >= 2*#(b)"),
        (count(a) * 2 < 3, "2*#(a) < 3"),
        (count_future(a) > count_all(b) + 1, "#>(a) > #*(b) + 1"),
        (position <= length - 1, "i <= n - 1"),
        (position() != length(), None),
        (1 + count(a) <= 5 - position, "1 + #(a) <= 5 - i"),
        ((-count(a)).equals(-3), "-1*#(a) = -3"),
        (count(a).differs(count(b)), "#(a) != #(b)"),
        (count(count(a) > 1) > 2, "#(#(a) > 1) > 2"),
        (count(a) > 3, "#(a) > 3"),
    ],
)
def test_builders(built: object, text: str | None) -> None:
    if text is None:  # != is structural inequality
        assert built is True
    else:
        assert isinstance(built, Formula)
        assert str(built) == text
        assert parse(text) == built


def test_equality_is_structural() -> None:
    assert parse("a & b") == (a & b)
    assert parse("a & b") != (b & a)
    assert (a & b) != "a & b"
    assert parse("#(a) > 1") != parse("#(a) > 2")
    assert Symbol("true") != nodes.TRUE
    assert len({parse("a S b"), a.since(b), a.until(b)}) == 2
    assert nodes.Integer(1) != nodes.Constant(True)


def test_mistakes_in_python() -> None:
    with pytest.raises(TypeError, match="truth value"):
        bool(a)
    with pytest.raises(TypeError, match="truth value"):
        1 < count(a) < 3  # noqa: B015
    with pytest.raises(TypeError, match="expected a formula"):
        a & "b"  # type: ignore[operator]
    with pytest.raises(TypeError, match="counting term"):
        count(a) > 1.5  # type: ignore[operator] # noqa: B015
    with pytest.raises(TypeError, match="integer"):
        count(a) * 2.5  # type: ignore[operator]
    with pytest.raises(TypeError, match="expected a formula"):
        count("a")  # type: ignore[arg-type]
    with pytest.raises(SofthatError, match="non-empty"):
        symbol("")
    with pytest.raises(SofthatError, match="non-empty"):
        Symbol("")
    with pytest.raises(SofthatError, match="m >= 1"):
        nodes.Mod(0, 0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        a.name = "b"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        (a & b).left = b  # type: ignore[misc]


@settings(max_examples=100)
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


def test_the_public_names() -> None:
    assert {"parse", "symbol", "count", "equivalent", "Formula"} <= set(dir(softhat))
    with pytest.raises(AttributeError):
        softhat.nothing  # noqa: B018
