"""Models are small, their size does not depend on the input, and depth is what it must be."""

from __future__ import annotations

from pathlib import Path

import pytest

from softhat.logic.syntax.nodes import symbol
from softhat.logic.syntax.parse import parse
from softhat.models.compiler import compile
from tests.transformer.lowering.suite import nested

DYCK = "H(#('(') >= #(')')) & #('(') = #(')')"


@pytest.mark.parametrize(
    ("formula", "layers", "parameters"),
    [
        ("Y a & b", 1, 100),  # the bigram; Tracr: 2.4 million parameters at length 512
        (DYCK, 3, 400),  # Dyck-1; Tracr: 5.9 million at length 32
        ("a & !b", 0, 100),  # a function of the symbol needs no layer
        ("a & first", 0, 100),  # and an And fits the read-out
        ("a S b", 1, 100),
        ("#(a) >= #(b)", 2, 300),
        ("i >= 4", 1, 200),  # positions need no average
        ("(Y a & b) | (Y b & a)", 1, 500),  # a disjoint sum of conjunctions is one gate
        ("Y a xor O b", 1, 300),
        ("Y Y Y Y a", 1, 400),  # a chain is one Shift
        ("Y (a S b)", 1, 100),  # and Y over S one StrictLatest
        ("Y " * 40 + "a", 3, 4000),
        ("F(2*#(a) = #*(a))", 3, 700),  # PARITY
        ("true", 0, 10),
    ],
)
def test_reference_sizes(formula: str, layers: int, parameters: int) -> None:
    for attention in ("hard", "unbounded", "temperature"):
        alphabet = "()" if "(" in formula and "a" not in formula else "ab"
        size = compile(parse(formula), alphabet=alphabet, attention=attention).size
        assert size.layers == layers
        assert size.parameters <= parameters * (1.4 if attention == "temperature" else 1)


@pytest.mark.parametrize("kinds", ["S", "Y", "X", "SX"])
def test_one_layer_a_temporal_operator(kinds: str) -> None:
    sizes = [compile(nested(depth, kinds), alphabet="abc").size for depth in (10, 11, 12)]
    assert [size.layers for size in sizes] == [10, 11, 12]
    assert len({size.d_model for size in sizes}) <= 2  # dead coordinates are used again


def test_equal_scores_share_a_head() -> None:
    size = compile(parse("Y a & Y(a | b) & Y(mod(2, 0)) & O a & !O a S b"), alphabet="abc").size
    assert size.heads == 3  # one Previous with three values, one Latest a score


def test_shared_subformulas_are_computed_once() -> None:
    f = parse("a S b")
    assert compile({"one": f, "two": ~f, "three": f | symbol("c")}, alphabet="abc").size.heads == 1


def test_parameters_counts_stored_entries(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    model = compile(parse(DYCK))
    model.save(tmp_path / "model")
    stored = load_file(tmp_path / "model" / "model.safetensors")
    assert model.size.parameters == sum(array.size for array in stored.values())


def test_a_formula_with_ten_thousand_subformulas() -> None:
    from functools import reduce

    import numpy as np

    from softhat.logic.random import random_formula
    from softhat.logic.syntax.nodes import Or
    from softhat.logic.syntax.walk import distinct

    rng = np.random.default_rng(1)
    names = [f"s{k}" for k in range(40)]
    parts = [random_formula(rng, 12, names, "all") for _ in range(1500)]
    formula = reduce(Or, parts)
    assert len(distinct(formula)[0]) >= 10_000
    model = compile(formula, alphabet=names)
    assert model.size.layers < 40
    word = rng.integers(0, 40, (1, 6))
    want = formula.truth([names[c] for c in word[0]])
    assert ((model.run_batch(word, "float32")[0, :, 0] > 0) == want).all()
