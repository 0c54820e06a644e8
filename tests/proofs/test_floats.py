"""Models in binary32: the check that `right_binary32` rests on, and the theorem in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.export.coq.checker import ask
from softhat.export.coq.syntax import preamble
from softhat.export.coq.theorem import READ, statement, theorem
from softhat.models.model import Model
from softhat.transformer.weights import Sparse
from tests.proofs.coq import booleans, needs_coq
from tests.slices import every

NESTED = "Y (a S b) & !(c S Y a)"


def _near(models: Sequence[Model], length: int, folder: Path) -> list[bool]:
    """What `FloatCheck.near_binary32` says of each model, for words up to a length."""
    modules = [
        f"Module M{k}.\n{statement(m).definitions}\nEnd M{k}.\n" for k, m in enumerate(models)
    ]
    imports = preamble("many models", READ)
    imports += "From Softhat Require Import FloatCheck.\nOpen Scope nat_scope.\n"
    asked = [f"near_binary32 M{k}.weights M{k}.found {length}%N" for k in range(len(models))]
    return booleans(imports, "".join(modules), asked, folder)


def test_formulas_that_do_not_count(tmp_path: Path) -> None:
    """Looking back, looking ahead, nested: what heads return is clipped again in every layer."""
    needs_coq()
    texts = ("!c S a", NESTED, "F (a & X (b U c))", "(a S b) S (b S c)", "a xor Y b", "true")
    models = [softhat.compile(text, alphabet="abc") for text in texts]
    assert _near(models, 512, tmp_path) == [True] * len(texts)


def test_what_is_refused(tmp_path: Path) -> None:
    """Counting, temperature scaling, words that are too long, and a weight that was changed."""
    needs_coq()
    counting = softhat.compile("#(a) > #(b)", alphabet="ab")
    scaled = softhat.compile("a S b", alphabet="ab", attention="temperature")
    right = softhat.compile(NESTED, alphabet="abc")
    layer = right.transformer.layers[0]
    values = layer.into.values.copy()
    values[np.flatnonzero(values)[0]] *= 1 + 2.0**-20
    spoilt = replace(layer, into=Sparse(layer.into.shape, layer.into.where, values))
    weights = replace(right.transformer, layers=(spoilt, *right.transformer.layers[1:]))
    tampered = Model(weights, right.formulas, right.program)
    assert _near([counting, scaled, tampered], 8, tmp_path) == [False] * 3
    assert _near([right], 8190, tmp_path) == [False]


@pytest.mark.parametrize(
    ("formulas", "length"), every(2, [({"one": "a S b", "two": "Y a"}, 8190), (NESTED, 1024)])
)
def test_the_theorem_and_its_length(formulas: Any, length: int) -> None:
    needs_coq()
    verdict = ask(theorem(softhat.compile(formulas, alphabet="abc")))
    assert verdict.accepted, verdict.text
    assert verdict.binary32 == length


@pytest.mark.full
def test_a_wide_program_has_the_theorem() -> None:
    """Thirty formulas side by side: fractions stay short, however many signals there are."""
    needs_coq()
    texts = {f"{x}{y}": f"({x} S {y}) & Y {x}" for x, y in permutations("abcdef", 2)}
    model = softhat.compile(texts, alphabet="abcdef")
    assert len(model.program.signals) > 64
    verdict = ask(theorem(model))
    assert verdict.accepted, verdict.text
    assert verdict.binary32 >= 256


def test_counting_has_no_theorem_in_floats() -> None:
    assert "right_binary32" not in theorem(softhat.compile("#(a) > #(b)", alphabet="ab"))
    assert "right_binary32" in theorem(softhat.compile("a S b", alphabet="ab"))
