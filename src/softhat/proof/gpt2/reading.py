"""How a stock GPT-2's tensors are read: as forms over pairs of coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint, Pairs, read_pairs, written_pairs
from softhat.proof.gpt2.pairs import embedded
from softhat.proof.stock.automata import Claimed
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.derivation import Architecture, Derivation, PlacedHead, squares_of
from softhat.proof.stock.derivation import derive as derived
from softhat.proof.stock.gates import Unit
from softhat.proof.stock.kind import HeadForms, is_read
from softhat.proof.stock.variables import Cell, Form, forms
from softhat.transformer.decoders import GPT2Block, norm_names

GPT2Derivation = Derivation[GPT2Checkpoint, GPT2Block]


def derive(
    c: GPT2Checkpoint, formulas: Mapping[str, Claimed], reuse: bool = False
) -> GPT2Derivation:
    """Read a checkpoint that is claimed to compute `formulas`; `reuse`: by bounds that add up what
    a pair is off by, so that it may be used again."""
    return derived(GPT2Reading(c, c.context, c.blocks, reuse), formulas)


class GPT2Reading(Architecture[GPT2Checkpoint, GPT2Block]):
    """A GPT-2's tensors as forms over pairs of coordinates."""

    def check_shape(self) -> None:
        c = self.checkpoint
        root = isqrt(c.d_head)
        if c.d_model % 2 or c.d_model % c.n_head or root * root != c.d_head or root & (root - 1):
            raise VoidError(f"heads of size {c.d_head}: 1/√d_head is not a power of two")
        if c.activation not in ("relu", "gelu_new"):
            raise VoidError(f"the activation is {c.activation!r}, not relu or gelu_new")
        if c.context < 2 or not c.blocks:
            raise VoidError("there is no position, or no block")
        if not 0 <= c.epsilon <= 1e-11:
            raise VoidError(f"layer_norm_epsilon is {c.epsilon:g}, more than 1e-11")
        norm_weight(c)

    def has_recalls(self) -> bool:
        return True

    def embedded(self, atoms: BoundedAtoms) -> list[Cell]:
        cells = embedded(self.checkpoint, atoms)
        variance(cells, self.checkpoint.d_model)
        return cells

    def matrices(self, at: int) -> GPT2Block:
        return self.checkpoint.block(at)

    def head(self, block: GPT2Block, at: int, h: int, number: int) -> PlacedHead | None:
        d, size, where = self.checkpoint.d_model, self.checkpoint.d_head, f"block {at}, head {h}"
        parts = []
        for part in range(3):
            columns = slice(part * d + h * size, part * d + (h + 1) * size)
            weights = read_pairs(block.c_attn[:, columns], where)
            parts.append(forms(weights, block.c_attn_bias[columns]))
        query, key, value = parts
        places: list[int] = []
        targets: list[float] = []
        written = written_pairs(block.attn_proj[h * size : (h + 1) * size], where)
        for r, row in enumerate(written):
            (used,) = np.nonzero(row)
            if len(used) > 1 or (len(used) and len(places) != r):
                raise VoidError(f"{where} does not write each value to a pair of its own, in order")
            if len(used):
                places.append(int(used[0]))
                targets.append(float(row[used[0]]))
        if any(map(is_read, value[len(targets) :])):
            raise VoidError(f"{where} has a value that is written nowhere")
        if not targets:
            if any(map(is_read, (*query, *key))):
                raise VoidError(f"{where} has scores, but writes nothing")
            return None
        nothing = Form({}, 0.0)
        of_head = HeadForms(
            block=at,
            head=h,
            number=number,
            query=[(form, nothing) for form in query],
            key=[(form, nothing) for form in key],
            values=value[: len(targets)],
            targets=targets,
            frequencies=np.zeros(size),
            root=float(isqrt(size)),
            context=self.context,
            raw=True,
        )
        return PlacedHead(of_head, places)

    def hidden(self, block: GPT2Block, cells: list[Cell], at: int) -> tuple[dict[int, Unit], Pairs]:
        """Both units of a clip have the same weights: what LayerNorm's scale moves, it moves in
        both."""
        where = f"block {at}: the feed-forward"
        outgoing = written_pairs(block.mlp_proj, where)
        incoming = forms(read_pairs(block.c_fc, where), block.c_fc_bias)
        units = {
            number: (tuple(sorted(form.weights.items())), Fraction(form.constant))
            for number, form in enumerate(incoming)
            if outgoing[number].any()
        }
        return units, outgoing

    def logits(self) -> tuple[list[Form], bool]:
        weight, biased = self.checkpoint.logits()
        rows = forms(read_pairs(weight.T, "the read-out"), np.zeros(len(weight), np.float32))
        return rows, biased


def norm_weight(c: GPT2Checkpoint) -> float:
    """The one weight of all LayerNorms."""
    weights = {
        float(w) for name in norm_names(c.blocks) for w in c.tensor(f"{name}.weight", c.d_model)
    }
    if len(weights) != 1 or min(weights) <= 0:
        raise VoidError("LayerNorm's weights are not one positive number")
    if any(c.tensor(f"{name}.bias", c.d_model).any() for name in norm_names(c.blocks)):
        raise VoidError("a LayerNorm has a bias")
    return weights.pop()


def variance(cells: list[Cell], d_model: int) -> float:
    """Of the residual at every position: pairs keep their squares, whatever they come to hold."""
    own, start = squares_of(cells)
    if own != start or not own:
        raise VoidError("the norm of the residual at <bos> is not that of the other positions")
    return float(2 * own / d_model)
