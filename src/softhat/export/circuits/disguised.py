"""The structure of a disguised GPT-2: who reads and writes what, in a basis where it shows.

A disguised checkpoint has no zeros, so its edges are those of the plain checkpoint that it stands
for, read along its directions. What no output needs (distractors) is left out, going back from
the read-out: it has edges of its own, but none of them is part of the circuit.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from softhat.errors import SofthatError
from softhat.export.circuits.network import Array
from softhat.export.reading import read_export
from softhat.proof.cells import VoidError
from softhat.proof.gpt2.checkpoint import Checkpoint
from softhat.proof.gpt2.undisguise import undisguise


def needed_structure(folder: Path) -> dict[str, Array]:
    """The plain tensors, without what no output needs."""
    export = read_export(folder)
    assert isinstance(export.checkpoint, Checkpoint) and export.directions is not None
    try:
        plain = undisguise(export.checkpoint, export.directions).checkpoint
    except VoidError as error:
        raise SofthatError(f"{folder}: {error}") from None
    w = {
        name.removeprefix("transformer."): np.array(value, np.float64)
        for name, value in plain.tensors.items()
    }
    last = "lm_head.weight" if plain.head == "lm" else "classifier.weight"
    needed = w[last].any(axis=0)
    size, d = plain.d_head, plain.d_model
    for at in range(plain.blocks - 1, -1, -1):
        into, out = w[f"h.{at}.mlp.c_fc.weight"], w[f"h.{at}.mlp.c_proj.weight"]
        idle = np.logical_not(out[:, needed].any(axis=1))
        out[idle] = 0.0
        into[:, idle] = 0.0
        needed |= into.any(axis=1)
        attn, proj = w[f"h.{at}.attn.c_attn.weight"], w[f"h.{at}.attn.c_proj.weight"]
        idle = np.logical_not(proj[:, needed].any(axis=1))
        proj[idle] = 0.0
        attn[:, 2 * d :][:, idle] = 0.0
        for h in range(plain.n_head):
            own = slice(h * size, (h + 1) * size)
            if idle[own].all():
                for part in range(3):
                    attn[:, part * d + own.start : part * d + own.stop] = 0.0
        needed |= attn.any(axis=1)
    return w
