"""The structure of a disguised checkpoint: who reads and writes what, in a basis where it shows.

A disguised checkpoint has no zeros, so its edges are those of the plain checkpoint that it stands
for, read along its directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from softhat.errors import SofthatError
from softhat.export.circuits.network import Array
from softhat.export.circuits.structure import Block, Head, Structure, Wires, needed
from softhat.export.gpt2_disguise import DIRECTIONS
from softhat.export.reading import read_export
from softhat.files import read_tensors
from softhat.proof.cells import VoidError
from softhat.proof.gpt2.checkpoint import Checkpoint
from softhat.proof.gpt2.undisguise import NEAR, undisguise

SCORED = 2.0**-8
"""Pairs of queries and keys whose product is smaller are filling: a score of an export is far
larger, and what fills empty pairs of a Llama's disguise is below 2^-16."""
WRITTEN = 2.0**-10
"""Values, and what is written of them, are larger than this; filling has one of both, never both,
up to rounding."""


def plain_gpt2(folder: Path) -> dict[str, Array]:
    """The tensors of the plain GPT-2 that a disguised one stands for."""
    export = read_export(folder)
    assert isinstance(export.checkpoint, Checkpoint) and export.directions is not None
    try:
        plain = undisguise(export.checkpoint, export.directions).checkpoint
    except VoidError as error:
        raise SofthatError(f"{folder}: {error}") from None
    return {
        name.removeprefix("transformer."): np.array(value, np.float64)
        for name, value in plain.tensors.items()
    }


def llama_structure(
    folder: Path, w: Mapping[str, Array], blocks: int, heads: int, shared: int, readout: str
) -> Structure:
    """Where the weights `w` of a disguised Llama are, over its directions; without distractors."""
    found = read_tensors(folder / DIRECTIONS, inside=folder)
    basis = np.asarray(found["residual"], np.float64).T  # (d_model, variables)

    def along(matrix: Array) -> Array:
        """Rows that read the residual stream, over its variables; what is rounding is 0."""
        rows = matrix @ basis
        near = 4 * NEAR * np.sqrt((matrix**2).sum(axis=1, keepdims=True))
        return np.where(np.abs(rows) > near, rows, 0.0)

    made = []
    for at in range(blocks):
        attention, mlp = f"layers.{at}.self_attn.", f"layers.{at}.mlp."
        size = len(w[attention + "q_proj"]) // heads
        placed = []
        for h in range(heads):
            own = slice(h * size, (h + 1) * size)
            group = slice(h // shared * size, (h // shared + 1) * size)
            query, key = w[attention + "q_proj"][own], w[attention + "k_proj"][group]
            scored = _scored(query, key)
            space = np.asarray(found[f"blocks.{at}.key_value_heads.{h // shared}.value"])
            value = along(space @ w[attention + "v_proj"][group])
            output = along(space @ w[attention + "o_proj"][:, own].T)
            size_of = [np.sqrt((rows**2).sum(axis=1)) for rows in (value, output)]
            used = np.minimum(*size_of) > WRITTEN
            wires = (along(query[scored]), along(key[scored]), value[used], output[used])
            placed.append(Head(*(rows != 0 for rows in wires)))
        units = np.asarray(found[f"blocks.{at}.units.part"]) >= 0
        gate, up, down = (
            along(matrix[units]) != 0
            for matrix in (w[mlp + "gate_proj"], w[mlp + "up_proj"], w[mlp + "down_proj"].T)
        )
        made.append(Block(tuple(placed), gate | up, down))
    return needed(Structure(along(w["embed_tokens"]) != 0, tuple(made), along(w[readout]) != 0))


def _scored(query: Array, key: Array) -> Wires:
    """The rows of the rotary pairs whose product is a score, and no filling."""
    half = len(query) // 2

    def pairs(rows: Array) -> Array:
        size: Array = np.sqrt((rows[:half] ** 2).sum(axis=1) + (rows[half:] ** 2).sum(axis=1))
        return size

    return np.tile(pairs(query) * pairs(key) > SCORED, 2)
