"""Logits: their errors against floats that add in any order; what cancels hides nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.export.checking import certify_export
from softhat.export.reading import Export, read_export
from softhat.io.errors import VoidError
from softhat.numerics.formats import FORMATS
from softhat.proof.stock.distribution import ReadHead
from softhat.proof.stock.logits import ReadVariables, check_logits, logit_errors
from softhat.proof.stock.variables import BitCell, ConstantCell
from tests.export.stock_models import answers, stock, torch
from tests.transformer.lowering.suite import expected, long_words

CELLS = [ConstantCell(1.0, 1.0), ConstantCell(2.0, 2.0), ConstantCell(0.0, 1.0), BitCell(3)]


@pytest.mark.parametrize("name", ["float32", "float16"])
@pytest.mark.parametrize("cancelling", [0.0, 2.0**6, 2.0**18])
def test_sums_in_any_order_stay_within(name: str, cancelling: float) -> None:
    """At `<bos>` and elsewhere, of rows that read constants which cancel."""
    storage, rng = FORMATS[name], np.random.default_rng(int(cancelling))
    if storage.name == "float16" and cancelling > 1000:
        return
    row = np.array([[cancelling, -cancelling / 2, 3.0, 1.7]])
    row = row.astype(storage.storage).astype(np.float64)
    off = np.array([0.0, 0.0, 0.0, 1e-6])
    (bound,) = logit_errors(row, 1, ReadVariables(CELLS, off, 2.0**-20), storage, True)
    for held in ([1, 2, 0, 1], [1, 2, 0, -1], [1, 2, 1, -1]):
        exact = float(row[0] @ np.array(held, float))
        for _ in range(50):
            factor = 1 + 2.0**-20 * rng.choice([-1, 1])
            read = (np.array(held) + off * rng.uniform(-1, 1, 4)) * factor
            terms = row[0].astype(np.float32) * read.astype(np.float32)
            total = np.float32(0.0)
            for at in rng.permutation(4):
                total = np.float32(total + terms[at])
            assert abs(float(total.astype(storage.storage)) - exact) <= bound


def test_a_sign_is_kept_or_nothing_is_said() -> None:
    head = ReadHead(sizes=(1.0, 4.0))
    assert check_logits(head, [0.4, 1.9], None) == {}
    with pytest.raises(VoidError, match="too far"):
        check_logits(head, [0.6, 1.9], None)
    with pytest.raises(VoidError, match="margin"):
        check_logits(ReadHead(margin=20.0), [0.1, 0.2], 19.8)


TARGETS: dict[str, Any] = {"gpt2": softhat.to_gpt2, "llama": softhat.to_llama}


def constants(tensors: dict[str, Any], target: str) -> tuple[int, int, float]:
    """Two variables that are the same everywhere and that nothing writes: 1, and another value."""
    if target == "llama":
        table = tensors["model.embed_tokens.weight"]
        (twos,) = np.nonzero((table == 2).all(axis=0))
        return 0, int(twos[0]), 2.0
    table = tensors["transformer.wte.weight"][:1, 0::2] + tensors["transformer.wpe.weight"][:, 0::2]
    written = sum(abs(t).sum(axis=0) for n, t in tensors.items() if n.endswith("c_proj.weight"))
    fixed = (table == table[0]).all(axis=0) & (written[0::2] == 0)
    other = next(int(p) for p in np.flatnonzero(fixed)[::-1] if table[0, p] >= 1)
    return 0, other, float(table[0, other])


def cancelled(export: Export, target: str, where: str, size: float) -> dict[str, Any]:
    """Tensors whose read-out, or the keys of whose comparison, read `size` times 1 and as much of
    another constant less: 0 in exact arithmetic."""
    assert export.checkpoint is not None
    tensors = {name: np.array(t) for name, t in export.checkpoint.tensors.items()}
    one, other, value = constants(tensors, target)
    if where == "read-out":
        matrix = tensors["score.weight" if target == "llama" else "classifier.weight"]
        rows, signs = [0, 1], [-1.0, 1.0]
    elif target == "llama":
        matrix = tensors["model.layers.1.self_attn.k_proj.weight"]
        rows, signs = [int(np.argwhere(matrix)[0, 0])], [1.0]
    else:
        wide = tensors["transformer.h.1.attn.c_attn.weight"]
        matrix, rows, signs = wide.T, [len(wide)], [1.0]
    for row, sign in zip(rows, signs, strict=True):
        for at, weight in ((one, size), (other, -size / value)):
            if target == "llama":
                matrix[row, at] += sign * weight
            else:
                matrix[row, 2 * at] += sign * weight
                matrix[row, 2 * at + 1] -= sign * weight
    return tensors


@pytest.mark.parametrize("where", ["read-out", "keys"])
@pytest.mark.parametrize("target", TARGETS)
def test_constants_that_cancel_are_not_certified_and_wrong(
    where: str, target: str, tmp_path: Path
) -> None:
    f = softhat.parse("#(a) >= #(b)")
    TARGETS[target](softhat.compile(f, alphabet="ab"), tmp_path / "m", context=32)
    export = read_export(tmp_path / "m")
    model, codes = stock(tmp_path / "m"), long_words(31, 2, 1)
    assert export.checkpoint is not None
    lengths = []
    for power in (0, 12, 24, 30, 36):
        tensors = cancelled(export, target, where, 2.0**power if power else 0.0)
        changed = replace(export, checkpoint=replace(export.checkpoint, tensors=tensors))
        lengths.append(certify_export(changed).max_length["float32"])
        model.load_state_dict({n: torch.from_numpy(t) for n, t in tensors.items()}, strict=False)
        longest = lengths[-1]
        assert (answers(model, codes) == expected(f, codes, "ab"))[:, :longest].all()
    assert lengths[0] == 31 and lengths[-1] == 0
