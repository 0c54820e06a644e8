"""How the tensors of a stock Llama, Mistral or Qwen2 are read: as forms over coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.llama.checkpoint import FAMILIES, LlamaCheckpoint
from softhat.proof.llama.rope import frequencies
from softhat.proof.stock.automata import Claimed
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.checkpoint import Array
from softhat.proof.stock.derivation import Architecture, Derivation, PlacedHead, squares_of
from softhat.proof.stock.derivation import derive as derived
from softhat.proof.stock.gates import Unit
from softhat.proof.stock.kind import HeadForms, is_read
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell, Form, forms, of_tokens
from softhat.transformer.decoders import LlamaBlock

LARGE = 256
"""Heads of this size have rows for the digits of a recall."""
MOST_CONTEXT = 1 << 20
"""Every distance is tabulated."""
LEAST_LOGIT = 1e-4
"""Logits stay far from 0 in every format."""


LlamaDerivation = Derivation[LlamaCheckpoint, LlamaBlock]


def derive(c: LlamaCheckpoint, formulas: Mapping[str, Claimed]) -> LlamaDerivation:
    """Read a checkpoint that is claimed to compute `formulas`."""
    return derived(LlamaReading(c, c.context, c.blocks), formulas)


class LlamaReading(Architecture[LlamaCheckpoint, LlamaBlock]):
    """A Llama's tensors as forms over coordinates."""

    least_logit = LEAST_LOGIT

    def check_shape(self) -> None:
        c = self.checkpoint
        root = isqrt(c.head_dim)
        if c.head_dim < 2 or root * root != c.head_dim or root & (root - 1):
            raise VoidError(f"heads of size {c.head_dim}: 1/√head_dim is not a power of two")
        if c.n_kv < 1 or c.n_head % c.n_kv:
            raise VoidError(f"{c.n_head} heads do not share {c.n_kv} heads of keys and values")
        if c.family not in FAMILIES:
            raise VoidError(f"{c.family!r} is no family that is known: {', '.join(FAMILIES)}")
        if not 2 <= c.context <= MOST_CONTEXT or not c.blocks:
            raise VoidError(f"{c.context} positions or {c.blocks} blocks are too few or too many")
        if not 0 <= c.epsilon <= 1e-5:
            raise VoidError(f"rms_norm_eps is {c.epsilon:g}, more than 1e-5")

    def has_recalls(self) -> bool:
        return self.checkpoint.head_dim >= LARGE

    def embedded(self, atoms: BoundedAtoms) -> list[Cell]:
        """Every RMSNorm has the weight 1, and the mean square of every residual vector is 1."""
        c = self.checkpoint
        ordinary = len(c.tokens)
        table = c.tensor("model.embed_tokens.weight").astype(np.float64)
        if len(table) <= max(c.bos, ordinary - 1) or c.bos < ordinary:
            raise VoidError("the embedding does not fit the tokenizer")
        # Padding is one of the other rows. It is masked, but it must be no larger than a token.
        others = np.delete(table, c.bos, axis=0)
        cells: list[Cell] = []
        for at in range(table.shape[1]):
            own, start = table[:ordinary, at], float(table[c.bos, at])
            if not np.isin(np.abs(others[:, at]), np.abs(own)).all():
                raise VoidError(f"padding holds in coordinate {at} what no token holds there")
            if (own == own[0]).all():
                cells.append(ConstantCell(float(own[0]), start))
            elif np.isin(own, (-1.0, 1.0)).all() and start == -1.0:
                cells.append(BitCell(of_tokens(c, atoms, own > 0)))
            else:
                raise VoidError(f"coordinate {at} is neither constant nor ±1, and -1 at <bos>")
        self._check_norms(cells)
        return cells

    def _check_norms(self, cells: list[Cell]) -> None:
        c = self.checkpoint
        names = [
            f"layers.{at}.{kind}"
            for at in range(c.blocks)
            for kind in ("input_layernorm", "post_attention_layernorm")
        ]
        for name in [*names, "norm"]:
            if (c.tensor(f"model.{name}.weight", c.d_model) != 1).any():
                raise VoidError(f"the weight of {name} is not 1")
        if any(square != c.d_model for square in squares_of(cells)):
            raise VoidError("the mean square of the residual is not 1 at every position")

    def matrices(self, at: int) -> LlamaBlock:
        return self.checkpoint.block(at)

    def head(self, block: LlamaBlock, at: int, h: int, number: int) -> PlacedHead | None:
        c, where = self.checkpoint, f"block {at}, head {h}"
        size, half = c.head_dim, c.head_dim // 2
        own, shared = c.rows_of(h)
        query, key = forms_of(block.query[own]), forms_of(block.key[shared])
        written = block.output[:, own]
        targets, columns = np.nonzero(written)
        if len(set(targets.tolist())) != len(targets):
            raise VoidError(f"{where} adds several values to one coordinate")
        if not len(targets):
            if any(map(is_read, query)):
                raise VoidError(f"{where} has scores, but writes nothing")
            return None
        value = forms_of(block.value[shared])
        of_head = HeadForms(
            block=at,
            head=h,
            number=number,
            query=list(zip(query[:half], query[half:], strict=True)),
            key=list(zip(key[:half], key[half:], strict=True)),
            values=[value[column] for column in columns.tolist()],
            targets=[float(written[a, b]) for a, b in zip(targets, columns, strict=True)],
            frequencies=frequencies(c),
            root=float(isqrt(size)),
            context=self.context,
            raw=False,
        )
        return PlacedHead(of_head, targets.tolist())

    def hidden(
        self, block: LlamaBlock, cells: list[Cell], at: int
    ) -> tuple[dict[int, Unit], NDArray[np.float64]]:
        """SwiGLU's second factor is exactly one coordinate that is always 1. A unit's constant is
        read from coordinates that are the same everywhere."""
        incoming, factors = forms_of(block.gate), forms_of(block.up)
        outgoing = block.down.T.astype(np.float64)
        units: dict[int, Unit] = {}
        for number in np.flatnonzero(outgoing.any(axis=1)).tolist():
            factor = [(cells[p], w) for p, w in factors[number].weights.items()]
            if factor != [(ConstantCell(1.0, 1.0), 1.0)]:
                raise VoidError(
                    f"block {at}: the feed-forward multiplies a unit by something that is not 1"
                )
            constant, reads = Fraction(0), []
            for p, w in incoming[number].weights.items():
                cell = cells[p]
                if isinstance(cell, ConstantCell) and cell.ordinary == cell.bos:
                    constant += Fraction(w) * Fraction(cell.ordinary)
                else:
                    reads.append((p, w))
            units[number] = tuple(sorted(reads)), constant
        return units, outgoing

    def logits(self) -> tuple[list[Form], bool]:
        weight, biased = self.checkpoint.logits()
        return forms_of(weight), biased


def forms_of(rows: Array) -> list[Form]:
    """The rows of a matrix as forms over coordinates."""
    return forms(rows.T.astype(np.float64), np.zeros(len(rows), np.float32))
