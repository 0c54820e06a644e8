"""A weight changed by hand changes the certificate or voids it, and nothing false is claimed."""

from dataclasses import replace
from itertools import product

import pytest

import softhat
from softhat.models.model import Model
from softhat.numbers.laws import ONE, Law, Length
from softhat.transformer.weights import Attention, Mask, P, law_of_sharpness
from tests.proof.mutations import Mutation, matters, mutations
from tests.slices import every

MODELS = {
    "Latest": "!b S a",
    "Previous": "Y a",
    "Earliest": "a U b",
    "Next": "X a",
    "StrictLatest": "Y (!b S a)",
    "StrictEarliest": "X (a U b)",
    "Shift": "Y Y a",
    "ShiftAhead": "X X X a",
    "Sign": "#(a) > #(b)",
    "mixed Sign": "#(a) + #>(b) > #*(a)",
    "gates": "Y a xor O b",
    "positions": "mod(3, 1) & !first & O a",
}


def claims(model: Model) -> tuple[object, ...]:
    """Everything a certificate says that depends on weights."""
    c = model.certificate
    return (c.max_length, c.void, c.heads, c.outputs)


def sample(model: Model, count: int) -> list[Mutation]:
    """Mutations spread over all tensors."""
    found = list(mutations(model))
    step = max(1, len(found) // count)
    return found[:: step if step % 3 else step + 1]


@pytest.mark.parametrize(
    ("name", "attention"), every(2, product(MODELS, ["unbounded", "temperature", "hard"]))
)
def test_single_weight_mutations(name: str, attention: str) -> None:
    model = softhat.compile(MODELS[name], alphabet="abc", attention=attention)
    chosen = sample(model, 25)
    assert len(chosen) >= 12
    original = claims(model)
    for mutation in chosen:
        mutant = mutation.apply(model)
        assert claims(mutant) != original, mutation
        if not mutant.certificate.void:
            assert not matters(mutant, "abc", 4), mutation


@pytest.mark.full
@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
@pytest.mark.parametrize("name", MODELS)
def test_every_single_weight_mutation(name: str, attention: str) -> None:
    model = softhat.compile(MODELS[name], alphabet="abc", attention=attention)
    original = claims(model)
    for mutation in mutations(model):
        mutant = mutation.apply(model)
        assert claims(mutant) != original, mutation
        if not mutant.certificate.void:
            assert not matters(mutant, "abc", 6), mutation


@pytest.mark.parametrize("formula", ["!b S a", "Y a", "#(a) > #(b)"])
@pytest.mark.parametrize("sharpness", [1.0, 2.0, 3.7, 16.0])
def test_another_sharpness_is_another_certificate(formula: str, sharpness: float) -> None:
    model = softhat.compile(formula, alphabet="abc", attention="temperature")
    law = law_of_sharpness(sharpness, "temperature")
    layers = tuple(
        replace(layer, laws=(law,) * len(layer.laws)) for layer in model.transformer.layers
    )
    changed = Model(replace(model.transformer, layers=layers), model.formulas)
    assert claims(changed) != claims(model)
    certificate = changed.certificate
    if not certificate.void:
        ratio = sharpness / 4
        before = min(head.min_gap for head in model.certificate.heads)
        assert min(head.min_gap for head in certificate.heads) == pytest.approx(ratio * before)
        assert not matters(changed, "abc", 5)
    if sharpness == 3.7:
        assert certificate.max_length["float32"] > 10_000


@pytest.mark.parametrize(
    ("attention", "law"), [("temperature", ONE), ("temperature", Length()), ("unbounded", P)]
)
def test_another_law_of_temperature_voids_it(attention: Attention, law: Law) -> None:
    model = softhat.compile("!b S a", alphabet="abc", attention=attention)
    layers = tuple(replace(layer, laws=(law,)) for layer in model.transformer.layers)
    changed = Model(replace(model.transformer, layers=layers), model.formulas)
    assert "inverse temperature" in changed.certificate.void[0]


@pytest.mark.parametrize("mask", ["<", ">", ">=", "none"])
@pytest.mark.parametrize("formula", ["!b S a", "Y a", "Y Y Y a", "#(a) >= 2", "Y (a S b)"])
def test_another_mask_voids_it(formula: str, mask: Mask) -> None:
    model = softhat.compile(formula, alphabet="abc")
    layers = tuple(
        replace(layer, masks=tuple(mask for _ in layer.masks)) for layer in model.transformer.layers
    )
    if layers[0].masks == model.transformer.layers[0].masks:
        return
    changed = Model(replace(model.transformer, layers=layers), model.formulas)
    assert changed.certificate.void


def test_weights_that_are_not_numbers_void_it() -> None:
    model = softhat.compile("!b S a", alphabet="abc")
    mutation = next(m for m in mutations(model) if m.tensor == "query")
    broken = replace(mutation, value=float("nan")).apply(model)
    assert broken.certificate.void == ("a weight is not a finite number",)


def test_reasons_name_the_place() -> None:
    model = softhat.compile("!b S a", alphabet="abc")
    for mutation in mutations(model):
        if mutation.value == 0 and mutation.tensor in ("query", "output"):
            (reason, *_) = mutation.apply(model).certificate.void
            assert (
                "layer 0, head 0" in reason or "does not compute" in reason or "read-out" in reason
            )
