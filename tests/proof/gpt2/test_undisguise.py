"""A disguised GPT-2 along its directions is the trunk that was disguised."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.export.reading import read_export
from softhat.io.errors import VoidError
from softhat.proof.gpt2.checkpoint import GPT2Checkpoint
from softhat.proof.gpt2.undisguise import undisguise
from softhat.proof.stock.derivation import derive
from softhat.transformer.directions import Directions
from softhat.transformer.lowering.gpt2 import disguise
from softhat.transformer.lowering.gpt2.layout import Layout
from softhat.transformer.lowering.stock.trunk import Trunk


def read(folder: Path, text: str) -> tuple[GPT2Checkpoint, Directions]:
    softhat.to_gpt2(softhat.compile(text, "ab"), folder, 64, disguise=4)
    export = read_export(folder)
    assert isinstance(export.checkpoint, GPT2Checkpoint) and export.directions is not None
    return export.checkpoint, export.directions


@pytest.mark.parametrize("text", ["a S (b & Y a)", "#(a) > #(Y b)"])
def test_what_is_written_comes_out_as_it_went_in(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trunks: list[Trunk[Layout]] = []
    before = disguise.disguise

    def noted(trunk: Trunk[Layout], seed: int) -> disguise.DisguisedGPT2:
        trunks.append(trunk)
        return before(trunk, seed)

    monkeypatch.setattr("softhat.export.gpt2.to_gpt2.disguised", noted)
    c, directions = read(tmp_path / "m", text)
    (trunk,) = trunks
    plain = undisguise(c, directions).checkpoint
    assert trunk.positions is not None
    used = len(directions.residual)
    assert np.array_equal(plain.embedding().tokens, trunk.tokens[:, :used])
    assert np.array_equal(plain.embedding().positions, trunk.positions[:, :used])
    for at, block in enumerate(trunk.blocks):
        read_back = plain.over_variables(at)
        for made, written in (
            (read_back.output.T, block.output[:used].T),
            (read_back.down.T, block.down[:used].T),
            (read_back.gate.weights, block.gate[:, :used]),
        ):  # heads and units stand in another order
            rows = [sorted(map(tuple, matrix[matrix.any(axis=1)])) for matrix in (made, written)]
            assert rows[0] == rows[1]
    derive(plain, read_export(tmp_path / "m").formulas)


def test_other_directions_are_refused(tmp_path: Path) -> None:
    c, directions = read(tmp_path / "m", "a S b")
    with pytest.raises(VoidError, match="not of this checkpoint"):
        undisguise(c, replace(directions, heads=directions.heads[:-1]))
    with pytest.raises(VoidError, match="not of this checkpoint"):
        undisguise(c, replace(directions, units=directions.units[:-1]))
    with pytest.raises(VoidError, match="not of these heads"):
        undisguise(c, replace(directions, heads=(directions.heads[0][:-1], *directions.heads[1:])))
    first, *others = directions.heads[0]
    size = first.value.shape[1]
    for rows, reason in (
        (np.ones((1, 3), np.float32), "not of this head"),
        (np.full((1, size), 0.5, np.float32), "not orthonormal"),
        (np.concatenate([np.eye(size), np.eye(size)[:1]]).astype(np.float32), "not orthonormal"),
    ):
        heads = ((replace(first, value=rows), *others), *directions.heads[1:])
        with pytest.raises(VoidError, match=reason):
            undisguise(c, replace(directions, heads=heads))
