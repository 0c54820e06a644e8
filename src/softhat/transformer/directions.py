"""Where the variables of a disguised model are: directions instead of coordinates.

A disguised model has no coordinate that is a variable's own. Its residual stream is Σ v_p·û_p
with orthonormal directions û_p (of a GPT-2 orthogonal to (1, …, 1)); a head's queries, keys and
values are rows over orthonormal directions of its own space (of a Llama two for each rotary pair);
a hidden unit is one of several that share the work of one clip. These are claims: the proof reads
them and checks them against the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError

Array = NDArray[Any]


@dataclass(frozen=True)
class HeadBasis:
    """Rows over the head's space: of queries and keys, and of values. None in an idle head."""

    query_key: Array  # (rows, d_head)
    value: Array  # (values, d_head)


@dataclass(frozen=True)
class DisguisedUnits:
    """The hidden units of a block. Unit u computes act(factor_u·z_k) (SwiGLU: its second factor is
    multiplied) for the clip's side k = part_u >= 0 and writes share_u/factor_u of what that side
    writes; shares of a side add up to 1. Units with part_u < 0 come in groups of equal part whose
    shares add up to 0."""

    part: NDArray[np.int64]
    factor: Array
    share: Array


@dataclass(frozen=True)
class Directions:
    """The directions of the residual stream, of every head and of every block's hidden units."""

    residual: Array  # (variables, d_model)
    heads: tuple[tuple[HeadBasis, ...], ...]
    units: tuple[DisguisedUnits, ...]

    def tensors(self) -> dict[str, Array]:
        """As `directions.safetensors` holds them; idle heads are left out."""
        tensors: dict[str, Array] = {"residual": self.residual}
        for at, (heads, units) in enumerate(zip(self.heads, self.units, strict=True)):
            for h, head in enumerate(heads):
                if len(head.value):
                    tensors[f"blocks.{at}.heads.{h}.query_key"] = head.query_key
                    tensors[f"blocks.{at}.heads.{h}.value"] = head.value
            tensors[f"blocks.{at}.units.part"] = units.part
            tensors[f"blocks.{at}.units.factor"] = units.factor
            tensors[f"blocks.{at}.units.share"] = units.share
        return tensors


def directions_from(
    tensors: Mapping[str, Array], d_model: int, n_head: int, d_head: int
) -> Directions:
    """The directions that `tensors` holds, under the names of `Directions.tensors`."""
    blocks = len([name for name in tensors if name.endswith("units.part")])
    nothing = np.zeros((0, d_head), np.float32)
    try:
        residual = _matrix(tensors["residual"], d_model)
        heads = tuple(
            tuple(
                HeadBasis(
                    _matrix(tensors.get(f"blocks.{at}.heads.{h}.query_key", nothing), d_head),
                    _matrix(tensors.get(f"blocks.{at}.heads.{h}.value", nothing), d_head),
                )
                for h in range(n_head)
            )
            for at in range(blocks)
        )
        units = tuple(
            DisguisedUnits(
                *(tensors[f"blocks.{at}.units.{name}"] for name in ("part", "factor", "share"))
            )
            for at in range(blocks)
        )
    except KeyError as error:
        raise SofthatError(f"directions.safetensors has no tensor {error}") from None
    if any(not np.issubdtype(u.part.dtype, np.integer) for u in units):
        raise SofthatError("directions.safetensors: a block's parts are not whole numbers")
    if any(u.part.shape != u.factor.shape or u.part.shape != u.share.shape for u in units):
        raise SofthatError("directions.safetensors: a block's units have different shapes")
    return Directions(residual, heads, units)


def _matrix(array: Array, columns: int) -> Array:
    if array.ndim != 2 or array.shape[1] != columns or not np.isfinite(array).all():
        raise SofthatError(f"directions.safetensors: a basis has not {columns} numbers a row")
    return array
