"""How far a disguised GPT-2's embeddings, heads and hidden units are from the plain ones that they
stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.dense.matrices import (
    SLACK,
    Matrix,
    MatrixReading,
    MatrixValues,
    frobenius,
    reading,
    values,
    widened,
)
from softhat.proof.dense.plain import PlainCheckpoint
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.stock.variables import Rows
from softhat.transformer.decoders import GPT2Block
from softhat.transformer.directions import Directions, HeadBasis, Units


@dataclass(frozen=True)
class HeadMatrices:
    """A head's parts, and the products that are all that matters of them."""

    query: MatrixReading
    key: MatrixReading
    scores_off: Matrix  # (variables + 1, variables + 1): Û'Q̂K̂'Û less the plain product
    values: MatrixValues


@dataclass(frozen=True)
class DenseUnit:
    """A hidden unit, in units of its factor."""

    number: int
    reach: float
    """Norm of its incoming weights."""
    bias: float
    ones: float
    off: Matrix  # (variables + 1,): |Û'ŵ less the plain form|
    out: float
    """Norm of its outgoing weights, times its factor."""


@dataclass(frozen=True)
class CancellingUnits:
    """Units that cancel: what is left of them for an input of norm 1, and of the constant."""

    units: tuple[DenseUnit, ...]
    left: float
    """‖Σ factor·out‖."""
    apart: float
    """Σ ‖out‖·‖w - w₀‖, in units of factors: units that do not see the same sum."""
    apart_bias: float


class Basis:
    """The directions of the residual stream, and how far they are from orthonormal."""

    def __init__(self, c: GPT2Checkpoint, directions: Directions, plain: PlainCheckpoint) -> None:
        self.c = c
        self.u = directions.residual.astype(np.float64).T  # (d_model, variables)
        self.d, self.variables = self.u.shape
        gram = self.u.T @ self.u - np.eye(self.variables)
        self.skew = frobenius(gram) + SLACK
        if self.skew > 2.0**-10:
            raise VoidError("the directions of the residual stream are not orthonormal")
        self.ones = np.abs(self.u.sum(axis=0)) / self.d**0.5 + SLACK
        self.wide = widened(self.u)
        self.plain = plain
        self.embedded_off = self._embedded()

    def _embedded(self) -> float:
        """Norm of what an embedded token (padding too) and position are off."""
        worst = 0.0
        for name, rows in (("wte", self.plain.table.tokens), ("wpe", self.plain.table.positions)):
            table = self.c.tensor(f"transformer.{name}.weight").astype(np.float64)
            off = table - rows @ self.u.T
            norms = np.sqrt((off**2).sum(axis=1)) + SLACK * np.sqrt((table**2).sum(axis=1))
            worst += float(norms.max())
        return worst

    def head(self, block: GPT2Block, basis: HeadBasis, at: int, h: int) -> HeadMatrices:
        d, size = self.d, self.c.d_head
        out = block.attn_proj[h * size : (h + 1) * size]
        own = [slice(part * d + h * size, part * d + (h + 1) * size) for part in range(3)]
        q, k, v = (np.vstack([block.c_attn[:, s], block.c_attn_bias[s]]) for s in own)
        across, rows = basis.query_key.astype(np.float64), basis.value.astype(np.float64)
        wide = self.wide
        plain = self.plain.blocks[at]
        used, read = (slice(h * size, h * size + len(space)) for space in (across, rows))
        query, key, value = map(_form, (plain.query[used], plain.key[used], plain.value[read]))
        left, right = wide.T @ q, wide.T @ k
        scores = np.abs(left @ right.T - query @ key.T)
        scores += SLACK * (np.abs(left) @ np.abs(right).T + np.abs(query) @ np.abs(key.T))
        return HeadMatrices(
            query=reading(self.u, q, query, across),
            key=reading(self.u, k, key, across),
            scores_off=scores,
            values=values(self.u, v, out, value, plain.output[:, read].T.astype(np.float64), rows),
        )

    def units(
        self, block: GPT2Block, units: Units, at: int
    ) -> tuple[dict[int, list[DenseUnit]], list[CancellingUnits]]:
        """The units of each side of a clip, and the groups that cancel."""
        into, bias, out = block.c_fc, block.c_fc_bias, block.mlp_proj
        sides: dict[int, list[DenseUnit]] = {}
        idle: dict[int, list[int]] = {}
        for u, side in enumerate(units.part.tolist()):
            if side < 0:
                idle.setdefault(side, []).append(u)
            else:
                form = _form(self.plain.blocks[at].gate[[side]])[:, 0]
                sides.setdefault(side, []).append(self._unit(u, block, units, form))
        groups = []
        for members in idle.values():
            factor = units.factor[members].astype(np.float64)
            w, b = into[:, members] / factor, bias[members] / factor
            sizes = np.sqrt((out[members] ** 2).sum(axis=1)) * factor
            apart = np.sqrt(((w - w[:, :1]) ** 2).sum(axis=0)) + SLACK * frobenius(w)
            nothing = np.zeros(self.variables + 1)
            groups.append(
                CancellingUnits(
                    tuple(self._unit(u, block, units, nothing, idle=True) for u in members),
                    frobenius((out[members] * factor[:, None]).sum(axis=0))
                    + SLACK * float(sizes.sum()),
                    float((sizes * apart).sum()),
                    float((sizes * (np.abs(b - b[0]) + SLACK * np.abs(b))).sum()),
                )
            )
        return sides, groups

    def _unit(
        self, u: int, block: GPT2Block, units: Units, form: Matrix, idle: bool = False
    ) -> DenseUnit:
        factor = float(units.factor[u])
        w = np.append(block.c_fc[:, u], block.c_fc_bias[u]) / factor
        off = np.abs(self.wide.T @ w - form) + SLACK * (np.abs(self.wide).T @ np.abs(w))
        return DenseUnit(
            number=u,
            reach=frobenius(w[:-1]),
            bias=abs(float(w[-1])),
            ones=abs(float(w[:-1].sum())) / self.d**0.5 + SLACK * frobenius(w),
            off=form if idle else off,
            out=frobenius(block.mlp_proj[u]) * factor,
        )


def _form(rows: Rows) -> Matrix:
    """(variables + 1, rows): weights, and a constant each."""
    return np.vstack([rows.weights.T, rows.constants]).astype(np.float64)
