"""What a stock GPT-2 computes, derived block by block from its weights.

Nothing of the passes that write a checkpoint is used. Embeddings say what each pair of
coordinates holds; heads and gates are recognised from their matrices and add what they compute;
the read-out's functions must be those of the claimed formulas. What does not fit is a `VoidError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.boolean import Space
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint, read_pairs, written_pairs
from softhat.proof.gpt2.gates import Gate, feed_forward
from softhat.proof.gpt2.pairs import embedded
from softhat.proof.stock.automata import Claimed, claims_of
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.checkpoint import Array
from softhat.proof.stock.distribution import ReadHead, read_head
from softhat.proof.stock.heads import recognise
from softhat.proof.stock.kind import HeadForms, StockHead
from softhat.proof.stock.readout import Readout
from softhat.proof.stock.variables import Cell, ConstantCell, Form, MeanCell, RawCell, forms


@dataclass(slots=True)
class GPT2BlockParts:
    """A block's matrices, its heads and its gates."""

    c_attn: Array
    c_attn_bias: Array
    c_fc: Array
    c_fc_bias: Array
    mlp_proj: Array
    heads: list[StockHead] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)


@dataclass(slots=True)
class Derivation:
    """What was read: per block its parts, and what the pairs hold before it and at the end."""

    checkpoint: GPT2Checkpoint
    blocks: list[GPT2BlockParts]
    cells: list[list[Cell]]
    """Before each block, and after the last."""
    after_attention: list[list[Cell]]
    norm: float
    """LayerNorm's weight: the same everywhere."""
    variance: float
    logits: ReadHead = field(default_factory=ReadHead)


def derive(c: GPT2Checkpoint, formulas: Mapping[str, Claimed]) -> Derivation:
    """Read a checkpoint that is claimed to compute `formulas`."""
    _check_shape(c)
    space = Space(c.symbols, c.propositional)
    atoms, claims = claims_of(space, c.context - 1, formulas, has_recalls=True)
    cells = embedded(c, atoms)
    found = Derivation(c, [], [cells], [], norm_weight(c), _variance(cells, c.d_model))
    number = 0
    for at in range(c.blocks):
        block = _block(c, at)
        attended = list(cells)
        for h in range(c.n_head):
            number += _attend(c, block, at, h, cells, attended, number, atoms)
        found.after_attention.append(attended)
        cells, gates = feed_forward(
            block.c_fc, block.c_fc_bias, block.mlp_proj, attended, atoms, at
        )
        block.gates += gates
        found.blocks.append(block)
        found.cells.append(cells)
    readout = Readout(cells, atoms, claims, formulas)
    found.logits = read_head(c, *_logits(c), readout)
    return found


def _check_shape(c: GPT2Checkpoint) -> None:
    d = c.d_model
    root = isqrt(c.d_head)
    if d % 2 or d % c.n_head or root * root != c.d_head or root & (root - 1):
        raise VoidError(f"heads of size {c.d_head}: 1/√d_head is not a power of two")
    if c.activation not in ("relu", "gelu_new"):
        raise VoidError(f"the activation is {c.activation!r}, not relu or gelu_new")
    if c.context < 2 or not c.blocks:
        raise VoidError("there is no position, or no block")
    if not 0 <= c.epsilon <= 1e-11:
        raise VoidError(f"layer_norm_epsilon is {c.epsilon:g}, more than 1e-11")


def norm_weight(c: GPT2Checkpoint) -> float:
    """The one weight of all LayerNorms."""
    names = [f"h.{at}.ln_{k}" for at in range(c.blocks) for k in (1, 2)] + ["ln_f"]
    weights = {
        float(w) for name in names for w in c.tensor(f"transformer.{name}.weight", c.d_model)
    }
    if len(weights) != 1 or min(weights) <= 0:
        raise VoidError("LayerNorm's weights are not one positive number")
    if any(c.tensor(f"transformer.{name}.bias", c.d_model).any() for name in names):
        raise VoidError("a LayerNorm has a bias")
    return weights.pop()


