"""The structure of a disguised checkpoint: who reads and writes what, in a basis where it shows.

A disguised checkpoint has no zeros, so its edges are those of the plain checkpoint that it stands
for, read along its directions.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from softhat.circuits.network import Array
from softhat.export.reading import read_export
from softhat.io.errors import SofthatError, VoidError
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.gpt2.undisguise import undisguise as undisguise_gpt2
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.llama.undisguise import undisguise as undisguise_llama


def plain_tensors(folder: Path) -> dict[str, Array]:
    """The tensors of the plain checkpoint that a disguised one stands for."""
    export = read_export(folder)
    checkpoint, directions = export.checkpoint, export.directions
    assert directions is not None
    plain: GPT2Checkpoint | LlamaCheckpoint
    try:
        if isinstance(checkpoint, LlamaCheckpoint):
            plain = undisguise_llama(checkpoint, directions).checkpoint
        else:
            assert isinstance(checkpoint, GPT2Checkpoint)
            plain = undisguise_gpt2(checkpoint, directions).checkpoint
    except VoidError as error:
        raise SofthatError(f"{folder}: {error}") from None
    return {name: np.array(value, np.float64) for name, value in plain.tensors.items()}
