"""What coordinates hold before the first layer, and forms that are literals of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import softhat
from softhat.io.errors import VoidError
from softhat.numbers.positions import Mod, Named
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.cells import Bit, Cell, Feature, Zero, literal
from softhat.proof.derivation import Derivation
from softhat.proof.lengths import Proof
from softhat.transformer.weights import Sparse, Transformer


def read(t: Transformer) -> list[Cell]:
    return Derivation(t, Atoms(Space(t.symbols, t.propositional)), Proof()).embedding()


def test_features_and_symbols_are_what_the_embedding_says() -> None:
    t = softhat.compile("(mod(3, 1) & (a | b) & Y first) S c", alphabet="abc").transformer
    atoms = Atoms(Space(t.symbols, False))
    space = atoms.space
    cells = Derivation(t, atoms, Proof()).embedding()
    table = t.embedding.dense()
    places = {int(c): t.positions[f] for c, f in zip(*t.position_embedding.where, strict=True)}
    assert len(cells) == t.d_model
    for at, cell in enumerate(cells):
        held = [s for s, row in zip(t.symbols, table, strict=False) if row[at]]
        match places.get(at):
            case None:
                mask = sum(1 << t.symbols.index(s) for s in held)
                assert cell == (Bit(space.symbols(mask)) if held else Zero())
            case Mod(3, 1, False):
                assert cell == Bit(atoms.residue(3, 1, 0))
            case Named("first"):
                assert cell == Bit(atoms.edge["past"])
            case Named(name, scaled):
                assert cell == Feature(name, -int(scaled))


def changed(t: Transformer, row: int, column: int, value: float) -> Transformer:
    table = t.embedding.dense()
    table[row, column] = value
    return replace(t, embedding=Sparse.from_dense(table))


def test_other_embeddings_are_refused() -> None:
    t = softhat.compile("Y a", alphabet="ab").transformer
    cells = read(t)
    bit = next(at for at, cell in enumerate(cells) if isinstance(cell, Bit))
    feature = next(at for at, cell in enumerate(cells) if isinstance(cell, Feature))
    with pytest.raises(VoidError, match="weight other than 0 and 1"):
        read(changed(t, 0, bit, 2.0))
    with pytest.raises(VoidError, match="not 0 at the sink <bos>"):
        read(changed(t, len(t.symbols), bit, 1.0))
    with pytest.raises(VoidError, match="mixes a position feature and symbols"):
        read(changed(t, 0, feature, 1.0))
    twice = t.position_embedding.dense()
    twice[feature] *= 2
    with pytest.raises(VoidError, match="not one position feature with weight 1"):
        read(replace(t, position_embedding=Sparse.from_dense(twice)))
    sides = softhat.compile("p & q", propositions="pq").transformer
    cells = read(sides)
    bit = next(at for at, cell in enumerate(cells) if isinstance(cell, Bit))
    other = 1 - int(np.flatnonzero(sides.embedding.dense()[:, bit])[0])
    with pytest.raises(VoidError, match="adds several propositions"):
        read(changed(sides, other, bit, 1.0))


def test_a_literal_is_a_bit_or_its_negation() -> None:
    atoms = Atoms(Space("ab", False))
    space = atoms.space
    a = space.symbol("a")
    cells: list[Cell] = [Feature("ordinary", 0), Bit(a), Zero(), Feature("i", 0)]
    assert literal(cells, {1: 1.0}, atoms) == a
    assert literal(cells, {1: -1.0, 0: 1.0}, atoms) == space.negation(a)
    assert literal(cells, {0: 1.0}, atoms) == space.true
    assert literal(cells, {}, atoms) == literal(cells, {2: 1.0}, atoms) == space.false
    for form in ({1: 2.0}, {1: -1.0}, {1: 1.0, 0: 1.0}, {3: 1.0}, {1: 1.0, 2: 1.0}, {0: 2.0}):
        assert literal(cells, form, atoms) is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", ["query", "into_bias", "out", "readout_bias"])
def test_every_weight_is_a_number(place: str, value: float) -> None:
    t = softhat.compile("(Y a | b) S (Y b)", alphabet="ab").transformer
    assert t.is_finite
    if place == "readout_bias":
        assert not replace(t, readout_bias=np.full_like(t.readout_bias, value)).is_finite
        return
    number = next(k for k, layer in enumerate(t.layers) if len(layer.into_bias))
    layer = t.layers[number]
    old = getattr(layer, place)
    if isinstance(old, Sparse):
        values = np.array([value, *old.values[1:]])
        new: object = Sparse(old.shape, old.where, values)
    else:
        new = np.array([value, *old[1:]])
    layers = (*t.layers[:number], replace(layer, **{place: new}), *t.layers[number + 1 :])
    assert not replace(t, layers=layers).is_finite
