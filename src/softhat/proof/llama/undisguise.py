"""A disguised Llama, read along its directions: the plain checkpoint that it stands for.

A rotation within a rotary pair changes no score: queries and keys are read turned back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.dense.matrices import Matrix, row_norms
from softhat.proof.dense.plain import PlainCheckpoint, Undisguised, check_orthonormal
from softhat.proof.dense.sharing import sides
from softhat.proof.dense.snapping import NEAR, along, as_float32, read_rows, snapped
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.stock.checkpoint import BlockMatrices, Embedding
from softhat.proof.stock.variables import Rows
from softhat.transformer.directions import Directions, DisguisedUnits, HeadBasis


def undisguise(c: LlamaCheckpoint, directions: Directions) -> Undisguised:
    """What a disguised checkpoint computes if its directions are as claimed."""
    basis = _orthonormal(directions.residual.astype(np.float64)).T
    blocks = c.blocks
    if basis.shape[0] != c.d_model or not len(directions.heads) == len(directions.units) == blocks:
        raise VoidError("the directions are not of this checkpoint")
    if basis.shape[1] != c.d_model:
        raise VoidError("the residual stream has not as many directions as coordinates")
    tables = c.tables()
    embedding = read_rows(tables.tokens, basis)
    heads = [_Heads(c, claimed, at, basis) for at, claimed in enumerate(directions.heads)]
    units = [_units(c, claimed, at, basis) for at, claimed in enumerate(directions.units)]
    changed = np.zeros(c.d_model, bool)
    for block, (_, _, written) in zip(heads, units, strict=True):
        changed |= block.output.any(axis=1) | written.any(axis=1)
    constants = Constants.of(embedding, c, ~changed)

    def rows(read: Matrix, sizes: Matrix) -> Rows:
        return Rows.of(as_float32(constants.gathered(read, sizes)))

    plain = [
        BlockMatrices(
            query=rows(block.query, pair_norms(block.query, c.head_dim)),
            key=rows(block.key, pair_norms(block.key, c.head_dim)),
            value=Rows.of(as_float32(block.value)),
            output=as_float32(block.output),
            gate=rows(gate, row_norms(gate)),
            up=rows(up, row_norms(up)),
            down=as_float32(down),
        )
        for block, (gate, up, down) in zip(heads, units, strict=True)
    ]
    table = Embedding(as_float32(embedding), tables.positions)
    return Undisguised(
        checkpoint=PlainCheckpoint.of(c, table, plain, basis),
        basis=basis,
        scored=[list(block.turn) for block in heads],
        values=[block.values for block in heads],
        places=[block.places for block in heads],
        shared_values=[block.shared_values for block in heads],
    )


def _orthonormal(rows: Matrix) -> Matrix:
    """The nearest orthonormal rows, if they are near."""
    if not len(rows) or not np.isfinite(rows).all():
        raise VoidError("a direction is not made of finite numbers")
    left, sizes, right = np.linalg.svd(rows, full_matrices=False)
    if len(rows) > rows.shape[1] or np.abs(sizes - 1).max() > 2.0**-10:
        raise VoidError("the directions are not orthonormal")
    nearest: Matrix = left @ right
    return nearest


@dataclass(frozen=True)
class Constants:
    """Coordinates that nothing writes and that are the same for all tokens but `<bos>`. What is
    read of them together is all that matters."""

    places: NDArray[np.int64]
    held: Matrix  # (places, 2): at the word's own positions, and at `<bos>`
    one: int | None
    """A coordinate that is 1 everywhere."""
    bos: int | None
    """A coordinate that is 1 at `<bos>` and else 0."""

    @staticmethod
    def of(embedding: Matrix, c: LlamaCheckpoint, unchanged: NDArray[np.bool_]) -> Constants:
        if not len(c.tokens) <= c.bos < len(embedding):
            raise VoidError("the embedding does not fit the tokenizer")
        own = embedding[: len(c.tokens)]
        (places,) = np.nonzero((own == own[0]).all(axis=0) & unchanged)
        held = np.stack([own[0, places], embedding[c.bos, places]], axis=1)

        def first(ordinary: float, bos: float) -> int | None:
            matching = places[(held == (ordinary, bos)).all(axis=1)]
            return int(matching[0]) if len(matching) else None

        return Constants(places, held, first(1.0, 1.0), first(0.0, 1.0))

    def gathered(self, rows: Matrix, sizes: Matrix) -> Matrix:
        """The short forms that rows are near to, whose constants are read from two coordinates.
        `sizes`: what rounding of each row is relative to."""
        near = NEAR * sizes
        short = snapped(rows, near[:, None])
        if self.one is None or self.bos is None:
            return short
        near = near * (1 + float(np.sqrt((self.held**2).sum())))
        constants = rows[:, self.places] @ self.held
        read = snapped(constants, near[:, None])
        alike = np.abs(constants[:, 0] - constants[:, 1]) <= near
        read[alike, 1] = read[alike, 0]
        short[:, self.places] = 0.0
        short[:, self.one] = read[:, 0]
        short[:, self.bos] = read[:, 1] - read[:, 0]
        return short


class _Heads:
    """The heads of a block, in their bases."""

    def __init__(
        self, c: LlamaCheckpoint, claimed: tuple[HeadBasis, ...], at: int, basis: Matrix
    ) -> None:
        if len(claimed) != c.n_head or c.n_kv < 1 or c.n_head % c.n_kv:
            raise VoidError(f"block {at}: the directions are not of these heads")
        self.c, self.at, self.basis = c, at, basis
        self.shared = c.n_head // c.n_kv
        size = c.head_dim
        self.turn = np.stack([np.eye(size)] * c.n_kv)
        self.used: list[list[int]] = []
        """The rows of queries that each head uses."""
        self.values: list[Matrix] = []
        self.places: list[list[int]] = []
        shared: list[list[Matrix]] = [[] for _ in range(c.n_kv)]
        for h, head in enumerate(claimed):
            for rows in (head.query_key, head.value):
                if rows.ndim != 2 or rows.shape[1] != size or not np.isfinite(rows).all():
                    raise VoidError(f"block {at}, head {h}: its directions are not of this head")
            self.used.append(self._turned(h, head.query_key.astype(np.float64)))
            rows = head.value.astype(np.float64)
            known = shared[h // self.shared]
            place = []
            for row in rows:  # heads that share a value name the same direction
                same = [k for k, other in enumerate(known) if np.array_equal(row, other)]
                if not same:
                    known.append(row)
                place.append(same[0] if same else len(known) - 1)
            self.values.append(rows)
            self.places.append(place)
        self.shared_values = [np.array(rows).reshape(-1, size) for rows in shared]
        for rows in (*self.values, *self.shared_values):
            check_orthonormal(rows, f"block {at}: the directions of values")
        self.query, self.key, self.value, self.output = self._read()

    def _turned(self, h: int, rows: Matrix) -> list[int]:
        """Two rows for each pair: where its coordinates have turned to. Heads that share keys must
        agree."""
        half = self.c.head_dim // 2
        turn = self.turn[h // self.shared]
        pairs = []
        for first in rows[0::2]:
            p = int(np.argmax(np.hypot(first[:half], first[half:])))
            length = float(np.hypot(first[p], first[p + half]))
            if not 0.5 < length < 2:
                raise VoidError(f"block {self.at}, head {h}: a direction is in no rotary pair")
            cos, sin = first[p] / length, first[p + half] / length
            places = np.ix_([p, p + half], [p, p + half])
            turned = np.array([[cos, sin], [-sin, cos]])
            if not np.array_equal(turn[places], np.eye(2)) and (turn[places] != turned).any():
                raise VoidError(f"block {self.at}, head {h}: its keys turn in two ways")
            turn[places] = turned
            pairs.append(p)
        return sorted({*pairs, *(p + half for p in pairs)})

    def _read(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Queries and keys along the directions, and plain values and outputs."""
        c, size = self.c, self.c.head_dim
        block = c.block(self.at).cast(np.float64)
        query, key, value, output = block.query, block.key, block.value, block.output
        plain = [np.zeros_like(matrix) for matrix in (query, key, value, output)]
        for h in range(c.n_head):
            g = h // self.shared
            own, shared = slice(h * size, (h + 1) * size), slice(g * size, (g + 1) * size)
            used = self.used[h]
            for matrix, target, rows in ((query, plain[0], own), (key, plain[1], shared)):
                turned = self.turn[g][used] @ matrix[rows] @ self.basis
                target[rows.start + np.array(used, int)] = turned
            columns = own.start + np.array(self.places[h], int)
            plain[3][:, columns] = along((output[:, own] @ self.values[h].T).T, self.basis).T
        for g, directions in enumerate(self.shared_values):
            start = g * size
            plain[2][start : start + len(directions)] = along(
                directions @ value[start : start + size], self.basis
            )
        return plain[0], plain[1], plain[2], plain[3]


def pair_norms(rows: Matrix, size: int) -> Matrix:
    """Of each row of heads of that size, the norm of its rotary pair."""
    squares = (rows**2).sum(axis=1).reshape(-1, 2, size // 2).sum(axis=1, keepdims=True)
    return np.repeat(np.sqrt(squares), 2, axis=1).reshape(-1)


def _units(
    c: LlamaCheckpoint, units: DisguisedUnits, at: int, basis: Matrix
) -> tuple[Matrix, Matrix, Matrix]:
    """The sides of a block's clips: the mean of what units that share one read, along the
    directions, and what they write, plain."""
    gate, up, down = sides(c.over_coordinates(at), units, at)
    assert up is not None
    return gate[:, :-1] @ basis, up[:, :-1] @ basis, along(down, basis).T
