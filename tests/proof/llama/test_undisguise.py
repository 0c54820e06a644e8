"""A disguised Llama along its directions is the plain one, but for where constants are read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.export.llama.to_llama import checkpoint
from softhat.export.reading import read_export
from softhat.export.stock.options import StockOptions
from softhat.io.errors import VoidError
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.llama.undisguise import pair_norms, undisguise
from softhat.proof.stock.derivation import derive
from softhat.transformer.directions import Directions


def read(folder: Path, text: str, seed: int = 4) -> tuple[LlamaCheckpoint, Directions]:
    softhat.to_llama(softhat.compile(text, "ab"), folder, 64, disguise=seed)
    export = read_export(folder)
    assert isinstance(export.checkpoint, LlamaCheckpoint) and export.directions is not None
    return export.checkpoint, export.directions


@pytest.mark.parametrize("text", ["a S (b & Y a)", "#(a) > #(Y b)", "Y (a S !Y b) | #(b) >= 2"])
def test_what_is_written_comes_out_as_it_went_in(text: str, tmp_path: Path) -> None:
    c, directions = read(tmp_path / "m", text)
    plain = undisguise(c, directions).checkpoint
    model = softhat.compile(text, "ab")
    trunk = checkpoint(model, "llama", "rope", StockOptions(64, disguise=4)).trunk
    assert np.array_equal(plain.embedding().tokens, trunk.tokens)
    for at, block in enumerate(trunk.blocks):
        made = plain.over_variables(at).output
        size = c.head_dim  # values are numbered by head, in their order
        for h in range(plain.n_head):
            own = slice(h * size, (h + 1) * size)
            kept = [block.output[:, own][:, r] for r in np.flatnonzero(block.output[:, own].any(0))]
            seen = [made[:, own][:, r] for r in np.flatnonzero(made[:, own].any(0))]
            assert sorted(map(tuple, kept)) == sorted(map(tuple, seen))
    derive(plain, read_export(tmp_path / "m").formulas)


def test_other_directions_are_refused(tmp_path: Path) -> None:
    c, directions = read(tmp_path / "m", "a S b")
    with pytest.raises(VoidError, match="orthonormal"):
        undisguise(c, replace(directions, residual=directions.residual * np.float32(1.1)))
    with pytest.raises(VoidError, match="not of this checkpoint"):
        undisguise(c, replace(directions, heads=directions.heads[:-1]))
    with pytest.raises(VoidError, match="as many directions"):
        undisguise(c, replace(directions, residual=directions.residual[:-1]))
    one = replace(directions.heads[0][0], value=np.ones((1, 3), np.float32))
    heads = ((one, *directions.heads[0][1:]), *directions.heads[1:])
    with pytest.raises(VoidError, match="not of this head"):
        undisguise(c, replace(directions, heads=heads))


def test_norms_of_rotary_pairs() -> None:
    rows = np.array([[3.0], [0.0], [4.0], [1.0]])  # one head: coordinates 0 and 2 turn together
    assert np.array_equal(pair_norms(rows, 4), [5.0, 1.0, 5.0, 1.0])
