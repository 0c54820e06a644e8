"""Named rows to matrices, once every coordinate has its place."""

from __future__ import annotations

import numpy as np

from softhat.transformer.lowering.rows import Key, LayerRows, Row
from softhat.transformer.weights import Entry, Layer, Sparse

Place = dict[Key, int]
Entries = list[Entry]


def layer_of(rows: LayerRows, place: Place, d_model: int) -> Layer:
    heads = rows.heads
    d_k = max([len(head.scores.pairs) for head in heads], default=0)
    d_v = max([len(head.values) for head in heads], default=0)
    query: Entries = []
    key: Entries = []
    value: Entries = []
    output: Entries = []
    for h, head in enumerate(heads):
        for r, pair in enumerate(head.scores.pairs):
            for at, w in pair.query.items():
                query.append(((h, r, place[at]), w))
            for at, w in pair.key.items():
                key.append(((h, r, place[at]), w))
        for r, (row, target) in enumerate(zip(head.values, head.targets, strict=True)):
            value += [((h, r, place[at]), w) for at, w in row.items()]
            output.append(((h, place[target], r), 1.0))
    out_bias = np.zeros(d_model)
    for at, bias in rows.out_bias.items():
        out_bias[place[at]] = bias
    out = [((place[at], u), w) for u, unit in enumerate(rows.hidden) for at, w in unit.out.items()]
    return Layer(
        labels=tuple([head.label for head in heads]),
        kinds=tuple([head.scores.name for head in heads]),
        masks=tuple([head.scores.mask for head in heads]),
        laws=tuple([head.law for head in heads]),
        query=Sparse.of((len(heads), d_k, d_model), query),
        key=Sparse.of((len(heads), d_k, d_model), key),
        value=Sparse.of((len(heads), d_v, d_model), value),
        output=Sparse.of((len(heads), d_model, d_v), output),
        into=matrix([unit.row for unit in rows.hidden], place, d_model),
        into_bias=np.array([unit.bias for unit in rows.hidden]),
        out=Sparse.of((d_model, len(rows.hidden)), out),
        out_bias=out_bias,
    )


def matrix(rows: list[Row], place: Place, d_model: int) -> Sparse:
    entries = [((r, place[at]), w) for r, row in enumerate(rows) for at, w in row.items()]
    return Sparse.of((len(rows), d_model), entries)
