"""Gates: a sum is a conjunction exactly if every assignment says so."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softhat
from softhat.io.errors import VoidError
from softhat.models.model import Model
from softhat.numbers.positions import Named
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.cells import Bit, Cell, Feature, Groups, Number, Raw, Zero
from softhat.proof.check import certify
from softhat.proof.gates import conjunction, read_out, stored
from softhat.transformer.weights import Layer, Sparse
from tests.proof.planting import coordinates_of, with_feature_twice, with_unit

ATOMS = 4


def setting() -> tuple[Atoms, list[Cell]]:
    """`1`, `ordinary`, two bits and two head outputs, all of them free."""
    atoms = Atoms(Space("a", False))
    free = [atoms.space.atom(("free", k), k) for k in range(ATOMS)]
    raws: list[Cell] = [Raw(free[2], 0), Raw(free[3], 1)]
    return atoms, [Feature("1", 0), Feature("ordinary", 0), Bit(free[0]), Bit(free[1]), *raws]


signs = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=ATOMS, max_size=ATOMS)


@given(signs, st.integers(-3, 3), st.integers(-3, 3), st.integers(-8, 8))
def test_the_largest_sum_is_reached_by_one_assignment(
    weights: list[float], one: int, ordinary: int, bias: int
) -> None:
    atoms, cells = setting()
    form = {at: w for at, w in enumerate([float(one), float(ordinary), *weights]) if w}
    total, function, sink = conjunction(form, bias / 8, cells, atoms)
    wanted = atoms.space.every(
        atoms.space.atom(("free", k), k)
        if w > 0
        else atoms.space.negation(atoms.space.atom(("free", k), k))
        for k, w in enumerate(weights)
        if w
    )
    assert function == wanted
    for held in product((0, 1), repeat=ATOMS):
        found = one + ordinary + bias / 8 + sum(w * x for w, x in zip(weights, held, strict=True))
        all_hold = all(x == (w > 0) for w, x in zip(weights, held, strict=True) if w)
        assert found == total.top if all_hold else found <= total.top - 1
        partial = [one, ordinary, bias / 8, *(w * x for w, x in zip(weights, held, strict=True))]
        assert sum(x for x in partial if x > 0) <= total.size
        assert -sum(x for x in partial if x < 0) <= total.size
    # At the sinks bits are 0 and `ordinary` is, head outputs are anything in [0, 1].
    raws = weights[2:]
    assert sink == one + bias / 8 + sum(max(w, 0.0) for w in raws)


@given(signs.filter(any), st.booleans())
def test_a_read_out_is_a_conjunction_or_the_negation_of_one(
    weights: list[float], complement: bool
) -> None:
    atoms, cells = setting()
    sign = -1.0 if complement else 1.0
    form = {2 + k: sign * w for k, w in enumerate(weights) if w}
    bias = sign * (0.5 - sum(w > 0 for w in weights))
    _, function = read_out(form, bias, cells, atoms)
    for held in product((0, 1), repeat=ATOMS):
        margin = bias + sum(sign * w * x for w, x in zip(weights, held, strict=True))
        literals = [
            atoms.space.atom(("free", k), k)
            if x
            else atoms.space.negation(atoms.space.atom(("free", k), k))
            for k, x in enumerate(held)
        ]
        here = atoms.space.every(literals)
        assert (atoms.space.both(here, function) == here) == (margin > 0)


def test_thresholds_on_an_integer_are_refused() -> None:
    atoms, cells = setting()
    for bias in (0.0, -1.0, 1.5):
        with pytest.raises(VoidError, match="not the threshold of a conjunction"):
            read_out({2: 1.0, 3: 1.0}, bias, cells, atoms)
    with pytest.raises(VoidError, match="it reads bit coordinate 2"):
        read_out({2: 0.5}, -0.25, cells, atoms)


def no_numbers(units: Groups, cells: list[Cell]) -> Cell:
    raise AssertionError("no unit reads a number")


def clip(at: int) -> Groups:
    """A bit or a head output: 0 up to 1/4, 1 from 3/4 on."""
    return {frozenset({(at, 1.0)}): [(-0.25, 2.0), (-0.75, -2.0)]}


def test_what_units_store() -> None:
    atoms, cells = setting()
    space, free = atoms.space, [atoms.space.atom(("free", k), k) for k in range(ATOMS)]
    cells = [*cells, Zero()]
    cell, clips = stored(6, clip(2), 0.0, cells, atoms, no_numbers)
    assert cell == Bit(free[0]) and len(clips) == 1
    apart = {frozenset({(2, 1.0), (3, -1.0)}): clip(2)[frozenset({(2, 1.0)})]} | {
        frozenset({(2, -1.0), (3, 1.0)}): clip(2)[frozenset({(2, 1.0)})]
    }
    cell, clips = stored(6, apart, 0.0, cells, atoms, no_numbers)
    assert cell == Bit(space.differ(free[0], free[1])) and len(clips) == 2
    with pytest.raises(VoidError, match="two clips that can both be 1"):
        stored(6, clip(2) | clip(3), 0.0, cells, atoms, no_numbers)
    with pytest.raises(VoidError, match="before it is cleared"):
        stored(3, clip(2), 0.0, cells, atoms, no_numbers)
    for at in (3, 4):
        cleared = {frozenset({(at, 1.0)}): [(0.0, -1.0)]}
        assert stored(at, dict(cleared), 0.0, cells, atoms, no_numbers) == (Zero(), [])
        if at == 3:
            cell, _ = stored(at, cleared | clip(2), 0.0, cells, atoms, no_numbers)
            assert cell == Bit(free[0])
        else:
            with pytest.raises(VoidError, match="over a head's output"):
                stored(at, cleared | clip(2), 0.0, cells, atoms, no_numbers)


def test_steps_of_numbers_stand_alone() -> None:
    atoms, cells = setting()
    cells = [*cells, Number(), Zero()]
    steps: Groups = {frozenset({(6, -1.0)}): [(0.5, 1.0)]}
    decoded = Raw(atoms.space.true, 0)
    assert stored(7, dict(steps), 0.0, cells, atoms, lambda *_: decoded) == (decoded, [])
    at_sinks: Groups = {frozenset({(1, -1.0)}): [(1.0, -1.0)]}
    for bias, others in ((1.0, {}), (0.0, at_sinks)):
        with pytest.raises(VoidError, match="and something else"):
            stored(7, steps | others, bias, cells, atoms, lambda *_: decoded)


def gate_of(model: Model) -> tuple[int, Layer]:
    layers = enumerate(model.transformer.layers)
    return next((k, layer) for k, layer in layers if len(layer.into_bias))


@pytest.mark.parametrize(
    ("place", "factor", "reason"),
    [
        ("into_bias", 0.5, "clip"),
        ("out", 2.0, "not cleared by one unit"),
        ("into", 0.5, "coordinate"),
        ("out_bias", 2.0, "neither a sum of clips"),
    ],
)
def test_a_gate_that_is_none_voids_the_certificate(place: str, factor: float, reason: str) -> None:
    model = softhat.compile("Y (Y a | Y b & c)", alphabet="abc")
    assert not model.certificate.void
    number, layer = gate_of(model)
    old = getattr(layer, place)
    if isinstance(old, Sparse):
        new: object = Sparse(old.shape, old.where, old.values * factor)
    else:
        new = old * factor
        if place == "out_bias" and not old.any():
            new = np.ones_like(old)
    layers = list(model.transformer.layers)
    layers[number] = replace(layer, **{place: new})
    found = certify(replace(model.transformer, layers=tuple(layers)), model.formulas)
    assert any(reason in why for why in found.void), found.void


@pytest.mark.parametrize("bias", [2.0, 1.0, 0.5])
@pytest.mark.parametrize("weight", [-1.0, 1.0, -0.25])
def test_a_planted_unit_of_ordinary_is_not_passed_over(bias: float, weight: float) -> None:
    """ReLU(2 - ordinary) on a stored bit is 1 on every position of the word."""
    model = softhat.compile("O (a S (b & Y a)) & !Y b", alphabet="ab")
    t = model.transformer
    (ordinary,) = coordinates_of(t, "ordinary")
    for layer, at in sorted({(k, c) for k, l in enumerate(t.layers) for c in l.out.where[0]}):
        changed = with_unit(t, layer, {ordinary: -1.0}, bias, {int(at): weight})
        assert certify(changed, model.formulas).void, (layer, at)


def test_the_one_at_the_sinks_is_taken_off_once() -> None:
    """Two coordinates of `ordinary`, each with a unit that takes 1 off: -1 at the sinks."""
    model = softhat.compile("Y ((Y a | O b) & (Y b | O a))", alphabet="ab")
    assert not model.certificate.void
    t, second = with_feature_twice(model.transformer, Named("ordinary"))
    layer = next(k for k, x in enumerate(t.layers) if x.out_bias.any())
    targets = {int(c): -1.0 for c in np.flatnonzero(t.layers[layer].out_bias)}
    changed = with_unit(t, layer, {second: -1.0}, 1.0, targets)
    assert certify(changed, model.formulas).void
