"""`Formula.sat` of the proofs against the truth of formulas in Python.

Operators that the proofs do not have are written out by their definitions here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from softhat.logic.random import random_formula
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Term
from tests.proofs.coq import booleans, needs_coq

IMPORTS = """From Coq Require Import ZArith List Bool.
From Softhat Require Import Formula.
Import ListNotations.
Definition given (word : list (list bool)) (i a : nat) : bool := nth a (nth (i - 1) word []) false.
Definition truth (f : formula) (word : list (list bool)) : list bool :=
  map (sat (length word) (given word) f) (seq 1 (length word)).
Definition same (f : formula) (word : list (list bool)) (expected : list bool) : bool :=
  if list_eq_dec Bool.bool_dec (truth f word) expected then true else false."""

SYMBOLS = ("a", "b")
TRUE = "(AtLeast Zero 0)"
Linear = list[tuple[str, int, str]]
"""(kind, coefficient, formula) of a term; kinds: Before, After, All, Position, Length, 1."""


class _Words:
    """Atoms: the symbols, then each numerical predicate of a formula."""

    def __init__(self) -> None:
        self.predicates: list[nodes.Mod] = []

    def formula(self, f: Formula) -> str:
        match f:
            case nodes.Symbol(name):
                return f"(Atom {SYMBOLS.index(name)})"
            case nodes.Constant(value):
                return TRUE if value else _not(TRUE)
            case nodes.First():
                return _not(f"(Yesterday {TRUE})")
            case nodes.Last():
                return _not(f"(Tomorrow {TRUE})")
            case nodes.Mod():
                if f not in self.predicates:
                    self.predicates.append(f)
                return f"(Atom {len(SYMBOLS) + self.predicates.index(f)})"
            case nodes.Not(g):
                return _not(self.formula(g))
            case nodes.Yesterday(g):
                return f"(Yesterday {self.formula(g)})"
            case nodes.WeakYesterday(g):
                return _not(f"(Yesterday {_not(self.formula(g))})")
            case nodes.Tomorrow(g):
                return f"(Tomorrow {self.formula(g)})"
            case nodes.WeakTomorrow(g):
                return _not(f"(Tomorrow {_not(self.formula(g))})")
            case nodes.Once(g):
                return f"(Since {TRUE} {self.formula(g)})"
            case nodes.Historically(g):
                return _not(f"(Since {TRUE} {_not(self.formula(g))})")
            case nodes.Eventually(g):
                return f"(Until {TRUE} {self.formula(g)})"
            case nodes.Always(g):
                return _not(f"(Until {TRUE} {_not(self.formula(g))})")
            case nodes.Comparison(left, relation, right):
                return self.comparison(left, relation, right)
            case nodes.Binary(left, right):
                return self.binary(f, self.formula(left), self.formula(right))
        raise TypeError(f"{f!r}")

    def binary(self, f: Formula, g: str, h: str) -> str:
        match f:
            case nodes.And():
                return _and(g, h)
            case nodes.Or():
                return _or(g, h)
            case nodes.Implies():
                return _or(_not(g), h)
            case nodes.Xor():
                return _or(_and(g, _not(h)), _and(_not(g), h))
            case nodes.Iff():
                return _or(_and(g, h), _and(_not(g), _not(h)))
            case nodes.Since():
                return f"(Since {g} {h})"
            case nodes.Triggered():
                return _not(f"(Since {_not(g)} {_not(h)})")
            case nodes.Until():
                return f"(Until {g} {h})"
            case nodes.Release():
                return _not(f"(Until {_not(g)} {_not(h)})")
            case nodes.WeakUntil():
                return _or(f"(Until {g} {h})", _not(f"(Until {TRUE} {_not(g)})"))
            case nodes.StrongRelease():
                return f"(Until {h} {_and(g, h)})"
        raise TypeError(f"{f!r}")

    def comparison(self, left: Term, relation: str, right: Term) -> str:
        difference = self.term(left, 1) + self.term(right, -1)
        opposite = [(kind, -a, f) for kind, a, f in difference]
        at_least, at_most = _at_least(difference, 0), _at_least(opposite, 0)
        match relation:
            case ">=":
                return at_least
            case ">":
                return _at_least(difference, 1)
            case "<=":
                return at_most
            case "<":
                return _at_least(opposite, 1)
            case "=":
                return _and(at_least, at_most)
        return _not(_and(at_least, at_most))

    def term(self, t: Term, factor: int) -> Linear:
        match t:
            case nodes.Integer(value):
                return [("1", factor * value, "")]
            case nodes.Position():
                return [("Position", factor, "")]
            case nodes.Length():
                return [("Length", factor, "")]
            case nodes.Count(f):
                return [("Before", factor, self.formula(f))]
            case nodes.CountFuture(f):
                return [("After", factor, self.formula(f))]
            case nodes.CountAll(f):
                return [("All", factor, self.formula(f))]
            case nodes.Scale(a, u):
                return self.term(u, factor * a)
            case nodes.Sum(u, w):
                return self.term(u, factor) + self.term(w, factor)
            case nodes.Difference(u, w):
                return self.term(u, factor) + self.term(w, -factor)
        raise TypeError(f"{t!r}")

    def word(self, symbols: str) -> str:
        def bits(i: int, symbol: str) -> list[bool]:
            mods = [i % m.modulus == m.remainder for m in self.predicates]
            return [symbol == name for name in SYMBOLS] + mods

        return _list(_list(map(_bool, bits(i, s))) for i, s in enumerate(symbols, start=1))


def _at_least(terms: Linear, bound: int) -> str:
    text = "Zero"
    for kind, a, f in terms:
        match kind:
            case "1":
                bound -= a
            case "Position" | "Length":
                text = f"({kind} ({a}) {text})"
            case _:
                text = f"(Count {kind} ({a}) {f} {text})"
    return f"(AtLeast {text} ({bound}))"


def _not(f: str) -> str:
    return f"(Not {f})"


def _and(f: str, g: str) -> str:
    return f"(And {f} {g})"


def _or(f: str, g: str) -> str:
    return _not(_and(_not(f), _not(g)))


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _list(items: object) -> str:
    return f"[{'; '.join(items)}]"


def _compare(seed: int, count: int, folder: Path) -> None:
    rng = np.random.default_rng(seed)
    questions, cases = [], []
    for _ in range(count):
        formula = random_formula(rng, int(rng.integers(1, 16)), SYMBOLS)
        word = "".join(rng.choice(list(SYMBOLS), size=int(rng.integers(1, 6))))
        words = _Words()
        text = words.formula(formula)
        expected = _list(map(_bool, formula.truth(word)))
        questions.append(f"same {text} {words.word(word)} {expected}")
        cases.append((formula, word))
    answers = booleans(IMPORTS, "", questions, folder)
    for (formula, word), right in zip(cases, answers, strict=True):
        assert right, f"{formula} on {word}"


def test_truth_is_the_same(tmp_path: Path) -> None:
    needs_coq()
    _compare(0, 500, tmp_path)


def test_a_wrong_truth_is_seen(tmp_path: Path) -> None:
    needs_coq()
    questions = ["same (Atom 0) [[true]; [false]] [true; true]"]
    assert booleans(IMPORTS, "", questions, tmp_path) == [False]


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 11))
def test_truth_is_the_same_of_many(seed: int, tmp_path: Path) -> None:
    needs_coq()
    _compare(seed, 500, tmp_path)
