"""Compiled RASP programs: softmax models give the reference's values, and certificates hold."""

from __future__ import annotations

import random
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import CertificateWarning, SofthatError, rasp
from softhat.frontends.rasp import lib
from softhat.models.value_model import ValueModel
from softhat.numerics.formats import FORMATS
from softhat.transformer.weights import Attention
from tests.frontends.rasp.cases import CASES, Case
from tests.frontends.rasp.test_compile import PROGRAMS
from tests.frontends.rasp.test_evaluate import inputs


def differs(found: Any, expected: Any, error: float) -> bool:
    """None strictly, categories exactly, numbers within the certified error."""
    if found is None or expected is None:
        return found is not expected
    if isinstance(found, float) and isinstance(expected, int | float):
        return not abs(found - expected) <= error + 1e-9
    return bool(found != expected)


def agree(model: ValueModel, program: rasp.SOp, words: list[list[Any]], dtype: str) -> None:
    error = model.certificate.errors[dtype]
    for word, values in zip(words, model.values_many(words, dtype), strict=True):
        try:
            expected = program(word)
        except (ValueError, TypeError, ArithmeticError):
            continue  # the program has no meaning there
        assert len(values) == len(expected)
        wrong = [
            k for k, (v, e) in enumerate(zip(values, expected, strict=True)) if differs(v, e, error)
        ]
        assert not wrong, (word, wrong[:3], values, expected)


def some(case: Case, longest: int, count: int, at_most: int, seed: int = 1) -> list[list[Any]]:
    dice = random.Random(seed)
    words = inputs(case, longest)
    if not case.unique:
        lengths = [dice.randrange(1, at_most + 1) for _ in range(count - 1)] + [at_most]
        words += [dice.choices(case.alphabet, k=n) for n in lengths]
    return words


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_library_in_float32(case: Case) -> None:
    model = softhat.compile(case.program, alphabet=case.alphabet, max_length=64)
    assert model.certificate.max_length["float32"] == 64
    assert not model.certificate.void
    agree(model, case.program, some(case, 3, 3, 64), "float32")


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_library_at_full_size(case: Case) -> None:
    model = softhat.compile(case.program, alphabet=case.alphabet, max_length=256)
    assert model.certificate.max_length["float32"] == 256
    agree(model, case.program, some(case, 6, 300, 256), "float32")


mapped = rasp.Map({"a": 1, "b": 2, "c": 4}.get, rasp.tokens)
same = rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ)
before = rasp.Select(rasp.indices, rasp.indices, rasp.Comparison.LT)
everywhere = rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.TRUE)

SILENTLY_WRONG: list[tuple[str, rasp.SOp, Any]] = [
    ("length from ten tokens on", lib.make_length(), lambda w: [len(w)] * len(w)),
    ("hist from ten on", lib.make_hist(), lambda w: [w.count(t) for t in w]),
    ("count from ten on", lib.make_count(rasp.tokens, "a"), lambda w: [w.count("a")] * len(w)),
    ("empty selections of categories", rasp.Aggregate(same & before, mapped),
     lambda w: [None if t not in w[:i] else {"a": 1, "b": 2, "c": 4}[t] for i, t in enumerate(w)]),
    ("empty selections with a default", rasp.Aggregate(same & before, mapped, default=7),
     lambda w: [7 if t not in w[:i] else {"a": 1, "b": 2, "c": 4}[t] for i, t in enumerate(w)]),
    ("means of categories", rasp.Aggregate(everywhere, mapped),
     lambda w: [sum({"a": 1, "b": 2, "c": 4}[t] for t in w) / len(w)] * len(w)),
    ("None by a shift", lib.shift_by(2, rasp.tokens), lambda w: [None, None, *w][: len(w)]),
    ("None by a map", rasp.Map(lambda t: None if t == "b" else t, rasp.tokens),
     lambda w: [None if t == "b" else t for t in w]),
]  # fmt: skip
"""Programs that Tracr compiles to models that are wrong on such sequences, without a word."""


@pytest.mark.parametrize(
    ("program", "meaning"), [p[1:] for p in SILENTLY_WRONG], ids=[p[0] for p in SILENTLY_WRONG]
)
def test_where_tracr_is_silently_wrong(program: rasp.SOp, meaning: Any) -> None:
    model = softhat.compile(program, alphabet="abc", max_length=40)
    dice = random.Random(4)
    words = [["a"] * n for n in (1, 9, 10, 11, 16, 40)]
    words += [dice.choices("abc", weights=(6, 2, 1), k=dice.randrange(1, 41)) for _ in range(40)]
    for word, values in zip(words, model.values_many(words), strict=True):
        for found, expected in zip(values, meaning(word), strict=True):
            assert not differs(found, expected, model.certificate.error), word


