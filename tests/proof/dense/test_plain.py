"""The plain checkpoint that a disguised one stands for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.export.reading import read_export
from softhat.io.errors import VoidError
from softhat.proof.dense.plain import PlainCheckpoint, check_orthonormal
from softhat.proof.stock.checkpoint import Embedding


def test_what_overflows_float32_is_refused(tmp_path: Path) -> None:
    softhat.to_gpt2(softhat.compile("a", "a"), tmp_path / "m", 16)
    c = read_export(tmp_path / "m").checkpoint
    assert c is not None
    blocks = [c.over_variables(at) for at in range(c.architecture.blocks)]
    table, basis = c.embedding(), np.eye(c.d_model)
    plain = PlainCheckpoint.of(c, table, blocks, basis)
    assert plain.architecture.context == c.architecture.context and not plain.tensors
    with pytest.raises(VoidError, match="not a finite float32"):
        tokens = np.full_like(table.tokens, np.inf)
        PlainCheckpoint.of(c, Embedding(tokens, table.positions), blocks, basis)


def test_directions_are_orthonormal() -> None:
    check_orthonormal(np.eye(3)[:2], "they")
    check_orthonormal(np.zeros((0, 3)), "they")
    for rows in (np.ones((1, 2)), np.eye(2)[[0, 0]], np.zeros((3, 2))):
        with pytest.raises(VoidError, match="they are not orthonormal"):
            check_orthonormal(rows, "they")
