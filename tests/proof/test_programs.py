"""No model of a RASP program is certified and wrong, tampered with or not, in any number format.

What is expected is the reference meaning of RASP, which shares nothing with the weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import softhat
from softhat import SofthatError, rasp
from softhat.frontends.rasp import lib
from softhat.models.value_model import ValueModel
from tests.proof.aimed import tampered_weights
from tests.proof.aimed_selections import SELECTIONS
from tests.slices import every

tokens, indices, Select, Comparison = rasp.tokens, rasp.indices, rasp.Select, rasp.Comparison
same = Select(tokens, tokens, Comparison.EQ)
before = Select(indices, indices, Comparison.LT)


def turned() -> rasp.SOp:
    """The sequence, from its end if there are many 1s: a pointer that differs by cases."""
    sign = rasp.Map(lambda yes: -1 if yes else 1, lib.make_count(tokens, 1) > 2)
    middle = rasp.Map(lambda n: n / 2 - 0.5, rasp.length)
    away = rasp.SequenceMap(lambda x, y: x * y, sign, indices - middle)
    place = rasp.SequenceMap(lambda x, y: x + y, middle, away)
    return rasp.Aggregate(Select(place, indices, Comparison.EQ), tokens)


PROGRAMS: dict[str, rasp.SOp] = {
    "hist": lib.make_hist(),
    "hist before": rasp.SelectorWidth(same & before),
    "parity of hist": rasp.Map(lambda h: h % 2 == 1, lib.make_hist()),
    "count": lib.make_count(tokens, 1),
    "count_less_freq": lib.make_count_less_freq(2),
    "height": rasp.SelectorWidth(Select(tokens, tokens, lambda k, q: k == 1) & ~before)
    - rasp.SelectorWidth(Select(tokens, tokens, lambda k, q: k == 2) & ~before),
    "sort": lib.make_sort(tokens, tokens, max_seq_len=64, min_key=1),
    "reverse": lib.make_reverse(tokens),
    "frac_prevs": lib.make_frac_prevs(tokens == 1),
    "pair_balance": lib.make_pair_balance(tokens, 1, 2),
    "shuffle_dyck": lib.make_shuffle_dyck([(1, 2)]),
    "induction": lib.make_induction(),
    "first_token": lib.make_first_token(),
    "majority": lib.make_majority(1),
    "mean before": rasp.numerical(rasp.Aggregate(before, tokens, default=0)),
    "mean of less": rasp.Aggregate(Select(tokens, tokens, Comparison.LT), tokens, default=-1),
    "match or default": rasp.Aggregate(same & before, tokens, default=9),
    "turned": turned(),
    "two places": rasp.SelectorWidth(
        Select(indices, rasp.length - 1 - indices, Comparison.EQ)
        | Select(indices, indices - 2, Comparison.EQ)
    ),
}
Words = NDArray[np.int64]


def words_of(n: int, rng: np.random.Generator) -> Words:
    """All short words; of longer ones those whose counts are close to each other, to 0 and to n."""
    if n <= 3:
        return np.array(list(product(range(3), repeat=n)))
    made = [np.full(n, letter) for letter in range(3)] + [np.arange(n) % 2, np.arange(n) % 3]
    for k in {1, 2, n // 2, n // 2 + 1, n - 1, *rng.integers(1, n, 3).tolist()}:
        block = (np.arange(n) >= k).astype(np.int64)
        made += [block, rng.permutation(block)]
    return np.stack([*made, *rng.integers(0, 3, (3, n))])


def differs(found: Any, expected: Any, error: float) -> bool:
    if found is None or expected is None:
        return found is not expected
    if isinstance(found, float) and isinstance(expected, int | float):
        return not abs(found - expected) <= error + 1e-9
    return bool(found != expected)


Meaning = dict[tuple[str, tuple[int, ...]], list[Any]]
MEANINGS: Meaning = {}


def meaning(name: str, codes: Any) -> list[Any]:
    key = (name, tuple(codes.tolist()))
    if key not in MEANINGS:
        MEANINGS[key] = PROGRAMS[name]([code + 1 for code in key[1]])
    return MEANINGS[key]


def wrong_at(
    name: str, limit: int, error: float, run: Callable[[Words], list[list[Any]]], seed: int
) -> str | None:
    for n in sorted({1, 2, 3, 7, limit // 2, limit - 1, limit}):
        if not 0 < n <= limit:
            continue
        words = words_of(n, np.random.default_rng(seed + n))
        for codes, values in zip(words, run(words), strict=True):
            for at, (value, expected) in enumerate(zip(values, meaning(name, codes), strict=True)):
                if differs(value, expected, error):
                    return f"{codes.tolist()} at {at}: {value!r}, not {expected!r}"
    return None


def attack(name: str, model: ValueModel, seed: int, torch: bool) -> str | None:
    """What is certified about a model and wrong."""
    certificate = model.certificate
    if certificate.void:
        assert set(certificate.max_length.values()) == {0}
        return None
    for dtype, limit in certificate.max_length.items():

        def run(words: Words, dtype: str = dtype) -> list[list[Any]]:
            return model.values_many(list(words), dtype)

        found = wrong_at(name, limit, certificate.errors[dtype], run, seed)
        if found is not None:
            return f"{dtype} of {limit}: {found}"
        found = linear_wrong(name, model, dtype, seed)
        if found is not None:
            return found
    return torch_wrong(name, model, seed) if torch else None


def linear_wrong(name: str, model: ValueModel, dtype: str, seed: int) -> str | None:
    try:
        limit = model.certified_length(dtype, "linear")
    except SofthatError:  # its heads are not linear
        return None
    error = model.kernel_certificate("torch")["errors"][dtype] if limit else 0.0

    def run(words: Words) -> list[list[Any]]:
        return model.values_many(list(words), dtype, runtime="linear")

    found = wrong_at(name, limit, error, run, seed)
    return None if found is None else f"linear {dtype} of {limit}: {found}"


def torch_wrong(name: str, model: ValueModel, seed: int) -> str | None:
    torch = pytest.importorskip("torch")
    stated = model.kernel_certificate("torch")
    for dtype, limit in stated["max_length"].items():
        if not limit:
            continue
        module = softhat.to_torch(model, dtype)

        def run(words: Words, module: Any = module) -> list[list[Any]]:
            with torch.no_grad():
                rows = module(torch.from_numpy(words)).to(torch.float64).numpy()
            return [model.decoded(row) for row in rows]

        found = wrong_at(name, limit, stated["errors"][dtype], run, seed)
        if found is not None:
            return f"torch {dtype} of {limit}: {found}"
    return None


def originals(lengths: tuple[int, ...]) -> Iterator[tuple[str, ValueModel]]:
    for name, program in PROGRAMS.items():
        for length in lengths:
            yield name, softhat.compile(program, alphabet=[1, 2, 3], max_length=length)


@pytest.fixture(scope="module")
def models() -> list[tuple[str, ValueModel]]:
    return list(originals((6, 20)))


@pytest.mark.parametrize("name", every(8, PROGRAMS))
def test_at_the_limits(name: str) -> None:
    for length in (3, 24):
        model = softhat.compile(PROGRAMS[name], alphabet=[1, 2, 3], max_length=length)
        assert model.certificate.max_length["float32"] == length
        assert attack(name, model, 0, torch=length == 3) is None


@pytest.mark.full
@pytest.mark.parametrize("length", [1, 2, 5, 9, 13, 30, 64])
@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_at_more_limits(name: str, attention: Any, length: int) -> None:
    model = softhat.compile(
        PROGRAMS[name], alphabet=[1, 2, 3], max_length=length, attention=attention
    )
    assert model.certificate.max_length["float32"] == length
    assert attack(name, model, length, torch=attention != "hard") is None


def attack_many(models: list[tuple[str, ValueModel]], seeds: range, torch: bool) -> None:
    certified = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        name, model = models[seed % len(models)]
        names, weights = tampered_weights(model.transformer, rng, SELECTIONS)
        mutant = ValueModel(weights, model.compiled)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = attack(name, mutant, seed, torch)
        assert found is None, (seed, name, names, found)
        certified += not mutant.certificate.void
    assert certified, "every mutation voids: the suite tests nothing"


@pytest.mark.parametrize("start", every(4, range(0, 120, 30)))
def test_a_slice(models: list[tuple[str, ValueModel]], start: int) -> None:
    attack_many(models, range(start, start + 30), torch=False)


@pytest.mark.full
@pytest.mark.parametrize("start", range(1_000, 5_000, 100))
def test_many(models: list[tuple[str, ValueModel]], start: int) -> None:
    attack_many(models, range(start, start + 100), torch=True)
