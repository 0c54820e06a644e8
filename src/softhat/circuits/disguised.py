"""The structure of a disguised checkpoint: who reads and writes what, in a basis where it shows.

A disguised checkpoint has no zeros, so its edges are those of the plain checkpoint that it stands
for, read along its directions.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from softhat.circuits.structure import CircuitBlock, Structure, head_wires
from softhat.export.reading import read_export
from softhat.io.errors import SofthatError, VoidError
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.stock.certify import undisguised
from softhat.proof.stock.checkpoint import BlockMatrices, DecoderFacts


def structure_of(folder: Path) -> Structure:
    """Where the weights of the plain checkpoint are that a disguised one stands for."""
    export = read_export(folder)
    checkpoint, directions = export.checkpoint, export.directions
    assert directions is not None
    assert isinstance(checkpoint, GPT2Checkpoint | LlamaCheckpoint)
    try:
        plain = undisguised(checkpoint, directions).checkpoint
    except VoidError as error:
        raise SofthatError(f"{folder}: {error}") from None
    a, table = plain.architecture, plain.embedding()
    blocks = (_block(a, plain.over_variables(at)) for at in range(a.blocks))
    tables, (rows, _) = np.concatenate([table.tokens, table.positions]), plain.logit_rows()
    return Structure(tables != 0, tuple(blocks), rows.weights != 0)


def _block(a: DecoderFacts, block: BlockMatrices) -> CircuitBlock:
    heads = []
    for h in range(a.n_head):
        own, shared = a.rows_of(h)
        rows = {"q": block.query[own], "k": block.key[shared], "v": block.value[shared]}
        inputs = {slot: part.weights for slot, part in rows.items()}
        heads.append(head_wires(inputs, block.output[:, own].T, a.turns))
    into = block.gate.weights != 0
    if block.up is not None:
        into = into | (block.up.weights != 0)
    return CircuitBlock(tuple(heads), into, block.down.T != 0)
