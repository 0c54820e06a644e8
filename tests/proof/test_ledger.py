"""Every number is accounted for: one weight more, anywhere, voids a certificate or is harmless."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import softhat
from softhat.io.errors import VoidError
from softhat.models.model import Model
from softhat.numbers.laws import ONE
from softhat.proof.check import certify
from softhat.proof.ledger import SHARED, Ledger
from softhat.transformer.weights import Layer, Sparse
from tests.proof.mutations import matters
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


def test_every_row_is_entered_and_taken_once() -> None:
    t = compiled("gates", "unbounded").transformer
    ledger = Ledger(t)
    with pytest.raises(VoidError, match="accounted for by nothing"):
        ledger.close()
    for layer in (None, *range(len(t.layers))):
        names = SHARED if layer is None else Layer.TENSORS
        for name in names:
            tensor = getattr(t if layer is None else t.layers[layer], name)
            for row in range(max(tensor.shape)):
                ledger.take(layer, name, row)
    ledger.close()
    with pytest.raises(VoidError, match="row 1 of readout is accounted for twice"):
        ledger.take(None, "readout", 1)


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
