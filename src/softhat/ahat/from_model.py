"""A model compiled for hard attention as an AHAT: its weights, read as the rationals they are.

Floats are rationals, so nothing is rounded, and the AHAT has the formula's truth at every position
of every word. Propositional models read sets, so the alphabet is all sets, written `{}`, `{p}`,
`{p,q}`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import compress, product

import numpy as np
from numpy.typing import NDArray

from softhat.ahat.model import AHAT, BOS, EOS, FeedForward, Head, Layer, Mask, Matrix, Ties, Vector
from softhat.io.errors import SofthatError
from softhat.numbers.positions import Named
from softhat.runtime.answers import Answers
from softhat.transformer.weights import Layer as Weights
from softhat.transformer.weights import Transformer

UNIQUE = frozenset(
    {"Latest", "Earliest", "StrictLatest", "StrictEarliest", "Previous", "Next", "Shift",
     "ShiftAhead", "Sign"}
)  # fmt: skip
"""Kinds of heads that attend to one key (their theorems are in `lowering.heads`): unique-hard
attention is the same function, and says so at every length."""
MOST_PROPOSITIONS = 8
"""2^8 = 256 sets: each is a symbol of the alphabet."""


def to_ahat(model: Answers, output: str | None = None) -> AHAT:
    """The hard-attention transformer of a model compiled with `attention="hard"`.

    Its value at a position is > 0 where the output's formula holds. A model with several outputs
    needs `output`.
    """
    if not isinstance(model, Answers):
        raise SofthatError(f"expected a model that softhat compiled, got {type(model)}")
    t = model.transformer
    if t.attention != "hard":
        raise SofthatError(
            f"this model has {t.attention} attention: compile it with attention='hard'"
        )
    at = t.outputs.index(t.output_name(output))
    if any(isinstance(feature, Named) and feature.scaled for feature in t.positions):
        raise SofthatError("positions divided by P are not those of hard attention")
    if not t.d_model:
        return _constant(t, Fraction(float(t.readout_bias[at])))
    table = t.embedding.dense()
    symbols, rows = _alphabet(t, table)
    sinks = {name: _vector(table[t.tokens.index(name)]) for name in t.sinks}
    return AHAT(
        alphabet=symbols,
        bos=t.has_bos,
        positions=t.positions,
        embedding=_matrix(rows),
        bos_embedding=sinks.get(BOS),
        position_embedding=_matrix(t.position_embedding.dense()),
        layers=tuple(_layer(layer) for layer in t.layers),
        output_weights=_vector(t.readout.dense()[at]),
        output_bias=Fraction(float(t.readout_bias[at])),
        names=tuple(
            " / ".join(dict.fromkeys(text for _, text in c.holds)) or f"x{k}"
            for k, c in enumerate(t.coordinates)
        ),
        eos_embedding=sinks.get(EOS),
    )


def _constant(t: Transformer, value: Fraction) -> AHAT:
    """A model that reads nothing: one coordinate, which is 0, and its answer."""
    symbols, _ = _alphabet(t, np.zeros((len(t.tokens), 1)))
    nothing = (Fraction(0),)
    return AHAT(
        alphabet=symbols,
        bos=False,
        positions=(),
        embedding=(nothing,) * len(symbols),
        bos_embedding=None,
        position_embedding=((),),
        layers=(),
        output_weights=nothing,
        output_bias=value,
    )


def _alphabet(
    t: Transformer, table: NDArray[np.float64]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    for symbol in t.symbols:
        if any(c.isspace() for c in symbol):
            raise SofthatError(f"{symbol!r} cannot be a symbol of an AHAT: it has white space")
    rows = table[: len(t.symbols)]
    if not t.propositional:
        return t.symbols, rows
    if len(t.symbols) > MOST_PROPOSITIONS:
        raise SofthatError(
            f"{len(t.symbols)} propositions have 2^{len(t.symbols)} sets: an AHAT takes at most "
            f"{MOST_PROPOSITIONS} propositions"
        )
    sets = np.array(list(product((0, 1), repeat=len(t.symbols)))).reshape(-1, len(t.symbols))
    names = tuple("{" + ",".join(compress(t.symbols, row)) + "}" for row in sets)
    return names, sets @ rows


def _layer(layer: Weights) -> Layer:
    query, key, value, output = (
        getattr(layer, name).dense() for name in ("query", "key", "value", "output")
    )
    heads = tuple(
        _head(layer, h, query[h], key[h], value[h], output[h]) for h in range(len(layer.masks))
    )
    if not layer.into_bias.size:
        return Layer(heads)
    forward = FeedForward(
        in_weights=_matrix(layer.into.dense()),
        in_bias=_vector(layer.into_bias),
        out_weights=_matrix(layer.out.dense()),
        out_bias=_vector(layer.out_bias),
    )
    return Layer(heads, forward)


def _head(
    layer: Weights,
    h: int,
    query: NDArray[np.float64],
    key: NDArray[np.float64],
    value: NDArray[np.float64],
    output: NDArray[np.float64],
) -> Head:
    """One head, without the rows that are 0: those pad the heads of a layer to one size."""
    scored = query.any(axis=1) & key.any(axis=1)
    used = value.any(axis=1) & output.any(axis=0)
    return Head(
        mask=layer.masks[h],
        query=_matrix(query[scored]),
        key=_matrix(key[scored]),
        value=_matrix(value[used]),
        output=_matrix(output[:, used]),
        name=layer.labels[h],
        ties=_ties(layer.kinds[h], layer.masks[h]),
    )


def _ties(kind: str, mask: Mask) -> Ties:
    if kind in UNIQUE:
        return "leftmost" if mask in (">=", ">") else "rightmost"
    return "average"


def _matrix(rows: NDArray[np.float64]) -> Matrix:
    return tuple(_vector(row) for row in rows)


def _vector(row: NDArray[np.float64]) -> Vector:
    return tuple(Fraction(x) for x in np.asarray(row, np.float64).tolist())
