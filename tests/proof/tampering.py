"""Ways to tamper with a disguised checkpoint: its weights, or what it claims of its directions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from softhat.transformer.directions import Directions

Mutation = Callable[[np.random.Generator, dict[str, Any], Directions], Directions]


def _tensor(rng: np.random.Generator, tensors: dict[str, Any], dims: int = 2) -> str:
    return str(rng.choice([name for name, t in sorted(tensors.items()) if t.ndim == dims]))


def noise(rng: np.random.Generator, tensors: dict[str, Any], directions: Directions) -> Directions:
    name = _tensor(rng, tensors)
    size = np.float32(10.0 ** rng.uniform(-7, 0))
    tensors[name] += size * rng.standard_normal(tensors[name].shape).astype(np.float32)
    return directions


def entry(rng: np.random.Generator, tensors: dict[str, Any], directions: Directions) -> Directions:
    tensor = tensors[_tensor(rng, tensors, int(rng.integers(1, 3)))]
    at = tuple(int(rng.integers(size)) for size in tensor.shape)
    tensor[at] += np.float32(10.0 ** rng.uniform(-4, 3) * rng.choice([-1, 1]))
    return directions


def column(rng: np.random.Generator, tensors: dict[str, Any], directions: Directions) -> Directions:
    tensor = tensors[_tensor(rng, tensors)]
    at = int(rng.integers(tensor.shape[1]))
    tensor[:, at] *= np.float32(rng.choice([0.0, -1.0, 0.5, 1.001, 2.0]))
    return directions


def row(rng: np.random.Generator, tensors: dict[str, Any], directions: Directions) -> Directions:
    tensor = tensors[_tensor(rng, tensors)]
    tensor[int(rng.integers(len(tensor)))] *= np.float32(rng.choice([0.0, -1.0, 0.9, 2.0]))
    return directions


def swap(rng: np.random.Generator, tensors: dict[str, Any], directions: Directions) -> Directions:
    tensor = tensors[_tensor(rng, tensors)]
    a, b = rng.integers(0, len(tensor), 2)
    tensor[[a, b]] = tensor[[b, a]]
    return directions


def basis_of(
    rng: np.random.Generator, tensors: dict[str, Any], directions: Directions
) -> Directions:
    residual = directions.residual.copy()
    a, b = rng.integers(0, len(residual), 2)
    match int(rng.integers(3)):
        case 0:
            residual[[a, b]] = residual[[b, a]]
        case 1:
            residual[a] = -residual[a]
        case _:
            residual[a] *= np.float32(1 + 10.0 ** rng.uniform(-6, -1))
    return replace(directions, residual=residual)


def units_of(
    rng: np.random.Generator, tensors: dict[str, Any], directions: Directions
) -> Directions:
    at = int(rng.integers(len(directions.units)))
    units = directions.units[at]
    part, factor, share = units.part.copy(), units.factor.copy(), units.share.copy()
    u, v = rng.integers(0, len(part), 2)
    match int(rng.integers(4)):
        case 0:
            part[u] = part[v]
        case 1:
            part[u] = int(rng.integers(-3, 6))
        case 2:
            factor[u] *= np.float32(rng.choice([-1.0, 0.5, 1.01, 0.0]))
        case _:
            share[u] *= np.float32(rng.choice([-1.0, 0.5, 1.01, 0.0]))
    changed = replace(units, part=part, factor=factor, share=share)
    return replace(
        directions,
        units=tuple(changed if k == at else old for k, old in enumerate(directions.units)),
    )


def head_of(
    rng: np.random.Generator, tensors: dict[str, Any], directions: Directions
) -> Directions:
    at = int(rng.integers(len(directions.heads)))
    block = list(directions.heads[at])
    h = int(rng.integers(len(block)))
    basis = block[h]
    size = basis.value.shape[1]
    rows = np.linalg.qr(rng.standard_normal((size, size)))[0].astype(np.float32)
    match int(rng.integers(5)):
        case 3:
            factor = np.float32(rng.choice([-1.0, 0.01, 0.5, 0.999, 1.001, 100.0]))
            block[h] = replace(basis, value=basis.value * factor)
        case 4:
            block[h] = replace(basis, value=np.concatenate([basis.value, basis.value[:1]]))
        case 0:
            block[h] = replace(basis, query_key=rows[: len(basis.query_key)])
        case 1:
            block[h] = replace(basis, value=rows[: len(basis.value)])
        case _:
            block[h] = block[int(rng.integers(len(block)))]
    heads = tuple(tuple(block) if k == at else old for k, old in enumerate(directions.heads))
    return replace(directions, heads=heads)


WEIGHTS: list[Mutation] = [noise, entry, column, row, swap]
CLAIMS: list[Mutation] = [basis_of, units_of, head_of]
