"""What a stock Llama computes, derived block by block from its weights.

Nothing of the passes that write a checkpoint is used. The embedding says what each coordinate
holds; heads and gates are recognised from their matrices and add what they compute; the read-out's
functions must be those of the claimed formulas. What does not fit is a `VoidError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.boolean import Space
from softhat.proof.llama.checkpoint import FAMILIES, LlamaCheckpoint
from softhat.proof.llama.gates import SwiGLUGate, feed_forward
from softhat.proof.llama.rope import frequencies
from softhat.proof.stock.automata import Claimed, claims_of
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.checkpoint import Array
from softhat.proof.stock.distribution import ReadHead, read_head
from softhat.proof.stock.heads import recognise
from softhat.proof.stock.heads.digit import DigitHead
from softhat.proof.stock.kind import HeadForms, StockHead
from softhat.proof.stock.readout import Readout
from softhat.proof.stock.variables import (
    BitCell,
    Cell,
    ConstantCell,
    Form,
    MeanCell,
    forms,
    of_tokens,
)

LARGE = 256
"""Heads of this size have rows for the digits of a recall: `last[…]` is then an atom of its own."""
MOST_CONTEXT = 1 << 20
"""Every distance is tabulated."""
LEAST_LOGIT = 1e-4
"""Logits stay far from 0 in every format."""


@dataclass(slots=True)
class LlamaBlockParts:
    """A block's matrices, outputs first, its heads and its gates."""

    query: Array
    key: Array
    value: Array
    output: Array
    gate: Array
    up: Array
    down: Array
    heads: list[StockHead] = field(default_factory=list)
    gates: list[SwiGLUGate] = field(default_factory=list)
    targets: list[list[int]] = field(default_factory=list)
    """Which coordinates each of `heads` writes."""


@dataclass(slots=True)
class LlamaDerivation:
    """What was read: per block its parts, and what the coordinates hold before it and at the
    end."""

    checkpoint: LlamaCheckpoint
    frequencies: NDArray[np.float64]
    blocks: list[LlamaBlockParts]
    cells: list[list[Cell]]
    """Before each block, and after the last."""
    after_attention: list[list[Cell]]
    logits: ReadHead = field(default_factory=ReadHead)


def derive(c: LlamaCheckpoint, formulas: Mapping[str, Claimed]) -> LlamaDerivation:
    """Read a checkpoint that is claimed to compute `formulas`."""
    _check_shape(c)
    space = Space(c.symbols, c.propositional)
    atoms, claims = claims_of(space, c.context - 1, formulas, has_recalls=c.head_dim >= LARGE)
    cells = _embedded(c, atoms)
    _check_norms(c, cells)
    found = LlamaDerivation(c, frequencies(c), [], [cells], [])
    number = 0
    digits: set[int] = set()
    for at in range(c.blocks):
        block = _block(c, at)
        attended = list(cells)
        for h in range(c.n_head):
            number += _attend(found, block, at, h, cells, attended, number, atoms, digits)
        found.after_attention.append(attended)
        cells, gates = feed_forward(block.gate, block.up, block.down, attended, digits, atoms, at)
        block.gates += gates
        found.blocks.append(block)
        found.cells.append(cells)
    readout = Readout(cells, atoms, claims, formulas, LEAST_LOGIT)
    found.logits = read_head(c, *_logits(c), readout)
    return found


def _check_shape(c: LlamaCheckpoint) -> None:
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


def _embedded(c: LlamaCheckpoint, atoms: BoundedAtoms) -> list[Cell]:
    """The coordinates before the first block."""
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
    return cells


def _check_norms(c: LlamaCheckpoint, cells: list[Cell]) -> None:
    """Every RMSNorm has the weight 1, and the mean square of every residual vector is 1."""
    names = [
        f"layers.{at}.{kind}"
        for at in range(c.blocks)
        for kind in ("input_layernorm", "post_attention_layernorm")
    ]
    for name in [*names, "norm"]:
        if (c.tensor(f"model.{name}.weight", c.d_model) != 1).any():
            raise VoidError(f"the weight of {name} is not 1")
    own = start = Fraction(0)
    for cell in cells:
        match cell:
            case ConstantCell(ordinary, bos):
                own, start = own + Fraction(ordinary) ** 2, start + Fraction(bos) ** 2
            case _:
                own, start = own + 1, start + 1
    if own != c.d_model or start != c.d_model:
        raise VoidError("the mean square of the residual is not 1 at every position")


