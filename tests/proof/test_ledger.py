"""Every number is accounted for: one weight more, anywhere, voids a certificate or is harmless."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.io.errors import VoidError
from softhat.models.model import Model
from softhat.numbers.laws import ONE
from softhat.proof.check import certify
from softhat.proof.ledger import Ledger
from softhat.transformer.weights import Layer, Sparse, Transformer
from tests.proof.mutations import SHARED, matters
from tests.proof.planting import every_place, with_unit

MODELS = {
    "Latest": "O (a & Y b)",
    "Previous": "Y a",
    "Next": "X (a U b)",
    "Shift": "Y Y a",
    "Sign": "#(a) > #(b)",
    "total": "last | #*(Y a) = 1",
    "gates": "Y ((Y a | O b) & (Y b | O a))",
    "positions": "mod(3, 1) & !first & O a",
}
VALUES = (1.0, -1.0, 0.5, -8.0, 2.0)


def compiled(name: str, attention: str) -> Model:
    return softhat.compile(MODELS[name], alphabet="ab", attention=attention)


def by_place(array: np.ndarray) -> Any:
    """What is not 0, as a ledger has it: a bias by place, a matrix by row and place."""
    if array.ndim == 1:
        return {at: w for at, w in enumerate(array.tolist()) if w}
    return {at: by_place(row) for at, row in enumerate(array) if row.any()}


def blocks_of(t: Transformer) -> Iterator[tuple[tuple[str, int, int], np.ndarray]]:
    """(tensor, layer, head) of all that can be taken, and what it is."""
    tensors = [(name, getattr(t, name), -1) for name in SHARED]
    for k, layer in enumerate(t.layers):
        tensors += [(name, getattr(layer, name), k) for name in Layer.TENSORS]
    for name, tensor, k in tensors:
        array = tensor.dense() if isinstance(tensor, Sparse) else tensor
        if array.ndim < 3:
            yield (name, k, -1), array
        else:
            yield from (((name, k, head), block) for head, block in enumerate(array))


@pytest.mark.parametrize("name", MODELS)
def test_every_weight_is_taken_once(name: str) -> None:
    t = compiled(name, "unbounded").transformer
    ledger = Ledger(t)
    for entry, array in blocks_of(t):
        assert ledger.take(*entry) == by_place(array)
    ledger.close()
    for entry, _ in blocks_of(t):
        with pytest.raises(VoidError, match="is accounted for twice"):
            ledger.take(*entry)
    with pytest.raises(VoidError, match="layer 0, head 0: query is accounted for twice"):
        _ = ledger.layers[0].heads[0].query


@pytest.mark.parametrize("name", MODELS)
def test_what_is_left_is_named(name: str) -> None:
    t = compiled(name, "unbounded").transformer
    for left, array in blocks_of(t):
        ledger = Ledger(t)
        for entry, _ in blocks_of(t):
            if entry != left:
                ledger.take(*entry)
        if array.any():
            with pytest.raises(VoidError, match=f"{left[0]} is accounted for by nothing"):
                ledger.close()
        else:
            ledger.close()


@pytest.mark.parametrize("at", [-1, 99])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_number_outside_its_tensor(axis: int, at: int) -> None:
    model = compiled("gates", "unbounded")
    t = model.transformer
    k = next(k for k, layer in enumerate(t.layers) if len(layer.into_bias))
    for name in ("into", "out"):
        old = getattr(t.layers[k], name)
        more = [np.append(a, at if n == axis else 0) for n, a in enumerate(old.where)]
        moved = Sparse(old.shape, tuple(more), np.append(old.values, 1.0))
        layers = (*t.layers[:k], replace(t.layers[k], **{name: moved}), *t.layers[k + 1 :])
        changed = certify(replace(t, layers=layers), model.formulas)
        assert f"layer {k}: {name} has a number outside" in changed.void[0]


def test_two_outputs_of_one_name() -> None:
    """Who asks for it gets the first, which says the opposite."""
    model = compiled("Previous", "unbounded")
    t = model.transformer
    readout = Sparse.from_dense(np.concatenate([-t.readout.dense(), t.readout.dense()]))
    bias = np.concatenate([-t.readout_bias, t.readout_bias])
    twice = replace(t, outputs=t.outputs * 2, readout=readout, readout_bias=bias)
    assert "two have the same name" in certify(twice, model.formulas).void[0]


def test_two_symbols_of_one_name() -> None:
    model = compiled("Previous", "unbounded")
    t = model.transformer
    table = t.embedding.dense()
    rows = Sparse.from_dense(np.concatenate([table[1:2], table]))
    assert (
        "two have the same name"
        in certify(replace(t, symbols=("a", *t.symbols), embedding=rows), model.formulas).void[0]
    )


def test_a_place_that_is_written_twice() -> None:
    model = compiled("Latest", "unbounded")
    t = model.transformer
    where = tuple(np.append(axis, axis[:1]) for axis in t.embedding.where)
    values = np.append(t.embedding.values, t.embedding.values[:1])
    doubled = replace(t, embedding=Sparse(t.embedding.shape, where, values))
    assert "twice" in certify(doubled, model.formulas).void[0]


def test_heads_that_not_all_tensors_have() -> None:
    model = compiled("Latest", "unbounded")
    layer, *others = model.transformer.layers
    more = replace(layer, masks=(*layer.masks, "<="), laws=(*layer.laws, ONE))
    changed = replace(model.transformer, layers=(more, *others))
    assert "numbers of heads" in certify(changed, model.formulas).void[0]
    more = replace(more, labels=(*layer.labels, "one more"))
    changed = replace(changed, layers=(more, *others))
    assert "query is (1, 3, 6) and not (2, 3, 6)" in certify(changed, model.formulas).void[0]


def planted(name: str, attention: str, count: int | None, longest: int) -> int:
    """One weight more at many places (all of them without a `count`): how many were certified."""
    model = compiled(name, attention)
    chosen = list(every_place(model.transformer, VALUES))
    if count is not None:
        rng = np.random.default_rng(len(name))
        picked = rng.choice(len(chosen), min(count, len(chosen)), replace=False)
        chosen = [chosen[k] for k in picked]
    certified = 0
    for mutation in chosen:
        changed = mutation.apply(model)
        if not changed.certificate.void:
            certified += 1
            assert not matters(changed, "ab", longest), mutation
    return certified


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("name", MODELS)
def test_one_weight_more(name: str, attention: str) -> None:
    planted(name, attention, 60, 4)


@pytest.mark.full
@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
@pytest.mark.parametrize("name", MODELS)
def test_one_weight_more_at_every_place(name: str, attention: str) -> None:
    planted(name, attention, None, 6)


def units(name: str, attention: str, count: int, longest: int) -> None:
    """One hidden unit more, of the forms that gates have."""
    model = compiled(name, attention)
    t = model.transformer
    rng = np.random.default_rng(count)
    layers = [k for k, layer in enumerate(t.layers) if layer.into_bias.size]
    for _ in range(count if layers else 0):
        read = rng.choice(t.d_model, rng.integers(1, 3), replace=False)
        into = {int(at): float(rng.choice([1, -1])) for at in read}
        out = {int(rng.integers(t.d_model)): float(rng.choice([1, -1, 8, -8, 0.5]))}
        bias = float(rng.choice([0, 1, 2, -1 / 4, -3 / 8, 1 / 2, -1]))
        changed = Model(with_unit(t, int(rng.choice(layers)), into, bias, out), model.formulas)
        if not changed.certificate.void:
            assert not matters(changed, "ab", longest), (into, bias, out)


@pytest.mark.parametrize("name", ["gates", "total"])
def test_one_unit_more(name: str) -> None:
    units(name, "unbounded", 60, 4)


@pytest.mark.full
@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("name", MODELS)
def test_many_units_more(name: str, attention: str) -> None:
    units(name, attention, 600, 5)
