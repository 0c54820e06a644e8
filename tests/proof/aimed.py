"""Models tampered with to deceive the checker: equal in the reals, or nearly, wrong in floats.

Every mutation keeps what a model computes in exact arithmetic, or looks as if it did: pairs of
weights that cancel, on coordinates that hold the same, in rows that hold the same, or against a
bias; factors moved between two matrices; everything in another order; the wrong names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.models.model import Model
from softhat.numbers.laws import Constant, Law
from softhat.numbers.positions import text
from softhat.transformer.weights import (
    Attention,
    Coordinate,
    Layer,
    Sparse,
    Transformer,
    law_of_sharpness,
)

Array = NDArray[np.float64]
Rng = np.random.Generator
POWERS = (1, 4, 8, 12, 20, 24, 26, 30, 50, 53, 60, 100, 126, 500)

FORMULAS = (
    "!b S a",
    "Y a",
    "a U b",
    "X a",
    "Y (!b S a)",
    "X (a U b)",
    "Y Y a",
    "X X X a & Y a",
    "#(a) > #(b)",
    "#(a) >= 3",
    "#>(a) > 2*#>(b)",
    "#(a) + #>(b) > #*(a)",
    "2*#(a) - n >= i - 5",
    "Y a xor O b",
    "mod(3, 1) & !first & O a",
    "(O a & Y b & !(c S a)) | X X b",
    "#(a & Y b) > 1 & (b S Y a)",
    "last | #*(Y a) = 1",
    "a | b & !first",
)


def _law(sharpness: float, layer: Layer, attention: Attention) -> Law:
    """Of a head by its C; by the layer's constant where a head has one temperature for all n."""
    if not isnan(sharpness):
        return law_of_sharpness(sharpness, attention)
    return next(law for law in layer.laws if isinstance(law, Constant))


class Open:
    """A transformer with dense arrays that may be changed."""

    def __init__(self, t: Transformer) -> None:
        self.t = t
        self.embedding = t.embedding.dense()
        self.positions = t.position_embedding.dense()
        self.readout = t.readout.dense()
        self.readout_bias = t.readout_bias.copy()
        self.coordinates = list(t.coordinates)
        self.layers: list[dict[str, Any]] = []
        for layer in t.layers:
            found = {name: getattr(layer, name) for name in Layer.TENSORS}
            self.layers.append(
                {k: v.dense() if isinstance(v, Sparse) else v.copy() for k, v in found.items()}
                | {
                    "labels": list(layer.labels),
                    "kinds": list(layer.kinds),
                    "masks": list(layer.masks),
                    "sharpness": list(layer.sharpness),
                }
            )

    def close(self) -> Transformer:
        layers = []
        for old, new in zip(self.t.layers, self.layers, strict=True):
            tensors: dict[str, Any] = {
                name: Sparse.from_dense(new[name])
                if isinstance(getattr(old, name), Sparse)
                else new[name]
                for name in Layer.TENSORS
            }
            names: dict[str, Any] = {k: tuple(new[k]) for k in ("labels", "kinds", "masks")}
            names["laws"] = tuple(_law(c, old, self.t.attention) for c in new["sharpness"])
            layers.append(replace(old, **tensors, **names))
        return replace(
            self.t,
            embedding=Sparse.from_dense(self.embedding),
            position_embedding=Sparse.from_dense(self.positions),
            readout=Sparse.from_dense(self.readout),
            readout_bias=self.readout_bias,
            coordinates=tuple(self.coordinates),
            layers=tuple(layers),
        )

    @property
    def d_model(self) -> int:
        return self.embedding.shape[1]

    def copy_of(self, c: int) -> int:
        """A new coordinate with the embedding of coordinate c."""
        self.embedding = np.concatenate([self.embedding, self.embedding[:, c : c + 1]], axis=1)
        self.positions = np.concatenate([self.positions, self.positions[c : c + 1]])
        self.readout = np.pad(self.readout, ((0, 0), (0, 1)))
        self.coordinates.append(Coordinate(self.coordinates[c].holds[:1]))
        for layer in self.layers:
            for name in ("query", "key", "value"):
                layer[name] = np.pad(layer[name], ((0, 0), (0, 0), (0, 1)))
            layer["output"] = np.pad(layer["output"], ((0, 0), (0, 1), (0, 0)))
            layer["into"] = np.pad(layer["into"], ((0, 0), (0, 1)))
            layer["out"] = np.pad(layer["out"], ((0, 1), (0, 0)))
            layer["out_bias"] = np.pad(layer["out_bias"], (0, 1))
        return self.d_model - 1

    def embedded(self) -> list[int]:
        """The coordinates that the embedding writes and no layer changes."""
        found = self.embedding.any(axis=0) | self.positions.any(axis=1)
        for layer in self.layers:
            found &= ~layer["out"].any(axis=1) & ~layer["output"].any(axis=(0, 2))
            found &= layer["out_bias"] == 0
        return [int(c) for c in np.flatnonzero(found)]

    def at(self, name: str) -> int | None:
        """The coordinate of a position feature."""
        names = [text(feature) for feature in self.t.positions]
        if name not in names:
            return None
        found = np.flatnonzero(self.positions[:, names.index(name)])
        return int(found[0]) if len(found) else None

    def rows(self) -> list[Array]:
        """Views of all rows that read the residual stream."""
        found = list(self.readout)
        for layer in self.layers:
            for name in ("query", "key", "value"):
                found += [row for head in layer[name] for row in head if row.any()]
            found += list(layer["into"])
        return found


