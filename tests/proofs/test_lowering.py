"""Compiled models pass the verified check of `proofs/Kernel.v`, and spoilt ones do not.

A model that passes has the theorem `Kernel.certified_right`: its softmax transformer decides its
formula, as written, at every position of every word, in the reals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import softhat
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.models import compiler
from softhat.models.model import Model
from softhat.models.zoo.catalogue import formula_of, zoo
from softhat.models.zoo.entry import Entry
from softhat.numbers.laws import Constant, Law, product
from softhat.program import build
from softhat.transformer.lowering import gates, heads
from softhat.transformer.lowering.heads import sign
from softhat.transformer.weights import Attention, Layer, P, Sparse, Transformer, sharpness_of
from tests.proofs.coq import certified, needs_coq
from tests.slices import every
from tests.transformer.lowering.suite import MIXED

TARGETS: tuple[Attention, ...] = ("unbounded", "temperature")
ALL_TARGETS: tuple[Attention, ...] = (*TARGETS, "hard")
EVERYTHING = (
    "(Y a | b S a) & (X b | a U b) & (Y Y a | X X X b | Y(a S b)) &"
    " 2*#(a) - #>(b) + #*(a) - i >= 1 | mod(3, 1)"
)
"""Every kind of head, a sum of conjunctions, a complement, coordinates used again."""
OPERATORS = (
    "true", "false", "first", "last", "mod(3, 2)", "!a", "a & b", "a | b", "a xor b", "a -> b",
    "a <-> b", "Y a", "Z a", "X a", "N a", "O a", "H a", "F a", "G a", "a S b", "a T b", "a U b",
    "a R b", "a W b", "a M b", "#(a) < 2", "#(a) <= i - 2", "#(a) = #>(b)", "#*(a) != n",
    "3*#(a) - 2*#(Y b) >= 4", "#(!a) > #(b) + 1", "at(prime) & a S at(middle)",
    "Y !(a S b)", "Y Y !Y a", "N Z a", "#(#(a) > 1) = 2*#>(X b) - 3", "2*#(a) = 1",
    "last[a | b = Y a]",
)  # fmt: skip


def _both(formula: str | Formula, **options: Any) -> list[Model]:
    return [softhat.compile(formula, attention=target, **options) for target in TARGETS]


def _all_certified(models: list[Model], folder: Path) -> None:
    for model, right in zip(models, certified(models, folder), strict=True):
        assert right, f"{model.formulas} ({model.transformer.attention})"


def test_every_operator_passes(tmp_path: Path) -> None:
    needs_coq()
    models = [model for text in OPERATORS for model in _both(text, alphabet="abc")]
    several = {"one": "a S b", "two": "Y a", "three": "#(a) > #(b)"}
    models += [softhat.compile(several, alphabet="ab")]
    models += [softhat.compile("p S (q & Y r)", propositions="pqr")]
    _all_certified(models, tmp_path)


def test_models_pass(tmp_path: Path) -> None:
    needs_coq()
    texts = [*MIXED, EVERYTHING]
    _all_certified([m for text in texts for m in _both(text, alphabet="abc")], tmp_path)


def _of_entry(entry: Entry, target: Attention) -> Model:
    formula = formula_of(entry)
    if entry.propositional:
        return softhat.compile(formula, propositions=entry.alphabet, attention=target)
    return softhat.compile(formula, alphabet=entry.alphabet, attention=target)


FORMULAS = [entry for entry in zoo().values() if entry.kind not in ("rasp", "ahat")]


def test_a_slice_of_the_zoo_passes(tmp_path: Path) -> None:
    needs_coq()
    _all_certified([_of_entry(entry, "unbounded") for entry in FORMULAS[::6]], tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("target", ALL_TARGETS)
def test_the_whole_zoo_passes(target: Attention, tmp_path: Path) -> None:
    needs_coq()
    _all_certified([_of_entry(entry, target) for entry in FORMULAS], tmp_path)


TENSORS = ("query", "key", "value", "output", "into", "into_bias", "out", "out_bias")


def spoilt_weights(
    weights: Transformer, rng: np.random.Generator
) -> Iterator[tuple[str, Transformer]]:
    """The model with one number of each tensor of each layer, and of the rest, changed."""
    layers = weights.layers

    def with_layer(number: int, layer: Layer) -> Transformer:
        return replace(weights, layers=(*layers[:number], layer, *layers[number + 1 :]))

    for number, layer in enumerate(layers):
        for name in TENSORS:
            tensor = getattr(layer, name)
            if np.any(_values(tensor)):
                changed: Layer = replace(layer, **{name: _changed(tensor, rng)})
                yield f"layer {number + 1}, {name}", with_layer(number, changed)
        masks = tuple("none" if mask != "none" else "<=" for mask in layer.masks)
        if masks:
            if weights.attention == "temperature":
                laws = tuple(map(_another_law, layer.laws))
                yield f"layer {number + 1}, laws", with_layer(number, replace(layer, laws=laws))
            yield f"layer {number + 1}, masks", with_layer(number, replace(layer, masks=masks))
    for name in ("embedding", "position_embedding", "readout", "readout_bias"):
        yield name, replace(weights, **{name: _changed(getattr(weights, name), rng)})
    added = weights.embedding.dense()
    added[-1, int(rng.integers(weights.d_model))] += 1
    yield "the row of a sink", replace(weights, embedding=Sparse.from_dense(added))
    yield "two symbols", replace(weights, symbols=weights.symbols[::-1])


def _another_law(law: Law) -> Law:
    """A constant where it grows with the length, and the reverse."""
    match law:
        case Constant(value):
            return product(Constant(value), P)
        case _:
            return Constant(Fraction(sharpness_of(law)))


def _values(tensor: Sparse | NDArray[np.float64]) -> NDArray[np.float64]:
    return tensor.values if isinstance(tensor, Sparse) else tensor


def _changed(tensor: Sparse | NDArray[np.float64], rng: np.random.Generator) -> Any:
    values = _values(tensor).copy()
    if values.any():
        values[rng.choice(np.flatnonzero(values))] *= 1 + 2.0**-20
    else:
        values[rng.integers(len(values))] = 2.0**-20
    return Sparse(tensor.shape, tensor.where, values) if isinstance(tensor, Sparse) else values


@pytest.mark.parametrize("target", every(3, ALL_TARGETS))
def test_a_changed_weight_fails(target: Attention, tmp_path: Path) -> None:
    needs_coq()
    model = softhat.compile(EVERYTHING, alphabet="ab", attention=target)
    spoilt = list(spoilt_weights(model.transformer, np.random.default_rng(0)))
    assert len(spoilt) > 20
    models = [Model(weights, model.formulas, model.program) for _, weights in spoilt]
    for (what, _), right in zip(spoilt, certified(models, tmp_path), strict=True):
        assert not right, what


@pytest.mark.parametrize(
    "module, name, value",
    every(
        2,
        [
            (heads, "SHARPNESS", 5.0),
            (heads, "SHARPNESS", 3.0),
            (gates, "LOW", 5 / 16),
            (gates, "HIGH", 1 / 2),
            (sign, "steepness", lambda gain, opposed: gain),
        ],
    ),
    ids=["C = 5", "C = 3", "clip from 5/16", "clip to 1/2", "D = C'"],
)
def test_a_changed_constant_fails(
    module: object,
    name: str,
    value: float | Callable[[float, float], float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needs_coq()
    monkeypatch.setattr(module, name, value)
    assert certified(_both(EVERYTHING, alphabet="ab"), tmp_path) == [False, False]


@pytest.mark.parametrize(
    "sabotage",
    every(3, [nodes.Not, nodes.Once, lambda f: nodes.FALSE, lambda f: f.children[1]]),
    ids=["negated", "once", "false", "one operand"],
)
def test_a_sabotaged_optimiser_fails(
    sabotage: Callable[[Formula], Formula], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim is the formula as written, not what the optimiser makes of it."""
    needs_coq()
    monkeypatch.setattr(build, "simplify", sabotage)
    monkeypatch.setattr(compiler, "is_provable", lambda *_: True)  # else built as written
    models = [softhat.compile(text, alphabet="abc") for text in ("!c S a", "a & Y b")]
    assert certified(models, tmp_path) == [False, False]


def test_the_model_of_another_formula_fails(tmp_path: Path) -> None:
    needs_coq()
    pairs = [("a S b", "b S a"), ("Y a", "X a"), ("#(a) > 1", "#(a) > 2"), ("a & b", "a | b")]
    models = []
    for mine, other in pairs:
        made = softhat.compile(mine, alphabet="abc")
        claimed = softhat.compile(other, alphabet="abc").formulas
        models.append(Model(made.transformer, claimed, made.program))
    assert certified(models, tmp_path) == [False] * len(pairs)
