"""Certificates of models with numerical predicates, attacked: a wrong predicate proves nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from softhat.logic.binding import bind
from softhat.logic.syntax.parse import parse
from softhat.models.compiler import compile
from softhat.models.model import Model
from softhat.numbers.arithmetic_sets import BUILT_IN
from softhat.numbers.definitions import define, tabulated
from softhat.numbers.positions import Holds, Mod, Named
from softhat.numbers.predicates import BuiltIn, Predicate
from tests.logic.oracle import GIVEN

MUTANTS: dict[str, Predicate] = {
    **{name: BuiltIn(name) for name in BUILT_IN},
    "another period": define("p", "0110(10)"),
    "another start": define("p", "0111(01)"),
    "a longer period": define("p", "0110(011)"),
    "a table": define("p", "01100101"),
    "a longer table": define("t", "01101001"),
    "one bit": define("t", "0111"),
    "by length": tabulated(define("g", lambda i, n: 3 * i <= n), 64),
}
TEXTS = ("at(p) S a", "at(t) & a", "Y at(prime)", "#(at(p)) > #(a)", "F (at(g) & a)", "at(middle)")
SHORT = {**GIVEN, "t": "0110"}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", MUTANTS)
def test_other_predicates_void_the_certificate(text: str, name: str) -> None:
    for attention in ("unbounded", "temperature"):
        model = compile(text, "ab", attention, predicates=SHORT, predicate_length=64)
        changed = False
        features = []
        for feature in model.transformer.positions:
            if isinstance(feature, Holds) and feature.predicate != MUTANTS[name]:
                feature, changed = Holds(MUTANTS[name]), True
            features.append(feature)
        mutant = Model(replace(model.transformer, positions=tuple(features)), model.formulas)
        assert model.certificate.max_length["float32"] > 0
        if changed:
            assert set(mutant.certificate.max_length.values()) == {0}


@pytest.mark.parametrize("feature", [Named("first"), Mod(2, 0, sinks=False), Named("ordinary")])
def test_other_features_void_the_certificate(feature: Named | Mod) -> None:
    model = compile("at(p) S a", "ab", predicates=GIVEN)
    features = [feature if isinstance(f, Holds) else f for f in model.transformer.positions]
    mutant = Model(replace(model.transformer, positions=tuple(features)), model.formulas)
    assert set(mutant.certificate.max_length.values()) == {0}


def test_a_shorter_table_is_not_enough() -> None:
    """The claim is about the whole table, the feature only about its beginning."""
    model = compile("at(t)", "ab", predicates={"t": "011010"})
    features = [Holds(define("t", "0110")) for _ in model.transformer.positions]
    mutant = Model(replace(model.transformer, positions=tuple(features)), model.formulas)
    assert set(mutant.certificate.max_length.values()) == {0}


def test_an_equal_set_of_another_name_is_the_same() -> None:
    """Sets with a period are compared position by position, whatever they are called."""
    model = compile("at(p)", "ab", predicates={"p": "(01)"})
    for bits, same in (("(01)", True), ("01(01)", True), ("(10)", False), ("(0101011)", False)):
        other = Model(model.transformer, {"output": bind(parse("at(q)"), {"q": bits})})
        assert (other.certificate.max_length["float32"] > 0) == same, bits