def _pick(rng: Rng, things: list[Any]) -> Any:
    return things[int(rng.integers(len(things)))] if things else None


def _power(rng: Rng) -> float:
    return float(2.0 ** int(rng.choice(POWERS)) * rng.choice((1.0, 1.0, 3.0, 1 + 2.0**-20)))


def cancelling_coordinates(m: Open, rng: Rng) -> None:
    """+w and -w on two coordinates that hold the same, in some row."""
    c = _pick(rng, m.embedded())
    if c is None:
        return
    twin = m.copy_of(c)
    rows = m.rows()
    chosen, w = _pick(rng, rows).copy(), _power(rng)
    for row in rows:
        if np.array_equal(row, chosen):  # the two units of a clip alike
            row[c] += w
            row[twin] -= w


def cancelling_read(m: Open, rng: Rng) -> None:
    """+w and -w on a coordinate that the row reads and its twin."""
    rows = [(row, c) for row in m.rows() for c in m.embedded() if row[c]]
    if not rows:
        return
    _, c = _pick(rng, rows)
    twin = m.copy_of(c)
    w = _power(rng)
    for row in m.rows():
        if row[c]:
            row[c] += w
            row[twin] -= w


def shared_weight(m: Open, rng: Rng) -> None:
    """A weight spread over two coordinates that hold the same."""
    c = _pick(rng, m.embedded())
    if c is None:
        return
    twin = m.copy_of(c)
    share = float(rng.choice((0.5, 0.25, 2.0, 0.1)))
    for row in m.rows():
        row[twin] = row[c] * (1 - share)
        row[c] *= share


def cancelling_rows(m: Open, rng: Rng) -> None:
    """Two more rows of scores, of opposite sign."""
    layer = _pick(rng, [layer for layer in m.layers if len(layer["masks"])])
    if layer is None:
        return
    heads, d_k, d_model = layer["query"].shape
    h, w = int(rng.integers(heads)), _power(rng)
    places = m.embedded() if rng.random() < 0.7 else list(range(d_model))
    a, b = _pick(rng, places), _pick(rng, places)
    for name in ("query", "key"):
        layer[name] = np.pad(layer[name], ((0, 0), (0, 2), (0, 0)))
    layer["query"][h, d_k, a], layer["query"][h, d_k + 1, a] = w, -w
    layer["key"][h, d_k : d_k + 2, b] = 1.0
    if rng.random() < 0.5:  # the last row first
        for name in ("query", "key"):
            layer[name] = layer[name][:, ::-1].copy()