def _variance(cells: list[Cell], d_model: int) -> float:
    """Of the residual at every position: pairs keep their squares, whatever they come to hold."""
    own = start = Fraction(0)
    for cell in cells:
        if isinstance(cell, ConstantCell):
            own += Fraction(cell.ordinary) ** 2
            start += Fraction(cell.bos) ** 2
        else:
            own, start = own + 1, start + 1
    if own != start or not own:
        raise VoidError("the norm of the residual at <bos> is not that of the other positions")
    return float(2 * own / d_model)


def _block(c: GPT2Checkpoint, at: int) -> GPT2BlockParts:
    d = c.d_model
    name = f"transformer.h.{at}"
    hidden = int(c.tensor(f"{name}.mlp.c_fc.bias").shape[0])
    for bias in ("attn.c_proj.bias", "mlp.c_proj.bias"):
        if c.tensor(f"{name}.{bias}", d).any():
            raise VoidError(f"{name}.{bias} is not 0")
    return GPT2BlockParts(
        c.tensor(f"{name}.attn.c_attn.weight", d, 3 * d),
        c.tensor(f"{name}.attn.c_attn.bias", 3 * d),
        c.tensor(f"{name}.mlp.c_fc.weight", d, hidden),
        c.tensor(f"{name}.mlp.c_fc.bias", hidden),
        c.tensor(f"{name}.mlp.c_proj.weight", hidden, d),
    )


def _attend(
    c: GPT2Checkpoint,
    block: GPT2BlockParts,
    at: int,
    h: int,
    cells: list[Cell],
    attended: list[Cell],
    number: int,
    atoms: BoundedAtoms,
) -> int:
    """Add what a head writes; 1 if it is a head at all."""
    d, size = c.d_model, c.d_head
    where = f"block {at}, head {h}"
    parts = []
    for part in range(3):
        columns = slice(part * d + h * size, part * d + (h + 1) * size)
        weights = read_pairs(block.c_attn[:, columns], where)
        parts.append(forms(weights, block.c_attn_bias[columns]))
    query, key, value = parts
    proj = c.tensor(f"transformer.h.{at}.attn.c_proj.weight", d, d)[h * size : (h + 1) * size]
    written = written_pairs(proj, where)
    places: list[int] = []
    targets: list[float] = []
    for r, row in enumerate(written):
        (used,) = np.nonzero(row)
        if len(used) > 1 or (len(used) and len(places) != r):
            raise VoidError(f"{where} does not write each value to a pair of its own, in order")
        if len(used):
            places.append(int(used[0]))
            targets.append(float(row[used[0]]))
    if any(form.weights or form.constant for form in value[len(targets) :]):
        raise VoidError(f"{where} has a value that is written nowhere")
    scored = any(form.weights or form.constant for form in (*query, *key))
    if not targets:
        if scored:
            raise VoidError(f"{where} has scores, but writes nothing")
        return 0
    nothing = Form({}, 0.0)
    forms_of_head = HeadForms(
        block=at,
        head=h,
        number=number,
        query=[(form, nothing) for form in query],
        key=[(form, nothing) for form in key],
        values=value[: len(targets)],
        targets=targets,
        frequencies=np.zeros(size),
        root=float(isqrt(size)),
        context=c.context,
        raw=True,
    )
    head, made = recognise(forms_of_head, cells, atoms)
    block.heads.append(head)
    for place, cell in zip(places, made, strict=True):
        before = attended[place]
        expected = -cell.amplitude if isinstance(cell, RawCell) else 0.0
        if before != ConstantCell(expected, expected):
            raise VoidError(f"{where} writes pair {place}, which does not wait for a head")
        if isinstance(cell, RawCell | MeanCell):
            attended[place] = cell
    return 1


def _logits(c: GPT2Checkpoint) -> tuple[list[Form], bool]:
    """The read-out's rows as forms over pairs, and whether there is a bias."""
    name = "lm_head.weight" if c.head == "lm" else "classifier.weight"
    weight = c.tensor(name)
    if weight.ndim != 2 or weight.shape[1] != c.d_model:
        raise VoidError("the read-out does not read the residual stream")
    rows = forms(read_pairs(weight.T, "the read-out"), np.zeros(len(weight), np.float32))
    biased = c.head != "lm" and bool(c.tensor("classifier.bias", len(weight)).any())
    return rows, biased
