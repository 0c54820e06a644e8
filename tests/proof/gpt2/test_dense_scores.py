"""The certificate of a disguised GPT-2: measured errors stay within it, and tampered checkpoints
are never certified and wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.circuits.stock_network import StockNetwork
from softhat.export.reading import Export, read_export
from softhat.proof.stock.certify import certify, dense_bounds, undisguised
from softhat.proof.stock.derivation import derive
from softhat.proof.stock.variables import BitCell
from softhat.transformer.directions import Directions
from tests.proof.tampering import CLAIMS, WEIGHTS, Mutation
from tests.slices import sizes
from tests.transformer.lowering.suite import all_codes, expected, long_words

FORMULAS = ["a S (b & Y a)", "(#(a) > #(Y b)) & O b", "Y (a S !Y b) | #(b) >= 2"]
CONTEXT = 128


def made(text: str, folder: Path, seed: int = 1) -> Export:
    softhat.to_gpt2(softhat.compile(text, "ab"), folder, CONTEXT, disguise=seed)
    return read_export(folder)


def float32_answers(tensors: dict[str, Any], n_head: int, codes: Any) -> Any:
    """A stock GPT-2's forward pass in float32: (words, n) truth values."""
    w = {name.removeprefix("transformer."): value for name, value in tensors.items()}
    d = w["wpe.weight"].shape[1]
    size = d // n_head
    ids = np.concatenate([np.full((len(codes), 1), 2), codes], axis=1)
    x = w["wte.weight"][ids] + w["wpe.weight"][: ids.shape[1]]
    hidden = np.triu(np.full((ids.shape[1],) * 2, -np.inf, np.float32), 1)

    def norm(name: str) -> Any:
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        return centred / spread * w[f"{name}.weight"] + w[f"{name}.bias"]

    with np.errstate(all="ignore"):
        for at in range(max(int(name.split(".")[1]) for name in w if name[:2] == "h.") + 1):
            y = norm(f"h.{at}.ln_1") @ w[f"h.{at}.attn.c_attn.weight"]
            y = y + w[f"h.{at}.attn.c_attn.bias"]
            parts = [p.reshape(*ids.shape, n_head, size).swapaxes(1, 2) for p in np.split(y, 3, -1)]
            scores = parts[0] @ parts[1].swapaxes(2, 3) / np.float32(size**0.5) + hidden
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            mixed = weights / weights.sum(axis=-1, keepdims=True) @ parts[2]
            mixed = mixed.swapaxes(1, 2).reshape(*ids.shape, d)
            x = x + mixed @ w[f"h.{at}.attn.c_proj.weight"] + w[f"h.{at}.attn.c_proj.bias"]
            y = norm(f"h.{at}.ln_2") @ w[f"h.{at}.mlp.c_fc.weight"] + w[f"h.{at}.mlp.c_fc.bias"]
            y = np.maximum(y, 0) @ w[f"h.{at}.mlp.c_proj.weight"]
            x = x + y + w[f"h.{at}.mlp.c_proj.bias"]
        logits = norm("ln_f") @ w["classifier.weight"].T + w["classifier.bias"]
    assert x.dtype == np.float32
    return (logits[..., 1] > logits[..., 0])[:, 1:]


def words(longest: int) -> Iterator[Any]:
    for n in (1, 2, 3, 6):
        if n <= longest:
            yield all_codes(2, n)
    yield long_words(longest, 2, longest)


def errors(tensors: dict[str, Any], n_head: int, formula: Any, longest: int) -> int:
    return sum(
        int((float32_answers(tensors, n_head, codes) != expected(formula, codes, "ab")).sum())
        for codes in words(longest)
    )


@pytest.mark.parametrize("text", FORMULAS)
def test_measured_errors_stay_within_the_bounds(text: str, tmp_path: Path) -> None:
    export = made(text, tmp_path / "m")
    c, directions = export.checkpoint, export.directions
    assert c is not None and directions is not None
    stands_for = undisguised(c, directions)
    found = derive(stands_for.checkpoint, export.formulas)
    bounds = dense_bounds(stands_for, found, directions, True, None)
    bounds.check(CONTEXT - 1)
    assert not errors(dict(c.tensors), c.n_head, export.formulas["output"], CONTEXT - 1)
    # Stored bits, read along their directions in float64: ±1 up to the bound.
    network = StockNetwork(tmp_path / "m")
    seen: dict[str, Any] = {}
    network.run(long_words(CONTEXT - 1, 2, 5), seen=seen)
    last = seen[f"blocks.{c.blocks - 1}.hook_resid_post"]
    values = last @ directions.residual.astype(np.float64).T
    stored = [p for p, cell in enumerate(found.cells[-1]) if isinstance(cell, BitCell)]
    off = np.abs(np.abs(values[..., stored]) - 1).max()
    assert off <= bounds.bounds["stored bit"] + bounds.bounds["noise"]


def out_of_span(
    rng: np.random.Generator, tensors: dict[str, Any], directions: Directions
) -> Directions:
    """A write that no direction sees, but LayerNorm does."""
    name = str(rng.choice([n for n in sorted(tensors) if n.endswith("c_proj.weight")]))
    basis = directions.residual.astype(np.float64)
    vector: Any = rng.standard_normal(basis.shape[1])
    vector -= (basis @ vector) @ basis
    row = int(rng.integers(len(tensors[name])))
    tensors[name][row] += (10.0 ** rng.uniform(-4, 2) * vector).astype(np.float32)
    return directions


MUTATIONS: list[Mutation] = [*WEIGHTS, *CLAIMS, out_of_span]


def attack(exports: list[Export], count: int, seed: int) -> tuple[int, int, int]:
    """Mutants, those that are still certified, and those that are certified and wrong."""
    rng = np.random.default_rng(seed)
    certified = wrong = 0
    for k in range(count):
        export = exports[k % len(exports)]
        c, directions = export.checkpoint, export.directions
        assert c is not None and directions is not None
        tensors = {name: tensor.copy() for name, tensor in c.tensors.items()}
        mutation = MUTATIONS[int(rng.integers(len(MUTATIONS)))]
        directions = mutation(rng, tensors, directions)
        proved = certify(replace(c, tensors=tensors), export.formulas, "sdpa", None, directions)
        longest = proved.max_length["float32"]
        if longest:
            certified += 1
            if errors(tensors, c.n_head, export.formulas["output"], longest):
                wrong += 1
                print(mutation.__name__, longest, export.formulas)
    return count, certified, wrong


@pytest.mark.parametrize("count", sizes(45, 90))
def test_tampered_checkpoints_are_never_certified_and_wrong(tmp_path: Path, count: int) -> None:
    exports = [made(text, tmp_path / f"{k}", k) for k, text in enumerate(FORMULAS)]
    _, certified, wrong = attack(exports, count, 1)
    assert not wrong
    assert 0.055 * count < certified < 0.78 * count  # some damage is small, and most is not


@pytest.mark.full
def test_many_tampered_checkpoints(tmp_path: Path) -> None:
    texts = [*FORMULAS, "#(a) = #(b)", "H (a -> Y b)", "a S (b S (a & Y b))"]
    exports = [made(text, tmp_path / f"{k}", k) for k, text in enumerate(texts)]
    count, certified, wrong = attack(exports, 3000, 2)
    print(f"{count} mutants, {certified} certified, {wrong} wrong")
    assert not wrong