def split_row(m: Open, rng: Rng) -> None:
    """A row of scores as the difference of a large one and the rest of that."""
    layer = _pick(rng, [layer for layer in m.layers if layer["query"].any()])
    if layer is None:
        return
    h, r, _ = _pick(rng, [tuple(x) for x in np.argwhere(layer["query"])])
    d_k = layer["query"].shape[1]
    factor = _power(rng)
    for name in ("query", "key"):
        layer[name] = np.pad(layer[name], ((0, 0), (0, 1), (0, 0)))
    layer["key"][h, d_k] = layer["key"][h, r]
    layer["query"][h, d_k] = -factor * layer["query"][h, r]
    layer["query"][h, r] *= factor + 1


def against_the_bias(m: Open, rng: Rng) -> None:
    """+w on `1`, or `ordinary`, and -w in the bias of a hidden unit or of the read-out."""
    c, w = m.at(str(rng.choice(("1", "ordinary")))), _power(rng)
    if c is None:
        return
    layers = [layer for layer in m.layers if layer["into_bias"].size]
    if layers and rng.random() < 0.8:
        layer = _pick(rng, layers)
        chosen = rng.random(len(layer["into_bias"])) < rng.choice((0.2, 1.0))
        layer["into"][chosen, c] += w
        layer["into_bias"][chosen] -= w
    else:
        m.readout[:, c] += w
        m.readout_bias -= w


def scaled_gates(m: Open, rng: Rng) -> None:
    """Incoming weights and biases times 2^k, outgoing ones times 2^-k."""
    layer = _pick(rng, [layer for layer in m.layers if layer["into_bias"].size])
    if layer is None:
        return
    factor = float(2.0 ** int(rng.choice((-40, -30, -8, -1, 1, 3, 8, 30, 40))))
    units = rng.random(len(layer["into_bias"])) < rng.choice((0.3, 1.0))
    layer["into"][units] *= factor
    layer["into_bias"][units] *= factor
    layer["out"][:, units] /= factor


def wide_gates(m: Open, rng: Rng) -> None:
    """Only the incoming or only the outgoing weights."""
    layer = _pick(rng, [layer for layer in m.layers if layer["into_bias"].size])
    if layer is None:
        return
    factor = float(rng.choice((0.5, 2.0, 2.0**30)))
    layer[str(rng.choice(("into", "into_bias", "out", "out_bias")))] *= factor


def scaled_read_out(m: Open, rng: Rng) -> None:
    factor = float(2.0 ** int(rng.choice((-126, -60, -24, -8, 8, 24, 60, 126))))
    m.readout *= factor
    m.readout_bias *= factor


def moved_factors(m: Open, rng: Rng) -> None:
    """2^k between queries and keys, values and outputs, or weights and temperature."""
    layer = _pick(rng, [layer for layer in m.layers if len(layer["masks"])])
    if layer is None:
        return
    h = int(rng.integers(len(layer["masks"])))
    factor = float(2.0 ** int(rng.choice((-200, -100, -80, -30, -12, 12, 30, 80, 100, 200))))
    match int(rng.integers(4)):
        case 0:
            layer["query"][h] *= factor
            layer["key"][h] /= factor
        case 1:
            layer["value"][h] *= factor
            layer["output"][h] /= factor
        case 2:
            layer["query"][h] *= factor
            layer["sharpness"][h] /= factor
        case _:
            layer["query"][h] *= factor
            layer["key"][h] *= factor
            layer["sharpness"][h] /= factor * factor


