"""The same Llama in a random basis.

Theorem 30. RMSNorm with weights 1 commutes with every orthogonal matrix, so the residual stream may
be turned by any: embeddings and what is written by Q, what reads by Q'. Values and the output
matrix of a head of keys and values may be turned by another. Queries and keys turn with the
position, pair by pair, so only a rotation within each pair changes nothing. silu is not the same at
every scale, but the other factor of SwiGLU is: units are split with random shares and scales there.

Whatever stood both in the queries and in the keys of a pair would be seen at some distance. But
constants add up to 0 in many ways (`1` is `<bos>` and the word's own positions together): what
reads such a *null* form reads 0 everywhere. So in pairs that nobody uses keys read null forms and
queries anything, and in pairs that a head leaves to others its queries read null forms. And what is
used reads none: a constant is read from all coordinates that have one, which costs the least
rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.transformer.directions import Directions, HeadBasis
from softhat.transformer.lowering.disguise import (
    Array,
    Disguise,
    as_float32,
    dense_units,
    orthonormal,
    product,
    seeded,
    spare_units,
)
from softhat.transformer.lowering.llama.layout import LlamaLayout
from softhat.transformer.lowering.stock.trunk import Trunk, TrunkBlock

QUIET = 2.0**-3
"""Norm of what fills a row of queries or keys: what it reads as 0 is rounded all the same."""
VALUE_NOISE = 2.0**-3
"""Norm of what fills the idle rows of values together: sums over many keys round these too."""
OUTPUT_NOISE = 2.0**-6
"""Norm of what fills an idle column of outputs, where used ones are at least 1."""
IDLE = 0.002
"""Size of what neurons write that cancel each other."""


@dataclass(frozen=True)
class DisguisedLlama(Disguise):
    """A trunk in a random basis: a coordinate is a variable, and heads stay where they are, with
    the keys and values that they share."""

    trunk: Trunk[LlamaLayout]
    values: tuple[tuple[Array, ...], ...]
    """Of each block and head of keys and values: row r is the direction of value r."""

    def head_place(self, layer: int, head: int) -> int:
        return head

    def value_rows(self, layer: int, head: int) -> Array:
        return self.values[layer][head // self.trunk.layout.shared]


def disguise(trunk: Trunk[LlamaLayout], seed: int) -> DisguisedLlama:
    """A trunk, disguised; its layout still says what was where."""
    layout = trunk.layout
    basis = orthonormal(seeded(seed, 0), layout.d_model, layout.d_model)
    hidden = spare_units(max(block.sides for block in trunk.blocks))
    null = _null(seeded(seed, 3), trunk)
    blocks, values, heads, units = [], [], [], []
    for at, plain in enumerate(trunk.blocks):
        rng = seeded(seed, 1, at)
        block = _shortened(plain, null)
        turned, bases, claimed = _attention(rng, trunk, block, basis, null)
        split, *parts = dense_units(rng, block, hidden, basis, IDLE)
        gate, up, down = map(as_float32, parts)
        blocks.append(replace(turned, gate=gate, up=up, down=as_float32(down.T)))
        values.append(bases)
        heads.append(claimed)
        units.append(split)
    embedding = as_float32(product(trunk.tokens.astype(np.float64), basis))
    disguised = replace(trunk, tokens=embedding, blocks=tuple(blocks))
    directions = Directions(as_float32(basis), tuple(heads), tuple(units))
    return DisguisedLlama(basis, directions, layout.width, disguised, tuple(values))


def _null(rng: np.random.Generator, trunk: Trunk[LlamaLayout]) -> Array:
    """Orthonormal forms over coordinates that read 0 at every position: only coordinates that
    nothing writes, and that are the same for all tokens but `<bos>`."""
    table = trunk.tokens.astype(np.float64)
    bos = len(table) - 2
    fixed = (np.delete(table, bos, axis=0) == table[0]).all(axis=0)
    for block in trunk.blocks:
        fixed &= (np.abs(block.output).sum(axis=1) + np.abs(block.down).sum(axis=1)) == 0
    (places,) = np.nonzero(fixed)
    own, start = table[0, places], table[bos, places]
    first = own / np.sqrt(np.sum(own * own))
    rest = start - np.sum(start * first) * first
    constants = np.stack([first, rest / np.sqrt(np.sum(rest * rest))])
    forms = np.zeros((len(places) - 2, table.shape[1]))
    forms[:, places] = orthonormal(rng, len(places), len(forms), constants)
    return forms


def _shortened(block: TrunkBlock, null: Array) -> TrunkBlock:
    """The same block, whose queries, keys and hidden units read no null form."""

    def short(matrix: NDArray[Any]) -> NDArray[np.float32]:
        rows = matrix.astype(np.float64)
        return as_float32(rows - product(product(rows, null.T), null))

    assert block.up is not None
    return replace(
        block,
        query=short(block.query),
        key=short(block.key),
        gate=short(block.gate),
        up=short(block.up),
    )


def _rows(rng: np.random.Generator, count: int, forms: Array, norm: float) -> Array:
    """Random rows over forms, of this norm."""
    rows = product(rng.standard_normal((count, len(forms))), forms)
    scaled: Array = rows * (norm / np.sqrt(np.sum(rows * rows, axis=1, keepdims=True)))
    return scaled


def _attention(
    rng: np.random.Generator,
    trunk: Trunk[LlamaLayout],
    block: TrunkBlock,
    basis: Array,
    null: Array,
) -> tuple[TrunkBlock, tuple[Array, ...], tuple[HeadBasis, ...]]:
    layout = trunk.layout
    size, shared = layout.rotary.head_dim, layout.shared
    half = size // 2
    query, key, value = (
        product(matrix.astype(np.float64), basis)
        for matrix in (block.query, block.key, block.value)
    )
    nothing = product(null, basis)
    output = product(basis.T, block.output.astype(np.float64))
    bases, claimed = [], []
    for group in range(layout.n_kv):
        own = slice(group * size, (group + 1) * size)
        angles = rng.uniform(0, 2 * np.pi, half)
        heads = [
            slice(h * size, (h + 1) * size) for h in range(group * shared, (group + 1) * shared)
        ]
        idle = np.abs(key[own]).sum(axis=1) == 0
        sizes = np.maximum(1.0, np.sqrt(np.sum(key[own] ** 2, axis=1)))
        sizes = np.tile(np.maximum(sizes[:half], sizes[half:]), 2)[:, None]
        unused = np.tile(idle[:half] & idle[half:], 2)
        key[own][unused] = _rows(rng, int(unused.sum()), nothing, QUIET)
        pairs = []
        for rows in heads:
            empty = np.abs(query[rows]).sum(axis=1) == 0
            empty = np.tile(empty[:half] & empty[half:], 2)
            pairs.append(np.flatnonzero(~empty[:half]))
            query[rows][empty] = _rows(rng, int(empty.sum()), nothing, QUIET) / sizes[empty]
            query[rows][unused] = _rows(rng, int(unused.sum()), basis, QUIET)
        cos, sin = np.cos(angles), np.sin(angles)
        for matrix, rows in ((key, own), *((query, rows) for rows in heads)):
            first, second = matrix[rows][:half].copy(), matrix[rows][half:].copy()
            c, s = cos[:, None], sin[:, None]
            matrix[rows] = np.vstack([c * first - s * second, s * first + c * second])
        space = orthonormal(rng, size, size)
        spare = np.flatnonzero(np.abs(value[own]).sum(axis=1) == 0)
        read, written = np.array_split(spare, 2)
        value[own.start + read] = _rows(rng, len(read), basis, VALUE_NOISE / size**0.5)
        value[own] = product(space.T, value[own])
        for rows, used in zip(heads, pairs, strict=True):
            valued = np.flatnonzero(np.abs(block.output[:, rows]).sum(axis=0))
            turned = np.zeros((len(used), 2, size))
            for k, p in enumerate(used):
                turned[k, :, [p, p + half]] = [[cos[p], -sin[p]], [sin[p], cos[p]]]
            claims = turned.reshape(-1, size), space[valued]
            claimed.append(HeadBasis(*map(as_float32, claims)))
            filled = output[:, rows].copy()
            loud = OUTPUT_NOISE * min(1.0, float(np.abs(filled).max(initial=0.0)) or 1.0)
            filled[:, written] = _rows(rng, len(written), basis, loud).T
            output[:, rows] = product(filled, space)
        bases.append(space)
    disguised = replace(
        block,
        query=as_float32(query),
        key=as_float32(key),
        value=as_float32(value),
        output=as_float32(output),
    )
    return disguised, tuple(bases), tuple(claimed)