@pytest.mark.parametrize("attention", ["temperature", "hard"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_other_targets(case: Case, attention: Attention) -> None:
    model = softhat.compile(
        case.program, alphabet=case.alphabet, max_length=20, attention=attention
    )
    assert model.certificate.max_length["float32"] == 20
    agree(model, case.program, some(case, 2, 2, 20), "float32")


@pytest.mark.parametrize(
    ("program", "alphabet"), [p[1:] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS]
)
def test_programs(program: rasp.SOp, alphabet: Any) -> None:
    model = softhat.compile(program, alphabet=alphabet, max_length=16)
    dice = random.Random(5)
    words = [list(w) for n in range(1, 4) for w in product(alphabet, repeat=n)]
    words += [dice.choices(list(alphabet), k=16) for _ in range(5)]
    assert model.certificate.max_length["float32"] == 16, model.certificate.void
    agree(model, program, words, "float32")


def hostile(case: Case, n: int) -> list[list[Any]]:
    """Words of length n on which counts are as large, as small and as close as they can be."""
    a, *rest = case.alphabet
    b = rest[0] if rest else a
    half = n // 2
    dice = random.Random(n)
    return [
        [a] * n, [b] * n, [a] * half + [b] * (n - half), [b] * half + [a] * (n - half),
        [a, b] * half + [a] * (n % 2), [a] * (n - 1) + [b], [b] + [a] * (n - 1),
        dice.choices(case.alphabet, k=n), dice.choices(case.alphabet, k=n),
    ]  # fmt: skip


def check_limits(case: Case, length: int) -> None:
    """Run at the certified length of every format."""
    model = softhat.compile(case.program, alphabet=case.alphabet, max_length=length)
    for dtype in ("float16", "bfloat16", "float32"):
        reach = model.certificate.max_length[dtype]
        assert reach <= length
        if reach and not case.unique:
            agree(model, case.program, hostile(case, reach), dtype)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_certificates_hold_at_their_limit(case: Case) -> None:
    for length in (4, 40):
        check_limits(case, length)


@pytest.mark.full
@pytest.mark.parametrize("length", [1, 2, 3, 8, 12, 17, 100, 300])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_certificates_hold_at_more_limits(case: Case, length: int) -> None:
    check_limits(case, min(length, 256))


@pytest.mark.parametrize(
    "name", ["hist", "sort", "reverse", "frac_prevs", "shift_by 1", "induction"]
)
def test_saved_and_loaded(name: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == name)
    model = softhat.compile(case.program, alphabet=case.alphabet, max_length=20)
    model.save(tmp_path / "m")
    again = softhat.load(tmp_path / "m")
    assert isinstance(again, ValueModel)
    assert again.program == model.program
    assert again.alphabet == model.alphabet
    assert again.certificate.to_json() == model.certificate.to_json()
    word = list(case.alphabet) * 3
    assert again.values(word) == model.values(word)
    again.save(tmp_path / "n")
    for file in (tmp_path / "m").iterdir():
        assert file.read_bytes() == (tmp_path / "n" / file.name).read_bytes()


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    softhat.compile(lib.make_hist(), alphabet="ab", max_length=8).save(tmp_path / "m")
    path = tmp_path / "m" / "rasp.json"
    whole = path.read_text()
    for broken in ("{}", whole.replace('"Width"', '"Wdith"'), whole.replace('"a"', '"x"'), "["):
        path.write_text(broken)
        with pytest.raises(SofthatError, match="damaged"):
            softhat.load(tmp_path / "m")


def test_exports_run_the_same_values() -> None:
    torch = pytest.importorskip("torch")
    for name in ("hist", "sort", "reverse", "pair_balance", "shuffle_dyck2"):
        case = next(case for case in CASES if case.name == name)
        model = softhat.compile(case.program, alphabet=case.alphabet, max_length=24)
        module = softhat.to_torch(model)
        for word in some(case, 1, 4, 24):
            codes = torch.from_numpy(model.encode(word))[None]
            rows = module(codes)[0].detach().numpy()
            expected = model.values(word)
            for found, value in zip(model.decoded(rows), expected, strict=True):
                assert not differs(found, value, 1e-4)


def test_words_are_checked() -> None:
    model = softhat.compile(lib.make_hist(), alphabet=[1, "1"], max_length=8)
    assert model.values([1, "1", 1]) == [2, 1, 2]
    with pytest.raises(SofthatError, match="token 2 of the word, 2, is not in the alphabet"):
        model.values([1, 2])
    with pytest.raises(SofthatError, match="at least one token"):
        model.values([])
    with pytest.raises(SofthatError, match="certified only to 8"):
        model.values([1] * 9, strict=True)
    with pytest.warns(CertificateWarning):
        model.values([1] * 9)
    with pytest.raises(SofthatError, match="leave output out"):
        model.values([1], output="x")


def test_what_compile_asks_for() -> None:
    with pytest.raises(SofthatError, match="needs its alphabet"):
        softhat.compile(rasp.tokens, max_length=8)
    with pytest.raises(SofthatError, match="max_length=64"):
        softhat.compile(rasp.tokens, alphabet="ab")
    with pytest.raises(SofthatError, match="for RASP programs"):
        softhat.compile("a", max_length=8)
    with pytest.raises(SofthatError, match="reserved"):
        softhat.compile(rasp.tokens, alphabet=["<bos>"], max_length=8)


def test_acceptance_and_the_trace() -> None:
    model = softhat.compile(lib.make_dyck(["()"], 2), alphabet="()", max_length=16)
    assert model.accepts("(())")
    assert not model.accepts("((()))")
    trace = model.run("(())")
    assert len(trace.attention) == model.size.layers
    assert "dyck" in repr(model)


def mutants(model: ValueModel, count: int, seed: int) -> list[tuple[str, ValueModel]]:
    """Models with one weight changed, as an attacker would."""
    from dataclasses import replace

    from softhat.transformer.weights import Sparse

    dice = np.random.default_rng(seed)
    t = model.transformer
    found = []
    places = [(n, name) for n, layer in enumerate(t.layers) for name in layer.tensors]
    for _ in range(count):
        number, name = places[dice.integers(len(places))]
        layer = t.layers[number]
        tensor = getattr(layer, name)
        array = tensor.dense().copy() if isinstance(tensor, Sparse) else tensor.copy()
        if not array.size:
            continue
        at = tuple(int(dice.integers(size)) for size in array.shape)
        nonzero = np.argwhere(array)
        if len(nonzero) and dice.random() < 0.8:
            at = tuple(int(x) for x in nonzero[dice.integers(len(nonzero))])
        old = float(array[at])
        new = [old * 2, -old, old / 2, 0.0, old + 0.5, old * 1.001, old + 1.0][dice.integers(7)]
        if new == old:
            continue
        array[at] = new
        made = Sparse.from_dense(array) if isinstance(tensor, Sparse) else array
        layers = list(t.layers)
        layers[number] = replace(layer, **{name: made})
        changed = replace(t, layers=tuple(layers))
        found.append(
            (
                f"{name} of layer {number} at {at}: {old} -> {new}",
                ValueModel(changed, model.compiled),
            )
        )
    return found


def check_mutants(case: Case, count: int, seed: int) -> int:
    model = softhat.compile(case.program, alphabet=case.alphabet, max_length=10)
    assert model.certificate.max_length["float32"] == 10
    words = some(case, 3, 12, 10) + ([] if case.unique else hostile(case, 10))
    survived = 0
    for what, mutant in mutants(model, count, seed):
        reach = mutant.certificate.max_length["float32"]
        if not reach:
            continue
        survived += 1
        error = mutant.certificate.errors["float32"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CertificateWarning)
            for word in words:
                if len(word) > reach:
                    continue
                for found, value in zip(mutant.values(word), case.program(word), strict=True):
                    assert not differs(found, value, error), (what, word)
    return survived


MUTATED = ["hist", "sort", "reverse", "frac_prevs", "shuffle_dyck", "induction", "first_token"]


@pytest.mark.parametrize("name", MUTATED)
def test_a_changed_weight_voids_the_certificate_or_does_not_matter(name: str) -> None:
    check_mutants(next(case for case in CASES if case.name == name), 25, 0)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_many_changed_weights(case: Case, seed: int) -> None:
    check_mutants(case, 60, seed)


def test_every_format_has_an_error() -> None:
    model = softhat.compile(lib.make_frac_prevs(rasp.tokens == "a"), alphabet="ab", max_length=64)
    assert set(model.certificate.errors) == set(FORMATS)
    assert 0 < model.certificate.error == model.certificate.errors["float32"] < 1e-4