def moved_means(m: Open, rng: Rng) -> None:
    """Values that are averaged times 2^k, whoever reads the means times 2^-k."""
    for number, layer in enumerate(m.layers):
        for h in range(len(layer["masks"])):
            if layer["query"][h].any():
                continue
            factor = float(2.0 ** int(rng.choice((-120, -60, -24, -10, 10, 24, 60, 120))))
            layer["value"][h] *= factor
            for c in np.flatnonzero(layer["output"][h].any(axis=1)):
                for later in m.layers[number + 1 :]:
                    later["query"][:, :, c] /= factor


def nudged(m: Open, rng: Rng) -> None:
    """Some weight off by a little, or by much."""
    rows = [row for row in m.rows() if row.any()]
    row = _pick(rng, rows)
    if row is None:
        return
    c = int(rng.choice(np.flatnonzero(row)))
    row[c] *= float(rng.choice((1 + 2.0**-22, 1 - 2.0**-12, 1.5, 2.0**10, -1.0, 2.0**-140)))


def other_names(m: Open, rng: Rng) -> None:
    """Labels, kinds and names of coordinates exchanged."""
    for layer in m.layers:
        for names in ("labels", "kinds"):
            rng.shuffle(layer[names])
    rng.shuffle(m.coordinates)


def other_order(m: Open, rng: Rng) -> None:
    """Coordinates, heads, rows of scores and hidden units permuted."""
    order = rng.permutation(m.d_model)
    m.embedding, m.positions = m.embedding[:, order], m.positions[order]
    m.readout, m.coordinates = m.readout[:, order], [m.coordinates[c] for c in order]
    for layer in m.layers:
        for name in ("query", "key", "value"):
            layer[name] = layer[name][:, :, order]
        layer["output"] = layer["output"][:, order]
        layer["into"], layer["out"] = layer["into"][:, order], layer["out"][order]
        layer["out_bias"] = layer["out_bias"][order]
        units = rng.permutation(len(layer["into_bias"]))
        layer["into"], layer["into_bias"] = layer["into"][units], layer["into_bias"][units]
        layer["out"] = layer["out"][:, units]
        rows = rng.permutation(layer["query"].shape[1])
        layer["query"], layer["key"] = layer["query"][:, rows], layer["key"][:, rows]
        heads = rng.permutation(len(layer["masks"]))
        for name in ("query", "key", "value", "output"):
            layer[name] = layer[name][heads]
        for name in ("labels", "kinds", "masks", "sharpness"):
            layer[name] = [layer[name][h] for h in heads]


Mutate = Callable[[Open, Rng], None]
MUTATIONS: tuple[Mutate, ...] = (
    cancelling_coordinates,
    cancelling_coordinates,
    cancelling_read,
    cancelling_read,
    shared_weight,
    cancelling_rows,
    cancelling_rows,
    split_row,
    against_the_bias,
    against_the_bias,
    scaled_gates,
    wide_gates,
    scaled_read_out,
    moved_factors,
    moved_factors,
    moved_means,
    nudged,
    other_names,
)


def tampered(
    model: Model, rng: Rng, mutations: tuple[Mutate, ...] = MUTATIONS
) -> tuple[str, Model]:
    """A model after one to three mutations, often in another order, and their names."""
    names, changed = tampered_weights(model.transformer, rng, mutations)
    return names, Model(changed, model.formulas)


def tampered_weights(
    t: Transformer, rng: Rng, mutations: tuple[Mutate, ...]
) -> tuple[str, Transformer]:
    opened = Open(t)
    chosen = [mutations[int(rng.integers(len(mutations)))] for _ in range(rng.integers(1, 4))]
    if rng.random() < 0.5:
        chosen.append(other_order)
    with np.errstate(all="ignore"):
        for mutation in chosen:
            mutation(opened, rng)
    return ", ".join(mutation.__name__ for mutation in chosen), opened.close()


def originals(attentions: tuple[str, ...]) -> Iterator[Model]:
    from softhat import compile as compiled

    for attention in attentions:
        for formula in FORMULAS:
            yield compiled(formula, alphabet="abc", attention=attention)
