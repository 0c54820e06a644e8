"""Weights that nothing reads void a certificate, wherever they are planted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.export.checking import certify_export
from softhat.export.reading import read_export
from softhat.io.errors import VoidError
from softhat.proof.llama.checkpoint import LlamaCheckpoint
from softhat.proof.stock.ledger import check_ledger

FORMULA = "Y a | #(a) > #(b)"


def written(folder: Path, family: str) -> Any:
    model = softhat.compile(FORMULA, alphabet="ab")
    if family == "gpt2":
        softhat.to_gpt2(model, folder, 12)
    else:
        softhat.to_llama(model, folder, 12, family=family)
    return read_export(folder)


@pytest.mark.parametrize("family", ["gpt2", "llama", "mistral", "qwen2"])
def test_idle_weights(family: str, tmp_path: Path) -> None:
    """Every row of queries, keys, values and units that is 0 gets one weight, however small."""
    export = written(tmp_path / "m", family)
    c = export.checkpoint
    assert c is not None
    check_ledger(c)
    planted = 0
    for name, tensor in c.tensors.items():
        idle = idle_places(name, tensor)
        for at in idle[:: max(1, len(idle) // 6)]:
            other = tensor.copy()
            other[at] = 2.0**-20
            changed = replace(c, tensors={**c.tensors, name: other})
            if takes_part(c, name, at):
                continue
            planted += 1
            if "o_proj" not in name:  # a head of a group may write what another one's values are
                with pytest.raises(VoidError):
                    check_ledger(changed)
            assert certify_export(replace(export, checkpoint=changed)).void
    assert planted >= 6


def idle_places(name: str, tensor: Any) -> list[tuple[int, ...]]:
    """An entry of each row (of a column, for GPT-2's matrices) that is 0 throughout."""
    if tensor.ndim != 2 or ("proj" not in name and "c_attn" not in name and "c_fc" not in name):
        return []
    by_column = "c_attn" in name or "c_fc" in name or "o_proj" in name or "down_proj" in name
    zero = np.flatnonzero(~tensor.any(axis=0 if by_column else 1))
    return [(0, int(k)) if by_column else (int(k), 0) for k in zero]


def takes_part(c: Any, name: str, at: tuple[int, ...]) -> bool:
    """Its partner is there: the other half of a rotary pair, whose query or key is not 0."""
    if not isinstance(c, LlamaCheckpoint) or not name.endswith(("q_proj.weight", "k_proj.weight")):
        return False
    half, tensor = c.head_dim // 2, c.tensors[name]
    start = at[0] // c.head_dim * c.head_dim
    partner = start + (at[0] - start + half) % c.head_dim
    if tensor[partner].any():
        return True
    if name.endswith("k_proj.weight"):
        return False
    heads = c.n_head // c.n_kv  # of which another one may have a query there
    group = at[0] // (heads * c.head_dim)
    key = c.tensors[name.replace("q_proj", "k_proj")]
    own = group * c.head_dim + at[0] % c.head_dim
    other = group * c.head_dim + (at[0] + half) % c.head_dim
    return bool(key[own].any() or key[other].any())


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_what_overflows_where_nothing_reads(family: str, tmp_path: Path) -> None:
    """0 times infinity is no number: such a weight changes answers, read or not."""
    export = written(tmp_path / "m", family)
    c = export.checkpoint
    assert c is not None
    name = (
        "transformer.h.0.mlp.c_fc.weight"
        if family == "gpt2"
        else "model.layers.0.mlp.up_proj.weight"
    )
    tensor = c.tensors[name].copy()
    place = idle_places(name, tensor)[0]
    tensor[place] = 2.0**127
    changed = replace(export, checkpoint=replace(c, tensors={**c.tensors, name: tensor}))
    assert certify_export(changed).void
