"""`at(p)` in formulas: written, printed, true where it should be, decided."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest

from softhat import FormulaError, SofthatError, equivalent, parse, predicate, satisfiable
from softhat.logic.binding import bind
from softhat.logic.core import to_core
from softhat.logic.decide.judge import judge
from softhat.logic.fragments import describe
from softhat.logic.optimise.simplify import simplify
from softhat.logic.semantics.batch import all_words, evaluate, unpack
from softhat.logic.syntax.nodes import At, Formula, Symbol
from softhat.numbers.definitions import define
from softhat.numbers.predicates import BuiltIn, Unbound
from tests.logic import oracle
from tests.logic.oracle import GIVEN, PREDICATES

TEMPLATES = (
    "Y {}", "Z {} & a", "O ({} & a)", "H ({} -> a)", "{} S a", "a S {}", "a T {}", "{} T (a | b)",
    "#({} & a) >= 2", "#({}) > #(a)", "!{} xor a", "{} <-> Y a", "X {}", "N {} | b", "F ({} & a)",
    "G ({} -> a)", "{} U a", "a R {}", "a W {}", "a M {}", "#>({} & a) > 1", "#*({} & a) = 2",
    "O ({} & X a)", "first | {} & !last",
)  # fmt: skip


def formulas() -> list[Formula]:
    """Every predicate under every operator."""
    texts = [template.format(f"at({name})") for template in TEMPLATES for name in PREDICATES]
    return [bind(parse(text), GIVEN) for text in texts]


FORMULAS = formulas()
SLICE = FORMULAS[::5]


def test_there_are_many() -> None:
    assert len(set(FORMULAS)) >= 240


@pytest.mark.parametrize("formula", SLICE, ids=str)
def test_truth_is_the_definition(formula: Formula) -> None:
    words = ["".join(w) for n in range(1, 6) for w in product("ab", repeat=n)]
    words += ["abbab" * 6, "a" * 37, "b" * 61]
    for word, found in zip(words, formula.truth_many(words), strict=True):
        assert found.tolist() == oracle.truth(formula, word), word
    for length in (1, 4, 6):
        batch = all_words("ab", length)
        together = unpack(evaluate(formula, batch), batch.count)
        alone = formula.truth_many(["".join(w) for w in product("ab", repeat=length)])
        assert np.array_equal(together, np.array(alone))
    for form in (simplify(formula), to_core(formula)):
        assert (form.truth("abaab" * 4) == formula.truth("abaab" * 4)).all()


@pytest.mark.full
@pytest.mark.parametrize("formula", [f for f in FORMULAS if f not in SLICE], ids=str)
def test_truth_is_the_definition_of_all(formula: Formula) -> None:
    test_truth_is_the_definition(formula)


def test_reading_and_printing() -> None:
    assert parse("at(prime)") == predicate("prime") == At(BuiltIn("prime"))
    assert parse("at ( p ) & at") == At(Unbound("p")) & Symbol("at")
    assert parse("at // here\n (p)") == At(Unbound("p"))
    for text in ("at(prime) S a", "at('my p') | at", "at(S1) xor at & (at | b)"):
        assert str(parse(str(parse(text)))) == str(parse(text))
    assert parse("at(p) & a", alphabet="ab").bind(GIVEN) == bind(parse("at(p) & a"), GIVEN)
    assert pickle.loads(pickle.dumps(parse("at(prime)"))) == parse("at(prime)")
    assert predicate("p", "01(1)").truth("aaaa").tolist() == [False, True, True, True]
    for text, position in (
        ("at()", 3),
        ("at(first)", 3),
        ("at(a, b)", 4),
        ("at(", 3),
        ("at(2)", 3),
    ):
        with pytest.raises(FormulaError, match="at takes the name of a numerical predicate") as e:
            parse(text)
        assert e.value.position == position
    with pytest.raises(FormulaError, match="not in the alphabet"):
        parse("at(p) & c", alphabet="ab")


def test_binding() -> None:
    f = parse("at(p) & a")
    assert f.truth("aaaa", predicates={"p": "01(10)"}).tolist() == [False, True, True, False]
    assert f.accepts("ab", predicates={"p": lambda i, n: i == n}) is False
    assert [x.tolist() for x in f.truth_many(["a", "aa"], {"p": lambda i, n: i == n})] == [
        [True],
        [False, True],
    ]
    for word, given, message in (
        ("a", {}, "'p' is unknown"),
        ("aaa", {"p": [1, 0]}, "'p' is a table of 2 positions, and the word has 3"),
        ("a", {"p": [3]}, "list of 0 and 1"),
        ("a", 7, "mapping"),
    ):
        with pytest.raises(SofthatError, match=message):
            f.truth(word, predicates=given)


def test_fragments() -> None:
    assert describe(parse("at(prime) S a")).is_decoder
    assert not describe(parse("at(middle) S a")).is_decoder
    assert not describe(bind(parse("at(g)"), GIVEN)).is_decoder
    assert describe(parse("at(prime) S a")).fragment == "pure past with predicates"
    many = describe(parse("O (at(prime) & mod(2, 1) & #(a) > 1)"))
    assert many.fragment == "pure past with counting, mod and predicates"
    assert many.predicates == ("prime",)


def test_periodic_predicates_are_decided() -> None:
    given = {"p": "0110(01)", "q": "(01)", "r": "1(011)"}
    assert equivalent("at(q)", "mod(2, 0)", predicates=given) is None
    assert equivalent("at(p)", "mod(2, 0)", predicates=given) == "aaa"
    assert equivalent("i > 4 -> at(p)", "i > 4 -> mod(2, 0)", predicates=given) is None
    assert equivalent("at(p) & at(r)", "at(r) & at(p)", predicates=given) is None
    assert satisfiable("at(p) & at(r) & i > 4 & !mod(6, 0)", predicates=given) == "a" * 10
    # Every predicate of the definition, by trying: the first word is the shortest.
    period = bind(
        parse("at(p) & at(r) & Y !at(p) & a"), {k: define(k, v) for k, v in given.items()}
    )
    found = satisfiable(period, alphabet="ab")
    tried = next(n for n in range(1, 30) if period.truth("a" * n)[-1])
    assert found is not None and len(found) == tried


def test_others_need_a_length() -> None:
    assert equivalent("O at(prime)", "!H !at(prime)") is None
    assert equivalent("at(middle) & a", "a & at(middle)", alphabet="ab") is None
    with pytest.raises(SofthatError, match=r"predicate without a period .* up_to=10"):
        satisfiable("at(prime) & mod(6, 1)")
    assert satisfiable("at(prime) & mod(6, 1)", up_to=10) == "a" * 7
    with pytest.raises(SofthatError, match="'t' is a table of 3 positions"):
        satisfiable("at(t) & Y Y Y true", predicates={"t": [1, 0, 1]}, up_to=9)


def test_short_tables_do_not_stop_a_judgement() -> None:
    never = bind(parse("at(t) & a"), {"t": "000"})
    found = judge(never, alphabet="ab")
    assert (found.satisfiable, found.valid, found.counterexample) == (None, False, "a")
    assert "predicate without a period" in found.reason
