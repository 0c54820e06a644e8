"""Mutations with the ledger in mind: something more, something less, something elsewhere.

`aimed` keeps what a model computes in the reals. Here it may change: a hidden unit more, a head
twice, two heads that cancel, a layer again, symbols that change places, other position features,
thresholds on the edge. What is still certified must then be right all the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from softhat.numbers.positions import Mod, Named
from softhat.transformer.weights import Layer, Transformer
from tests.proof.aimed import MUTATIONS, Mutate, Open, Rng, tampered_weights
from tests.proof.aimed_selections import lost_row, other_mask, other_sharpness, repeated_row

BIASES = (0.0, 1.0, 2.0, -1.0, -0.25, -0.375, 0.5, -0.5, 2.0**-10, -31 / 32)
FACTORS = (1.0, -1.0, 8.0, -8.0, 0.5, 2.0, 2.0**-12)


def _some_layer(m: Open, rng: Rng) -> dict[str, Any]:
    return m.layers[int(rng.integers(len(m.layers)))]


def _copied_unit(layer: dict[str, Any], u: int) -> int:
    layer["into"] = np.concatenate([layer["into"], layer["into"][u : u + 1]])
    layer["into_bias"] = np.append(layer["into_bias"], layer["into_bias"][u])
    layer["out"] = np.concatenate([layer["out"], layer["out"][:, u : u + 1]], axis=1)
    return len(layer["into_bias"]) - 1


def unit_more(m: Open, rng: Rng) -> None:
    """One hidden unit more that reads one or two coordinates and writes one."""
    layer = _some_layer(m, rng)
    row, column = np.zeros((1, m.d_model)), np.zeros((m.d_model, 1))
    for c in rng.choice(m.d_model, int(rng.integers(1, 3)), replace=False):
        row[0, c] = rng.choice((1.0, -1.0, 2.0))
    column[int(rng.integers(m.d_model)), 0] = rng.choice(FACTORS)
    layer["into"] = np.concatenate([layer["into"], row])
    layer["into_bias"] = np.append(layer["into_bias"], rng.choice(BIASES))
    layer["out"] = np.concatenate([layer["out"], column], axis=1)


def unit_twice(m: Open, rng: Rng) -> None:
    """A unit again: as it is, with half of the weight each, or one against the other."""
    layer = _some_layer(m, rng)
    if not len(layer["into_bias"]):
        return
    u = int(rng.integers(len(layer["into_bias"])))
    twin = _copied_unit(layer, u)
    share = float(rng.choice((1.0, 0.5, -1.0, 2.0**-24, 1 / 3)))
    layer["out"][:, u] *= 1 - share
    layer["out"][:, twin] *= share


def units_that_cancel(m: Open, rng: Rng) -> None:
    """Two units more, which add the same and take it away, in the reals."""
    layer = _some_layer(m, rng)
    if not len(layer["into_bias"]):
        return
    u = int(rng.integers(len(layer["into_bias"])))
    one, other = _copied_unit(layer, u), _copied_unit(layer, u)
    at, weight = int(rng.integers(m.d_model)), float(2.0 ** int(rng.choice((0, 12, 24, 40, 100))))
    layer["out"][:, [one, other]] = 0.0
    layer["out"][at, one], layer["out"][at, other] = weight, -weight
    if rng.random() < 0.5:  # the same sum, by other weights
        layer["into"][other] *= 2.0
        layer["into_bias"][other] *= 2.0
        layer["out"][:, other] /= 2.0
    if rng.random() < 0.3:
        layer["into_bias"][other] += float(rng.choice((2.0**-20, -(2.0**-20), 0.25)))


def head_twice(m: Open, rng: Rng) -> None:
    """A head again, which writes the same place, the opposite, or another place."""
    layers = [layer for layer in m.layers if len(layer["masks"])]
    if not layers:
        return
    layer = layers[int(rng.integers(len(layers)))]
    h = int(rng.integers(len(layer["masks"])))
    for name in ("query", "key", "value", "output"):
        layer[name] = np.concatenate([layer[name], layer[name][h : h + 1]])
    for name in ("labels", "kinds", "masks", "sharpness"):
        layer[name].append(layer[name][h])
    match int(rng.integers(4)):
        case 0:
            layer["output"][-1] *= -1.0
        case 1:
            layer["output"][[h, -1]] *= 0.5
        case 2:
            layer["output"][-1] = np.roll(layer["output"][-1], int(rng.integers(m.d_model)), axis=0)
        case _:
            layer["value"][-1] *= 0.0


def swapped_symbols(m: Open, rng: Rng) -> None:
    """Two tokens, sinks among them, have each other's embeddings."""
    a, b = rng.choice(len(m.embedding), 2, replace=False)
    m.embedding[[a, b]] = m.embedding[[b, a]]


