"""Recall heads of GPT-2s and Llamas: certified, right on words, and void once they are changed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.io.errors import VoidError
from softhat.proof.boolean import Space
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.heads.recall import read_recall
from softhat.proof.stock.variables import BitCell, ConstantCell, Form, TableCell
from tests.export.stock_models import answers, stated, stock
from tests.proof.stock.attack import attack
from tests.slices import every, sizes
from tests.transformer.lowering.suite import expected

EXPORTS: dict[str, Callable[..., None]] = {"gpt2": softhat.to_gpt2, "llama": softhat.to_llama}
FORMULAS = (
    "last[a | b = Y c]",
    "last[a S b | Y a = b, c = true, O c = a]",
    "last[Y a | mod(2, 0) = Y b, a = c]",
)


def words(length: int, count: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, 3, length) for _ in range(count)]
    rows += [(rng.random(length) < p).astype(np.int64) * 2 for p in (0.01, 0.99)]
    return np.stack(rows)


@pytest.mark.parametrize(("text", "target"), every(3, product(FORMULAS, EXPORTS)))
def test_certified_and_right(text: str, target: str, tmp_path: Path) -> None:
    f = softhat.parse(text)
    EXPORTS[target](softhat.compile(f, alphabet="abc"), tmp_path / "m", context=256)
    certificate = softhat.certify(tmp_path / "m")
    assert certificate.ok
    for dtype in ("float32", "bfloat16"):
        assert certificate.max_length[dtype] == 255
        model = stock(tmp_path / "m", dtype)
        for length in (1, 7, 255):
            codes = words(length, 3, length)
            assert (answers(model, codes) == expected(f, codes, "abc")).all()


@pytest.mark.full
@pytest.mark.parametrize("target", EXPORTS)
@pytest.mark.parametrize("text", FORMULAS)
def test_contexts_of_4096(text: str, target: str, tmp_path: Path) -> None:
    f = softhat.parse(text)
    EXPORTS[target](softhat.compile(f, alphabet="abc"), tmp_path / "m", context=4096)
    lengths = stated(tmp_path / "m")["max_length"]
    codes = words(4095, 2, 4)
    for dtype in ("float32", "bfloat16"):
        if longest := lengths[dtype]:
            found = answers(stock(tmp_path / "m", dtype), codes[:, :longest])
            assert (found == expected(f, codes, "abc")[:, :longest]).all()
    assert target == "gpt2" or lengths["float32"] == lengths["bfloat16"] == 4095


@pytest.mark.parametrize("target", EXPORTS)
@pytest.mark.parametrize("count", sizes(6, 30))
def test_no_changed_head_is_certified_and_wrong(target: str, tmp_path: Path, count: int) -> None:
    attacked(tmp_path, target, count)


@pytest.mark.full
@pytest.mark.parametrize("target", EXPORTS)
def test_no_changed_head_is_certified_and_wrong_in_full(target: str, tmp_path: Path) -> None:
    attacked(tmp_path, target, 1_000)


def attacked(tmp_path: Path, target: str, mutations: int) -> None:
    f = softhat.parse("last[a S b | Y a = b, c = true, O c = a]")
    EXPORTS[target](softhat.compile(f, alphabet="abc"), tmp_path / "m", context=64)
    told = [words(63, 8, 1)]
    seen = attack(tmp_path / "m", lambda codes: expected(f, codes, "abc"), told, mutations, 1)
    assert seen["void"] > 0


# Recognition, on rows made by hand: two digits of the position, one digit of the code.


def cells_of(atoms: BoundedAtoms) -> list[Any]:
    index = np.arange(4)
    tables = [np.where(index >> b & 1, 1.0, -1.0) for b in range(2)]
    digits = [TableCell(atoms.table(table[1:] > 0, 1 << 19), table) for table in tables]
    a, b = (BitCell(atoms.space.symbol(name)) for name in "ab")
    return [ConstantCell(1.0, 1.0), ConstantCell(0.0, 1.0), ConstantCell(1.0, 0.0), *digits, a, b]


def rows(penalty: float = 64.0, clear: float = 8.0, step: float = 4.0) -> list[tuple[Form, Form]]:
    always = Form({0: 1.0}, 0.0)
    here, not_here = Form({5: 0.5, 0: 0.5}, 0.0), Form({5: -0.5, 2: 0.5, 1: -0.5}, 0.0)
    there, not_there = Form({6: 0.5, 0: 0.5}, 0.0), Form({6: -0.5, 2: 0.5, 1: -0.5}, 0.0)
    return [
        *((always, Form({3 + b: step * 2.0 ** (b - 1)}, 0.0)) for b in range(2)),
        (Form({k: -penalty * w for k, w in here.weights.items()}, 0.0), not_there),
        (Form({k: -penalty * w for k, w in not_here.weights.items()}, 0.0), there),
        (Form({0: -clear}, 0.0), Form({1: 1.0}, 0.0)),
    ]


def read(given: list[tuple[Form, Form]]) -> Any:
    atoms = BoundedAtoms(Space(("a", "b", "c"), False), 3, has_recalls=True)
    return read_recall(dict(enumerate(given)), Fraction(1), 4, cells_of(atoms), atoms, "here")


def test_gap_and_clear_by_hand() -> None:
    found = read(rows())
    assert found.gap == pytest.approx(4.0)  # a step of T
    # T is -6 + 4j; <bos> has -6 - 8; others at most 6 - 64.
    assert found.clear == pytest.approx(min(-2 + 14, -14 - 6 + 64))
    assert found.compares == ((3, 2),) or found.compares == ((2, 3),)


@pytest.mark.parametrize(
    "given",
    [
        rows(penalty=-64.0),  # prefers keys with other digits
        rows(penalty=10.0),  # does not part them from <bos>
        rows(clear=-20.0),  # <bos> before all keys
        rows(step=-4.0),  # falls with the position
        rows()[:3] + rows()[4:],  # one way only
        [*rows(), rows()[2]],  # twice
        [*rows(), (Form({0: 1.0}, 1.0), Form({0: 1.0}, 0.0))],  # a bias
    ],
)
def test_what_is_no_recall(given: list[tuple[Form, Form]]) -> None:
    with pytest.raises(VoidError):
        read(given)