def _block(c: LlamaCheckpoint, at: int) -> LlamaBlockParts:
    d, name = c.d_model, f"model.layers.{at}"
    wide, narrow = c.n_head * c.head_dim, c.n_kv * c.head_dim
    hidden = len(c.tensor(f"{name}.mlp.gate_proj.weight"))
    for kind in "qkvo":
        bias = c.tensors.get(f"{name}.self_attn.{kind}_proj.bias")
        if bias is not None and np.asarray(bias).any():
            raise VoidError(f"{name}.self_attn.{kind}_proj.bias is not 0")
    for kind in ("gate", "up", "down"):
        if f"{name}.mlp.{kind}_proj.bias" in c.tensors:
            raise VoidError(f"{name}.mlp.{kind}_proj has a bias")
    return LlamaBlockParts(
        c.tensor(f"{name}.self_attn.q_proj.weight", wide, d),
        c.tensor(f"{name}.self_attn.k_proj.weight", narrow, d),
        c.tensor(f"{name}.self_attn.v_proj.weight", narrow, d),
        c.tensor(f"{name}.self_attn.o_proj.weight", d, wide),
        c.tensor(f"{name}.mlp.gate_proj.weight", hidden, d),
        c.tensor(f"{name}.mlp.up_proj.weight", hidden, d),
        c.tensor(f"{name}.mlp.down_proj.weight", d, hidden),
    )


def forms_of(rows: Array) -> list[Form]:
    """The rows of a matrix as forms over coordinates."""
    return forms(rows.T.astype(np.float64), np.zeros(len(rows), np.float32))


def _attend(
    found: LlamaDerivation,
    block: LlamaBlockParts,
    at: int,
    h: int,
    cells: list[Cell],
    attended: list[Cell],
    number: int,
    atoms: BoundedAtoms,
    digits: set[int],
) -> int:
    """Add what a head writes; 1 if it is a head at all."""
    c = found.checkpoint
    size, half = c.head_dim, c.head_dim // 2
    own = slice(h * size, (h + 1) * size)
    group = h // (c.n_head // c.n_kv)
    shared = slice(group * size, (group + 1) * size)
    where = f"block {at}, head {h}"
    query, key = forms_of(block.query[own]), forms_of(block.key[shared])
    written = block.output[:, own]
    targets, columns = np.nonzero(written)
    if len(set(targets.tolist())) != len(targets):
        raise VoidError(f"{where} adds several values to one coordinate")
    if not len(targets):
        if any(form.weights for form in query):
            raise VoidError(f"{where} has scores, but writes nothing")
        return 0
    value = forms_of(block.value[shared])
    forms_of_head = HeadForms(
        block=at,
        head=h,
        number=number,
        query=list(zip(query[:half], query[half:], strict=True)),
        key=list(zip(key[:half], key[half:], strict=True)),
        values=[value[column] for column in columns.tolist()],
        targets=[float(written[a, b]) for a, b in zip(targets, columns, strict=True)],
        frequencies=found.frequencies,
        root=float(isqrt(size)),
        context=c.context,
        raw=False,
    )
    head, made = recognise(forms_of_head, cells, atoms)
    block.heads.append(head)
    block.targets.append(targets.tolist())
    for place, cell in zip(targets.tolist(), made, strict=True):
        expected = 0.0 if isinstance(cell, MeanCell) else -1.0
        if attended[place] != ConstantCell(expected, expected):
            raise VoidError(f"{where} writes coordinate {place}, which does not wait for a head")
        attended[place] = cell
        if isinstance(head, DigitHead):
            digits.add(place)
    return 1


def _logits(c: LlamaCheckpoint) -> tuple[list[Form], bool]:
    """The read-out's rows as forms over coordinates, and whether there is a bias."""
    weight = c.tensor("lm_head.weight" if c.head == "lm" else "score.weight")
    if weight.ndim != 2 or weight.shape[1] != c.d_model:
        raise VoidError("the read-out does not read the residual stream")
    biased = c.head != "lm" and bool(c.tensor("score.bias", len(weight)).any())
    return forms_of(weight), biased
