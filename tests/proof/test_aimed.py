"""No tampered model is certified and wrong, in any number format or runtime, and none raises."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import softhat
from softhat.models.model import Model
from softhat.proof.kernels import kernel_certificate
from tests.proof.aimed import MUTATIONS, Mutate, Open, originals, tampered
from tests.proof.aimed_ledger import tampered_ledger
from tests.proof.aimed_selections import (
    changed_places,
    flipped_digit,
    lost_row,
    nudged_sinks,
    other_mask,
    other_sharpness,
    repeated_row,
)
from tests.slices import every

Words = NDArray[np.int64]
SLICE = 10
"""Models tampered with in each case here; the full suite has 2,700."""


@pytest.fixture(scope="module")
def models() -> list[Model]:
    return list(originals(("unbounded", "temperature", "hard")))


def words_of(n: int, rng: np.random.Generator) -> Words:
    """All short words; of longer ones some at random, some that alternate, some that do not."""
    if n <= 3:
        return np.array(list(product(range(3), repeat=n)))
    plain = [np.arange(n) % 2, np.arange(n) // 2 % 2, *(np.full(n, letter) for letter in range(3))]
    return np.stack([*plain, *rng.integers(0, 3, (4, n)), *rng.integers(0, 2, (3, n))])


def wrong_at(
    model: Model, limit: int, rng: np.random.Generator, answers: Callable[[Words], Any]
) -> int | None:
    """A length within the limit at which some answer is wrong."""
    (formula,) = model.formulas.values()
    for n in sorted({1, 2, 3, 5, 17, min(limit, 90)}):
        if 0 < n <= limit:
            words = words_of(n, rng)
            symbols = model.transformer.symbols
            truth = np.stack([formula.truth("".join(symbols[c] for c in word)) for word in words])
            if (answers(words) != truth).any():
                return n
    return None


def attack(model: Model, rng: np.random.Generator, torch: bool) -> str | None:
    """What is certified about a model and wrong."""
    certificate = model.certificate
    if certificate.void:
        assert set(certificate.max_length.values()) == {0}
        return None
    for dtype, limit in certificate.max_length.items():
        found = wrong_at(
            model, limit, rng, lambda words, d=dtype: model.run_batch(words, d)[..., 0] > 0
        )
        if found is not None:
            return f"{dtype} at {found} of {limit}"
        if model.attention == "hard" or not (limit := model.linear_max_length(dtype)):
            continue
        linear = model.linear(dtype)
        found = wrong_at(
            model,
            limit,
            rng,
            lambda words, run=linear: np.stack([run.margins(w)[:, 0] for w in words]) > 0,
        )
        if found is not None:
            return f"linear {dtype} at {found} of {limit}"
    return torch_wrong(model, rng) if torch and model.attention != "hard" else None


def torch_wrong(model: Model, rng: np.random.Generator) -> str | None:
    torch = pytest.importorskip("torch")
    for dtype, limit in kernel_certificate(model, "torch")["max_length"].items():
        if not limit:
            continue
        module = softhat.to_torch(model, dtype)

        def answers(words: Words, run: Any = module) -> Any:
            with torch.no_grad():
                return run(torch.tensor(words))[..., 0].float().numpy() > 0

        found = wrong_at(model, limit, rng, answers)
        if found is not None:
            return f"torch {dtype} at {found} of {limit}"
    return None


def attack_many(
    models: list[Model], seeds: range, torch: bool, mutations: tuple[Mutate, ...] = MUTATIONS
) -> None:
    certified = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        names, mutant = tampered(models[seed % len(models)], rng, mutations)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = attack(mutant, rng, torch)
        assert found is None, (seed, names, str(mutant.formulas), mutant.attention, found)
        certified += not mutant.certificate.void
    assert certified, "every mutation voids: the suite tests nothing"


@pytest.mark.parametrize("start", every(3, range(0, 90, 10)))
def test_a_slice(models: list[Model], start: int) -> None:
    attack_many(models, range(start, start + SLICE), torch=False)


HEADS: tuple[Mutate, ...] = (
    nudged_sinks,
    other_sharpness,
    other_mask,
    changed_places,
    repeated_row,
    lost_row,
    flipped_digit,
    *MUTATIONS[:4],
)
"""Sinks, temperature laws, masks and rows of heads."""


@pytest.mark.parametrize("start", every(2, range(0, 40, 10)))
def test_a_slice_of_heads(models: list[Model], start: int) -> None:
    attack_many(models, range(start, start + SLICE), torch=False, mutations=HEADS)


@pytest.mark.parametrize("start", every(3, range(0, 60, 20)))
def test_a_slice_with_something_more(models: list[Model], start: int) -> None:
    attack_ledger(models, range(start, start + 20))


@pytest.mark.full
@pytest.mark.parametrize("start", range(6_000, 8_000, 100))
def test_many_with_something_more(models: list[Model], start: int) -> None:
    attack_ledger(models, range(start, start + 100))


def attack_ledger(models: list[Model], seeds: range) -> None:
    certified = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        model = models[seed % len(models)]
        names, weights = tampered_ledger(model.transformer, rng)
        mutant = Model(weights, model.formulas)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            assert attack(mutant, rng, torch=False) is None, (seed, names, str(mutant.formulas))
        certified += not mutant.certificate.void
    assert certified, "every mutation voids: the suite tests nothing"


@pytest.mark.full
@pytest.mark.parametrize("start", range(5_000, 6_000, 100))
def test_many_heads(models: list[Model], start: int) -> None:
    attack_many(models, range(start, start + 100), torch=True, mutations=HEADS)


@pytest.mark.full
@pytest.mark.parametrize("start", range(1_000, 3_700, 100))
def test_many(models: list[Model], start: int) -> None:
    attack_many(models, range(start, start + 100), torch=True)


# What deceived an earlier checker, one by one


def changed(formula: str, attention: str, change: Callable[[Open], None]) -> Model:
    model = softhat.compile(formula, alphabet="abc", attention=attention)
    opened = Open(model.transformer)
    change(opened)
    return Model(opened.close(), model.formulas)


def right(model: Model) -> bool:
    rng = np.random.default_rng(0)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return attack(model, rng, torch=False) is None


def test_a_pair_that_cancels_in_a_query() -> None:
    def change(m: Open) -> None:
        one = m.at("1")
        assert one is not None
        twin = m.copy_of(one)
        row = m.layers[0]["query"][0, 1]
        row[one] += 2.0**30
        row[twin] -= 2.0**30

    model = changed("!b S a", "unbounded", change)
    assert right(model)
    assert model.certificate.max_length["float32"] == 0
    assert model.certificate.max_length["float64"] > 0


def test_a_pair_that_cancels_in_a_gate_of_bits() -> None:
    def change(m: Open) -> None:
        one = m.at("1")
        assert one is not None
        twin = m.copy_of(one)
        m.layers[0]["into"][:, one] += 2.0**30
        m.layers[0]["into"][:, twin] -= 2.0**30

    model = changed("O ((a | Y b) & !Y c)", "unbounded", change)
    assert right(model)
    assert model.certificate.max_length["float32"] == 0


def test_scores_that_underflow() -> None:
    def change(m: Open) -> None:
        layer = m.layers[0]
        layer["query"] *= 2.0**-80
        layer["key"] *= 2.0**-80
        layer["sharpness"] = [c * 2.0**160 for c in layer["sharpness"]]

    model = changed("X a", "temperature", change)
    assert right(model)
    assert model.certificate.max_length["float32"] == 0


def test_the_weight_of_an_average_that_underflows() -> None:
    def change(m: Open) -> None:
        m.layers[0]["value"] *= 2.0**120
        m.layers[1]["query"][0, 0] *= 2.0**-220
        m.layers[1]["key"][0, 0] *= 2.0**100

    model = changed("#(a) > #(b)", "unbounded", change)
    assert model.certificate.void == ()
    assert model.certificate.max_length["bfloat16"] == 0
    assert right(model)


def test_values_beyond_the_range_do_not_run_linearly() -> None:
    def change(m: Open) -> None:
        m.layers[0]["value"] *= 2.0**20
        m.layers[1]["query"] *= 2.0**-20

    model = changed("#(a) > #(b)", "unbounded", change)
    assert not model.runs_linearly("float16")
    assert right(model)


def test_a_weight_over_the_scale_that_only_long_words_bear() -> None:
    """Weights on features divided by P matter less as n grows: short words fail, long would not."""

    def change(m: Open) -> None:
        c = m.at("ordinary/P")
        assert c is not None
        twin = m.copy_of(c)
        row = m.layers[0]["key"][0, 1]
        row[c] += 2.0**100
        row[twin] -= 2.0**100

    model = changed("X a", "temperature", change)
    assert right(model)
    assert model.certificate.max_length["float64"] < 100


def test_rows_of_an_average_that_cancel() -> None:
    def change(m: Open) -> None:
        layer = m.layers[0]
        ordinary = m.at("ordinary")
        for name in ("query", "key"):
            layer[name] = np.pad(layer[name], ((0, 0), (0, 2), (0, 0)))
        layer["query"][0, -2:, ordinary] = (1 / 3, -1 / 3)
        layer["key"][0, -2:, ordinary] = 2.0**40

    model = changed("#(a) > #(b)", "unbounded", change)
    assert "cancel" in model.certificate.void[0]


@pytest.mark.parametrize("factor", [2.0**700, 2.0**-700, 2.0**1000])
@pytest.mark.parametrize("tensor", ["query", "key", "value", "into", "out", "into_bias"])
@pytest.mark.parametrize("formula", ["Y a xor O b", "#(a) > #(b) & Y a"])
def test_numbers_beyond_the_checker_void_it(formula: str, tensor: str, factor: float) -> None:
    def change(m: Open) -> None:
        for layer in m.layers:
            layer[tensor] = layer[tensor] * factor

    assert right(changed(formula, "temperature", change))
