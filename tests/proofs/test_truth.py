"""What Coq says that a formula means, as a file of `certify --coq` states it, against its truth.

The terms are the ones that such files have; `Surface.sat` is computed by Coq.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from softhat.export.coq.formulas import surface
from softhat.logic.random import random_formula
from softhat.logic.recalls import without_recalls
from softhat.logic.syntax.nodes import At, Formula
from softhat.logic.syntax.parse import parse
from softhat.logic.syntax.walk import distinct
from softhat.logic.windows import without_windows
from softhat.numbers.predicates import Predicate, column
from tests.proofs.coq import booleans, needs_coq

IMPORTS = """From Coq Require Import ZArith List Bool.
From Softhat Require Import Surface.
Import ListNotations.
Definition symbol (word : list nat) (i a : nat) : bool := Nat.eqb a (nth (i - 1) word 9).
Definition same (f : surface) (word : list nat) (q : list (list bool)) (expected : list bool) :=
  let n := length word in
  let truth := sat n (symbol word) (fun p _ i => nth (i - 1) (nth p q []) false) f in
  if list_eq_dec Bool.bool_dec (map truth (seq 1 n)) expected then true else false."""

SYMBOLS = ("a", "b", "c")
OPERATORS = (
    "true", "false", "first", "last", "mod(3, 2)", "at(prime)", "!a", "a & b", "a | b", "a xor b",
    "a -> b", "a <-> b", "Y a", "Z a", "X a", "N a", "O a", "H a", "F a", "G a", "a S b", "a T b",
    "a U b", "a R b", "a W b", "a M b", "#(a) < 2", "#(a) <= i - 1", "#>(a) = #(b)", "#*(a) != n",
    "2*#(a) - #*(b) > -1", "#(a) + #>(b) >= 2", "O[1,2] a", "a S[0,1] b", "last[a | b = Y a]",
)  # fmt: skip


def _list(items: Sequence[object]) -> str:
    return f"[{'; '.join(str(item).lower() for item in items)}]"


def _question(formula: Formula, word: str) -> str:
    """Has the formula, as files write it, this truth on the word?"""
    (defined,) = without_windows(formula)
    written = without_recalls(defined)
    leaves = [node for node, _ in distinct(written)[0] if isinstance(node, At)]
    predicates: dict[Predicate, int] = {}
    for leaf in leaves:
        predicates.setdefault(leaf.predicate, len(predicates))
    index, n = np.arange(1, len(word) + 1), len(word)
    holds = _list([_list(column(predicate, index, n).tolist()) for predicate in predicates])
    term = surface(written, {symbol: at for at, symbol in enumerate(SYMBOLS)}, predicates)
    codes = _list([SYMBOLS.index(symbol) for symbol in word])
    return f"same {term} {codes} {holds} {_list([bool(x) for x in formula.truth(word)])}"


def _compare(cases: Sequence[tuple[Formula, str]], folder: Path) -> None:
    answers = booleans(IMPORTS, "", [_question(formula, word) for formula, word in cases], folder)
    for (formula, word), right in zip(cases, answers, strict=True):
        assert right, f"{formula} on {word}"


def test_every_operator_on_short_words(tmp_path: Path) -> None:
    needs_coq()
    words = [*"ab", *map("".join, product("ab", repeat=2)), "abbabaab"]
    _compare([(parse(text), word) for text in OPERATORS for word in words], tmp_path)


def _random(seed: int, folder: Path) -> None:
    rng = np.random.default_rng(seed)
    cases = []
    for _ in range(500):
        formula = random_formula(rng, int(rng.integers(1, 16)), SYMBOLS)
        cases.append((formula, "".join(rng.choice(SYMBOLS, size=int(rng.integers(1, 6))))))
    _compare(cases, folder)


def test_truth_is_the_same(tmp_path: Path) -> None:
    needs_coq()
    _random(0, tmp_path)


def test_a_wrong_truth_is_seen(tmp_path: Path) -> None:
    needs_coq()
    questions = ["same (Symbol 0) [0; 1] [] [true; true]"]
    assert booleans(IMPORTS, "", questions, tmp_path) == [False]


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 11))
def test_truth_is_the_same_of_many(seed: int, tmp_path: Path) -> None:
    needs_coq()
    _random(seed, tmp_path)