def symbol_elsewhere(m: Open, rng: Rng) -> None:
    """A token is in one more set of symbols, or in one less; rarely by another weight than 1."""
    token, c = int(rng.integers(len(m.embedding))), int(rng.integers(m.d_model))
    value = float(rng.choice((1.0, 1.0, 0.5, -1.0, 1 + 2.0**-30)))
    m.embedding[token, c] = 0.0 if m.embedding[token, c] else value


def swapped_coordinates(m: Open, rng: Rng) -> None:
    """One tensor reads two coordinates the other way round."""
    layer = _some_layer(m, rng)
    a, b = rng.choice(m.d_model, 2, replace=False)
    match int(rng.integers(5)):
        case 0:
            layer["into"][:, [a, b]] = layer["into"][:, [b, a]]
        case 1:
            layer["out"][[a, b]] = layer["out"][[b, a]]
        case 2:
            m.readout[:, [a, b]] = m.readout[:, [b, a]]
        case 3:
            m.positions[[a, b]] = m.positions[[b, a]]
        case _:
            name = str(rng.choice(("query", "key", "value")))
            layer[name][:, :, [a, b]] = layer[name][:, :, [b, a]]


def threshold(m: Open, rng: Rng) -> None:
    """The read-out's or a gate's threshold elsewhere: half way, nearly at 0, nearly at 1."""
    off = float(rng.choice((0.25, -0.25, 0.5 - 2.0**-12, 2.0**-12 - 0.5, 0.5, -0.5, 2.0**-30)))
    layer = _some_layer(m, rng)
    if rng.random() < 0.5 or not len(layer["into_bias"]):
        m.readout_bias += off * float(np.abs(m.readout).max(initial=0.0))
        return
    rows = layer["into"]
    u = int(rng.integers(len(rows)))
    same = (rows == rows[u]).all(axis=1)
    layer["into_bias"][same] += off


def other_features(m: Open, rng: Rng) -> None:
    """A position feature that is nearly the same."""
    at = int(rng.integers(len(m.t.positions)))
    feature = m.t.positions[at]
    match feature:
        case Named(name, scaled):
            near = {"i": "r", "r": "i", "1": "ordinary", "ordinary": "1", "first": "last"}
            other: Any = (
                Named(near.get(name, "first"), scaled)
                if rng.random() < 0.7
                else Named(name, not scaled)
            )
        case Mod(modulus, remainder, sinks):
            more = int(rng.choice((0, modulus, -modulus, 1)))
            other = Mod(modulus, remainder + more, not sinks if rng.random() < 0.5 else sinks)
        case _:
            return
    m.t = replace(m.t, positions=(*m.t.positions[:at], other, *m.t.positions[at + 1 :]))


def bias_more(m: Open, rng: Rng) -> None:
    """A bias where there is none, of a power of two, also far below what formats hold."""
    layer = _some_layer(m, rng)
    value = float(rng.choice((1.0, -1.0)) * 2.0 ** int(rng.choice((-1070, -149, -40, -24, -10, 0))))
    if len(layer["out_bias"]):
        layer["out_bias"][int(rng.integers(m.d_model))] += value


def weight_more(m: Open, rng: Rng) -> None:
    """One weight more, anywhere, also one of the smallest numbers there are."""
    layer = _some_layer(m, rng)
    tensors = [m.embedding, m.positions, m.readout, *(layer[n] for n in Layer.TENSORS)]
    tensors = [tensor for tensor in tensors if tensor.size]
    tensor = tensors[int(rng.integers(len(tensors)))]
    at = tuple(int(rng.integers(size)) for size in tensor.shape)
    tensor[at] += float(rng.choice((1.0, -1.0, 0.5, 2.0**-24, 2.0**-60, 2.0**-149, 5e-324)))


LEDGER: tuple[Mutate, ...] = (
    unit_more,
    unit_more,
    unit_twice,
    units_that_cancel,
    head_twice,
    swapped_symbols,
    symbol_elsewhere,
    swapped_coordinates,
    threshold,
    threshold,
    other_features,
    bias_more,
    weight_more,
    weight_more,
    other_mask,
    other_sharpness,
    repeated_row,
    lost_row,
    *MUTATIONS[:4],
)


def other_layers(t: Transformer, rng: Rng) -> Transformer:
    """A layer again, one less, two in another order, or all symbols by other names."""
    layers = list(t.layers)
    at = int(rng.integers(len(layers)))
    match int(rng.integers(4)):
        case 0:
            layers.insert(at, layers[at])
        case 1:
            del layers[at]
        case 2:
            other = int(rng.integers(len(layers)))
            layers[at], layers[other] = layers[other], layers[at]
        case _:
            return replace(t, symbols=(*t.symbols[1:], t.symbols[0]))
    return replace(t, layers=tuple(layers))


def tampered_ledger(t: Transformer, rng: Rng) -> tuple[str, Transformer]:
    """One to three of these mutations; one in ten has other layers."""
    names, changed = tampered_weights(t, rng, LEDGER)
    if rng.random() < 0.1:
        return f"{names}, other_layers", other_layers(changed, rng)
    return names, changed
