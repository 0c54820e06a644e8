"""Attacks on proofs: many words in every kernel, and weights nudged until models break."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import softhat
from softhat.trained.checkpoint import read_checkpoint
from softhat.trained.decisions import Decisions
from softhat.trained.one_layer import OneLayer, cells_to
from softhat.trained.question import TrainedQuestion
from softhat.trained.replay import Replay
from softhat.trained.rounding import rounding_of
from softhat.trained.specification import FAR, Specification, read_specification
from tests.slices import every

MODELS = Path(__file__).resolve().parent / "models"


def words_of(spec: Specification, length: int, count: int, seed: int) -> list[list[int]]:
    """Random words, many with long runs."""
    random = np.random.default_rng(seed)
    words = []
    for _ in range(count):
        state, word = spec.start, list[int]()
        sticking = random.choice([0.0, 0.5, 0.9, 0.97])
        while len(word) < length:
            choices = np.flatnonzero(spec.step[state] >= 0)
            if not word or word[-1] not in choices or random.random() >= sticking:
                word.append(int(random.choice(choices)))
            else:
                word.append(word[-1])
            state = int(spec.step[state, word[-1]])
        words.append(word)
    return words


def attack(name: str, count: int, seed: int) -> tuple[int, int]:
    """(words tried, margins below their cell's proved bound), over kernels, threads, batches."""
    import torch

    folder = MODELS / name
    model, spec = read_checkpoint(folder), read_specification(folder / "spec.json")
    most = model.context - 2
    question = TrainedQuestion(model, spec, 0, most, "completable", rounding_of("float32"))
    bounds = np.full((most + 1, len(spec.symbols), spec.states), -np.inf)
    for outcome in OneLayer(question).prove(cells_to(question), np.inf, lambda: FAR):
        if outcome.proved:
            for state in outcome.cell.states:
                bounds[outcome.cell.read, outcome.cell.last, state] = outcome.margin
    tried = below = 0
    threads = torch.get_num_threads()
    try:
        for round_, attention in enumerate(("eager", "sdpa")):
            replay = Replay(model, attention=attention)
            words = words_of(spec, most, count, seed + round_)
            sizes = [1, 3, 32, 100]
            while words:
                size = sizes[tried % len(sizes)]
                torch.set_num_threads(1 + tried % 2)
                batch, words = words[:size], words[size:]
                ids = [[spec.bos, *(spec.ids[k] for k in word)] for word in batch]
                logits = replay.logits(ids)
                states = np.array([spec.run(word) for word in batch])
                margins = Decisions(spec, model.outputs).margins(logits, states)[:, 1:]
                reads = np.arange(1, most + 1)[None]
                known = bounds[reads, np.array(batch), states[:, 1:]]
                below += int((margins < known).sum())
                tried += len(batch)
    finally:
        torch.set_num_threads(threads)
    return tried, below


@pytest.mark.parametrize("name", every(2, ["once", "dyck2", "nonempty"]))
def test_no_margin_below_its_bound(name: str) -> None:
    pytest.importorskip("transformers")
    assert attack(name, 30, 0) == (60, 0)


@pytest.mark.full
@pytest.mark.parametrize("name", ["dyck2", "once", "nonempty"])
def test_no_margin_below_its_bound_in_many_words(name: str) -> None:
    pytest.importorskip("transformers")
    assert attack(name, 1700, 100) == (3400, 0)


def nudged(tmp_path: Path, seed: int) -> None:
    """A model with noise on its weights is never proved where a word breaks it."""
    random = np.random.default_rng(seed)
    folder = tmp_path / str(seed)
    shutil.copytree(MODELS / "nonempty", folder)
    made = load_file(folder / "model.safetensors")
    size = 10.0 ** random.uniform(-2.5, 0.3)
    for name, tensor in made.items():
        noise = random.normal(size=tensor.shape) * size * np.abs(tensor).mean()
        made[name] = (tensor + noise).astype(np.float32)
    save_file(made, folder / "model.safetensors", metadata={"format": "pt"})
    spec = read_specification(folder / "spec.json")
    model = read_checkpoint(folder)
    replay, failures = Replay(model), []
    for n in range(6):
        words = list(product(range(2), repeat=n))
        ids = [[spec.bos, *(spec.ids[k] for k in word)] for word in words]
        for word, row in zip(words, replay.logits(ids)[:, -1], strict=True):
            state = spec.run(word)[-1]
            if {k for k in range(len(row)) if row[k] > 0} != spec.allowed[state]:
                failures.append(spec.length(state, n, "completable"))
    shortest = min([length for length in failures if length <= 5], default=None)
    # The abstraction alone, without enumeration and search: it must see the failure itself.
    question = TrainedQuestion(model, spec, 0, 5, "completable", rounding_of("float32"))
    outcomes = OneLayer(question).prove(cells_to(question), np.inf, lambda: FAR)
    open_from = min([o.length for o in outcomes if not o.proved], default=6)
    empty = spec.length(spec.start, 0, "completable")
    if shortest is not None and shortest != empty:
        assert open_from <= shortest
    verdict = softhat.prove(model, spec, max_length=5, budget=4)
    if shortest is None:
        assert verdict.status != "refuted"
    else:
        assert verdict.status != "proved" and verdict.proved_to < shortest


@pytest.mark.parametrize("seed", range(8))
def test_nudged_weights(tmp_path: Path, seed: int) -> None:
    pytest.importorskip("transformers")
    nudged(tmp_path, seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(8, 220))
def test_many_nudged_weights(tmp_path: Path, seed: int) -> None:
    pytest.importorskip("transformers")
    nudged(tmp_path, seed)


UNIT = "transformer.h.0.mlp.c_fc"
OVERFLOWS: dict[str, Callable[[dict[str, Any]], None]] = {}
"""Weights with which a step of float32 overflows, though the exact result is right."""


def _overflowing(function: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    OVERFLOWS[function.__name__] = function
    return function


@_overflowing
def a_unit_that_nobody_reads(tensors: dict[str, Any]) -> None:
    tensors["transformer.h.0.mlp.c_proj.weight"][3] = 0
    tensors[f"{UNIT}.bias"][3] = 3.4e38
    tensors[f"{UNIT}.weight"][:2, 3] = 3e38, -3e38


@_overflowing
def terms_that_cancel(tensors: dict[str, Any]) -> None:
    tensors["transformer.h.0.mlp.c_proj.weight"][3] = 3e38
    tensors["transformer.h.0.mlp.c_proj.weight"][4] = -3e38
    tensors[f"{UNIT}.weight"][:, 4] = tensors[f"{UNIT}.weight"][:, 3]
    tensors[f"{UNIT}.bias"][3:5] = 100.0


@_overflowing
def scores_that_are_all_alike(tensors: dict[str, Any]) -> None:
    width = tensors["transformer.wte.weight"].shape[1]
    tensors["transformer.h.0.attn.c_attn.weight"][:, : 2 * width] = 0
    tensors["transformer.h.0.attn.c_attn.bias"][: 2 * width] = 1e25


@_overflowing
def squares_of_a_norm(tensors: dict[str, Any]) -> None:
    tensors["transformer.h.0.mlp.c_proj.bias"][:] = [1e25, -1e25] * 4


@pytest.mark.parametrize("site", every(2, sorted(OVERFLOWS)))
def test_overflow_is_never_proved(tmp_path: Path, site: str) -> None:
    pytest.importorskip("transformers")
    folder = tmp_path / "m"
    shutil.copytree(MODELS / "nonempty", folder)
    tensors = {name: t.copy() for name, t in load_file(folder / "model.safetensors").items()}
    OVERFLOWS[site](tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    model, spec = read_checkpoint(folder), read_specification(folder / "spec.json")
    row = Replay(model).logits([[spec.bos, spec.ids[0]]])[0, -1]
    state = spec.run([0])[-1]
    assert {k for k in range(len(row)) if row[k] > 0} != spec.allowed[state]
    question = TrainedQuestion(model, spec, 0, 2, "completable", rounding_of("float32"))
    outcomes = list(OneLayer(question).prove(cells_to(question), np.inf, lambda: FAR))
    assert not any(o.proved for o in outcomes if o.cell.read == 1 and o.cell.last == 0)
    assert softhat.prove(model, spec, max_length=2, budget=2).proved_to < 1
