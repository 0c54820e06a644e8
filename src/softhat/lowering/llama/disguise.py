"""The same Llama in a random basis.

Theorem 30. RMSNorm with weights 1 commutes with every orthogonal matrix, so the residual stream may
be turned by any: embeddings and what is written by Q, what reads by Q'. Values and the output
matrix of a head of keys and values may be turned by another. Queries and keys turn with the
position, pair by pair, so only a rotation within each pair changes nothing. silu is not the same at
every scale, but the other factor of SwiGLU is: units are split with random shares and scales there.

Whatever stood both in the queries and in the keys of a pair would be seen at some distance. So
pairs that are not used are filled with so little that scores do not notice, even those of a head
that averages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.lowering.disguise import (
    Array,
    as_float32,
    orthonormal,
    product,
    seeded,
    spare_units,
    split_units,
)
from softhat.lowering.llama.weights import Block, Trunk
from softhat.transformer.directions import Units

FAINT = 2.0**-11
"""Size of what fills pairs of queries and keys: even a mean of equal weights does not notice."""
NOISE = 2.0**-5
"""Size of what fills idle dimensions of values and of outputs."""
IDLE = 0.02
"""Size of what neurons write that cancel each other."""


@dataclass(frozen=True)
class Disguised:
    """A trunk in a random basis, and the basis."""

    trunk: Trunk
    residual: Array
    """Row k is the direction of what was coordinate k."""
    values: tuple[tuple[Array, ...], ...]
    """Of each block and head of keys and values: row r is the direction of value r."""
    units: tuple[Units, ...]

    @property
    def d_model(self) -> int:
        return len(self.residual)

    def rows(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """Read-out rows in the new basis."""
        return as_float32(product(matrix.astype(np.float64), self.residual))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """As `directions.safetensors` holds them."""
        found: dict[str, NDArray[Any]] = {"residual": as_float32(self.residual)}
        for at, (values, units) in enumerate(zip(self.values, self.units, strict=True)):
            for h, basis in enumerate(values):
                found[f"blocks.{at}.key_value_heads.{h}.value"] = as_float32(basis)
            found[f"blocks.{at}.units.part"] = units.part
            found[f"blocks.{at}.units.factor"] = units.factor
            found[f"blocks.{at}.units.share"] = units.share
        return found


def disguise(trunk: Trunk, seed: int) -> Disguised:
    """A trunk, disguised; its layout still says what was where."""
    layout = trunk.layout
    basis = orthonormal(seeded(seed, 0), layout.d_model, layout.d_model)
    hidden = spare_units(max(_sides(block) for block in trunk.blocks))
    blocks, values, units = [], [], []
    for at, block in enumerate(trunk.blocks):
        rng = seeded(seed, 1, at)
        turned, bases = _attention(rng, trunk, block, basis)
        split, (gate, up, down) = _neurons(rng, block, hidden, basis)
        blocks.append(replace(turned, gate=gate, up=up, down=down))
        values.append(bases)
        units.append(split)
    embedding = as_float32(product(trunk.embedding.astype(np.float64), basis))
    made = replace(trunk, embedding=embedding, blocks=tuple(blocks))
    return Disguised(made, basis, tuple(values), tuple(units))


def _sides(block: Block) -> int:
    return int(np.count_nonzero(np.abs(block.down).sum(axis=0)))


def _attention(
    rng: np.random.Generator, trunk: Trunk, block: Block, basis: Array
) -> tuple[Block, tuple[Array, ...]]:
    layout = trunk.layout
    size, shared = layout.rotary.head_dim, layout.shared
    half = size // 2
    query, key, value = (
        product(matrix.astype(np.float64), basis)
        for matrix in (block.query, block.key, block.value)
    )
    output = product(basis.T, block.output.astype(np.float64))
    bases = []
    for group in range(layout.n_kv):
        own = slice(group * size, (group + 1) * size)
        angles = rng.uniform(0, 2 * np.pi, half)
        heads = [
            slice(h * size, (h + 1) * size) for h in range(group * shared, (group + 1) * shared)
        ]
        idle = np.abs(key[own]).sum(axis=1) == 0
        unused = np.tile(idle[:half] & idle[half:], 2)
        for matrix, rows in ((key, own), *((query, rows) for rows in heads)):
            matrix[rows][unused] = FAINT * rng.standard_normal((int(unused.sum()), len(basis)))
        loud = max(1.0, float(np.sqrt((key[own] ** 2).sum(axis=1)).max()))
        for rows in heads:  # pairs whose keys are for other queries
            empty = np.abs(query[rows]).sum(axis=1) == 0
            small = FAINT**2 / loud * rng.standard_normal((int(empty.sum()), len(basis)))
            query[rows][empty] = small
        for matrix, rows in ((key, own), *((query, rows) for rows in heads)):
            first, second = matrix[rows][:half].copy(), matrix[rows][half:].copy()
            cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
            matrix[rows] = np.vstack([cos * first - sin * second, sin * first + cos * second])
        space = orthonormal(rng, size, size)
        spare = np.flatnonzero(np.abs(value[own]).sum(axis=1) == 0)
        read, written = np.array_split(spare, 2)
        value[own.start + read] = NOISE * rng.standard_normal((len(read), len(basis)))
        value[own] = product(space.T, value[own])
        for rows in heads:
            filled = output[:, rows].copy()
            filled[:, written] = NOISE * rng.standard_normal((len(basis), len(written)))
            output[:, rows] = product(filled, space)
        bases.append(space)
    turned = replace(
        block,
        query=as_float32(query),
        key=as_float32(key),
        value=as_float32(value),
        output=as_float32(output),
    )
    return turned, tuple(bases)


def _neurons(
    rng: np.random.Generator, block: Block, hidden: int, basis: Array
) -> tuple[Units, tuple[NDArray[np.float32], ...]]:
    sides = _sides(block)
    units = split_units(rng, sides, hidden)
    d = len(basis)
    gate, up = (
        product(matrix[:sides].astype(np.float64), basis) for matrix in (block.gate, block.up)
    )
    down = product(block.down[:, :sides].T.astype(np.float64), basis)
    idle = {
        int(group): (
            rng.standard_normal(d) * d**-0.5,
            rng.standard_normal(d) * d**-0.5,
            orthonormal(rng, d, 1)[0] * IDLE,
        )
        for group in np.unique(units.part[units.part < 0])
    }
    parts = [np.zeros((hidden, d)) for _ in range(3)]
    for u, side in enumerate(units.part.tolist()):
        own = (gate[side], up[side], down[side]) if side >= 0 else idle[side]
        factor = float(units.factor[u])
        parts[0][u] = own[0]
        parts[1][u] = factor * own[1]
        parts[2][u] = float(units.share[u]) / factor * own[2]
    return units, (as_float32(parts[0]), as_float32(parts[1]), as_float32(parts[2].T))
