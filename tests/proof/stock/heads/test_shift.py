"""Shift in stock decoders: one layer for a chain of `Y`, certified, right, void once changed."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.io.errors import VoidError
from softhat.proof.stock.heads.shift import distance_of_codes, distance_of_turns
from tests.export.stock_models import answers, stated, stock
from tests.proof.stock.attack import attack
from tests.slices import every
from tests.transformer.lowering.suite import all_codes, long_words


def before(codes: Any, distance: int) -> Any:
    """`a`, the letter 0, so many positions before: the definition."""
    held = np.zeros(codes.shape, bool)
    if distance < codes.shape[1]:
        held[:, distance:] = codes[:, : codes.shape[1] - distance] == 0
    return held


def within(codes: Any, low: int, high: int) -> Any:
    return np.any([before(codes, d) for d in range(low, high + 1)], axis=0)


TARGETS: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "rope": {"positions": "rope"},
    "bits": {"positions": "bits"},
}


def export(formula: str, folder: Path, target: str, context: int) -> int:
    """The number of layers."""
    model = softhat.compile(formula, "ab")
    if target == "gpt2":
        softhat.to_gpt2(model, folder, context)
    else:
        softhat.to_llama(model, folder, context, **TARGETS[target])
    config = json.loads((folder / "config.json").read_text())
    return int(config.get("n_layer", config.get("num_hidden_layers")))


@pytest.mark.parametrize(
    ("distance", "target"),
    [*product([2, 17, 63], TARGETS), *every(3, product([200], reversed(TARGETS)))],
)
def test_a_chain_of_yesterdays_is_one_layer(target: str, distance: int, tmp_path: Path) -> None:
    assert export("Y " * distance + "a", tmp_path / "m", target, 64) == 1
    assert softhat.certify(tmp_path / "m").ok
    lengths = stated(tmp_path / "m")["max_length"]
    assert lengths["float32"] == 63 and (target == "rope" or lengths["bfloat16"] == 63)
    for dtype, longest in lengths.items():
        if longest and dtype != "float64":
            model = stock(tmp_path / "m", dtype)
            for codes in (all_codes(2, 5), long_words(longest, 2, distance)):
                assert (answers(model, codes) == before(codes, distance)).all()


@pytest.mark.parametrize("target", TARGETS)
def test_a_window_is_one_layer_and_others_follow(target: str, tmp_path: Path) -> None:
    assert export("O[1,4] a", tmp_path / "m", target, 512) == 1
    codes = long_words(511, 2, 3)
    for dtype, longest in stated(tmp_path / "m")["max_length"].items():
        if longest and dtype != "float64":
            assert longest == 511
            found = answers(stock(tmp_path / "m", dtype), codes)
            assert (found == within(codes, 1, 4)).all()


@pytest.mark.parametrize(("target", "kernel"), [*product(TARGETS, ("sdpa", "eager"))])
def test_long_contexts_at_the_certified_length(target: str, kernel: Any, tmp_path: Path) -> None:
    distance = 300
    model = softhat.compile("Y " * distance + "a", "ab")
    if target == "gpt2":
        softhat.to_gpt2(model, tmp_path / "m", 512, kernel=kernel)
    else:
        softhat.to_llama(model, tmp_path / "m", 512, kernel=kernel, **TARGETS[target])
    lengths = stated(tmp_path / "m")["max_length"]
    assert lengths["float32"] == 511
    for dtype in ("float32", "bfloat16", "float16"):
        if longest := lengths[dtype]:
            codes = long_words(longest, 2, 5)[:4]
            found = answers(stock(tmp_path / "m", dtype, kernel), codes)
            assert (found == before(codes, distance)).all()


@pytest.mark.parametrize("target", TARGETS)
def test_no_changed_head_is_certified_and_wrong(target: str, tmp_path: Path) -> None:
    attacked(tmp_path, target, 30)


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_no_changed_head_is_certified_and_wrong_in_full(target: str, tmp_path: Path) -> None:
    attacked(tmp_path, target, 900)


def attacked(tmp_path: Path, target: str, mutations: int) -> None:
    export("(Y Y Y a) | (Y " + "Y " * 9 + "a)", tmp_path / "m", target, 32)
    seen = attack(
        tmp_path / "m",
        lambda codes: before(codes, 3) | before(codes, 10),
        [long_words(31, 2, 1)],
        mutations,
        seed=mutations,
    )
    assert seen["void"] > 0


def codes_of(positions: int) -> Any:
    index = np.arange(positions)
    return [np.where(index >> b & 1, 1.0, -1.0) for b in range(positions.bit_length())]


@pytest.mark.parametrize("distance", [1, 2, 7, 12])
def test_codes(distance: int) -> None:
    key = codes_of(13)
    at = np.maximum(np.arange(13) - distance, 0)
    query = [digit[at] for digit in key]
    assert distance_of_codes(query, key, "here") == distance
    query[1] = query[1].copy()
    query[1][5] *= -1
    with pytest.raises(VoidError):
        distance_of_codes(query, key, "here")


def test_codes_that_two_positions_share() -> None:
    key = codes_of(13)[:3]
    with pytest.raises(VoidError, match="share"):
        distance_of_codes(key, key, "here")


@pytest.mark.parametrize("seed", every(3, range(20)))
def test_turns_against_the_definition(seed: int) -> None:
    """Whatever scores are given: a distance is told only where every row's winner is it."""
    rng = np.random.default_rng(seed)
    n, distance = 9, int(rng.integers(1, 9))
    word = rng.normal(size=n)
    word[distance % n] += 12 * (seed % 3 > 0)
    bos = np.full(n, 6.0) + rng.normal(size=n)
    try:
        found, gap = distance_of_turns(word, bos, 0.0, "here")
    except VoidError:
        return
    for i in range(1, n):
        scores = {i - d: word[d] for d in range(i)} | {0: bos[i]}
        winner = max(scores, key=lambda j: scores[j])
        assert winner == max(i - found, 0)
        second = max(score for j, score in scores.items() if j != winner)
        assert scores[winner] - second >= gap - 1e-12
