"""A model compiled for hard attention, as an AHAT: the formula's truth, exactly."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.ahat.file import dumps, loads
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.simulation import Simulation
from softhat.logic.syntax.nodes import Formula
from softhat.transformer.weights import Attention
from tests.ahat.definition import evaluate
from tests.ahat.running import wide_values
from tests.ahat.simulation.extended import soft_values
from tests.logic import oracle
from tests.slices import every
from tests.transformer.lowering.suite import formulas

SUITE = formulas()[:100]
OPERATORS = [
    "Y a", "Z a", "O a", "H a", "a S b", "a T b", "X a", "N a", "F a", "G a", "a U b", "a R b",
    "a W b", "a M b", "#(a) >= 2", "#>(a) = #>(b)", "#*(a) > n - 2", "mod(3, 1) & !first | last",
    "a xor b -> (a <-> X b)", "#(a) - #>(b) + 2*#*(a) < i",
]  # fmt: skip


def hard(formula: Formula | str) -> AHAT:
    return softhat.to_ahat(softhat.compile(formula, alphabet="ab", attention="hard"))


def agrees(formula: Formula | str, longest: int) -> None:
    model = hard(formula)
    parsed = softhat.parse(formula) if isinstance(formula, str) else formula
    for n in range(1, longest + 1):
        for letters in itertools.product("ab", repeat=n):
            assert model.truth("".join(letters)).tolist() == oracle.truth(parsed, letters), letters


@pytest.mark.parametrize("formula", OPERATORS)
def test_every_operator(formula: str) -> None:
    agrees(formula, 5)


@pytest.mark.parametrize("number", range(0, 100, 20))
def test_formulas(number: int) -> None:
    agrees(SUITE[number], 4)


@pytest.mark.full
@pytest.mark.parametrize("number", range(100))
def test_100_formulas_on_all_words_to_length_7(number: int) -> None:
    agrees(SUITE[number], 7)


@pytest.mark.parametrize("formula", ["X a & Y b", "#*(a) > #(b)", "a U b"])
def test_the_definition_agrees_with_eos(formula: str) -> None:
    """Exact evaluation of a model with both sinks, straight from the definition."""
    model = hard(formula)
    assert model.eos and model.sinks == 2
    for word in ("a", "ba", "abb", "baab"):
        assert model.values(word) == evaluate(model, word).values


def test_a_file_keeps_it() -> None:
    for formula in ("X a | mod(4, 3)", "Y a & last", "false", "#(a) > 2"):
        model = hard(formula)
        assert loads(dumps(model)) == model


def test_propositions_and_outputs() -> None:
    model = softhat.compile({"x": "p S q", "y": "Y (p & q)"}, propositions="pq", attention="hard")
    with pytest.raises(softhat.SofthatError, match="several outputs"):
        softhat.to_ahat(model)
    one = softhat.to_ahat(model, output="y")
    word = ["{p,q}", "{}", "{p}", "{p,q}", "{q}"]
    sets = [set(letter[1:-1].split(",")) - {""} for letter in word]
    assert one.truth(word).tolist() == softhat.parse("Y (p & q)").truth(sets).tolist()


def test_only_hard_attention() -> None:
    with pytest.raises(softhat.SofthatError, match="attention='hard'"):
        softhat.to_ahat(softhat.compile("Y a"))
    with pytest.raises(softhat.SofthatError, match="white space"):
        softhat.to_ahat(softhat.compile("true", alphabet=["a b"], attention="hard"))


@pytest.mark.parametrize("attention", ["hard", "temperature", "unbounded"])
@pytest.mark.parametrize("function", [softhat.analyze, softhat.simulate])
def test_a_compiled_model_is_refused(
    function: Callable[[Any], object], attention: Attention
) -> None:
    """In one line, with what to do: a compiled model has no exact weights of its own."""
    model = softhat.compile("a S b", alphabet="ab", attention=attention)
    with pytest.raises(softhat.SofthatError) as error:
        function(model)
    message = str(error.value)
    assert message.startswith("expected an AHAT")
    assert "softhat.to_ahat of a model compiled with attention='hard'" in message
    assert message.endswith("got a Model")
    assert "\n" not in message


def test_analyze_takes_it() -> None:
    since = softhat.compile("!c S a", alphabet="abc", attention="hard")
    latest = softhat.analyze(softhat.to_ahat(since), up_to=5)
    assert latest.uniform_tieless
    assert latest.min_gap[0, 0] == Fraction(4)  # C, to the next candidate
    for formula in ("X a", "Y a", "#(a) > #(b)", "a U Y b", "mod(2, 1) & F b"):
        model = hard(formula)
        found = softhat.analyze(model, up_to=4)
        assert model.heads
        for n in range(1, 5):
            for counts in found.rows[n].values():
                assert sum(counts) == 2**n * (n + model.sinks)


@pytest.mark.parametrize("formula", ["O a", "Y a", "X a", "a U b", "X F (a & Y b)"])
def test_simulate_takes_it(formula: str) -> None:
    """Softmax with a temperature gives the formula's truth again."""
    model = hard(formula)
    s = softhat.simulate(model, max_length=5)
    parsed = softhat.parse(formula)
    for n in range(1, 6):
        codes = np.array(list(itertools.product(range(2), repeat=n)))
        assert (
            np.abs(s.run_batch(codes)[..., 0] - wide_values(s.source, s.betas, codes)).max() < 1e-9
        )
        for word in codes:
            letters = "".join("ab"[c] for c in word)
            assert s.truth(letters).tolist() == oracle.truth(parsed, letters)


@pytest.mark.parametrize(
    "formula", ["X a", "a U Y b", "#*(a) > #(b)", "#>(a) = 2", "mod(3, 1) & N a"]
)
def test_gap_laws_hold_with_eos(formula: str) -> None:
    """The law of a head is never above a gap that the definition shows."""
    model = hard(formula)
    assert model.eos
    laws = softhat.analyze(model, up_to=2).gap_law
    for n in range(1, 5):
        for letters in itertools.product("ab", repeat=n):
            for name, rows in evaluate(model, letters).rows.items():
                law = laws[name]
                for scores in rows:
                    different = sorted(set(scores.values()), reverse=True)
                    if len(different) > 1:
                        assert law is not None
                        assert law.at(n) <= different[0] - different[1]


def simulated(formula: Formula | str, longest: int, far: tuple[int, ...], count: int) -> None:
    """Softmax by a law for every length decides as the formula does: in the runtime on all short
    words, in extended precision on long ones."""
    model = hard(formula)
    s = softhat.simulate(model, epsilon=None)
    assert s.certificate.guarantee == "proved_all"
    parsed = softhat.parse(formula) if isinstance(formula, str) else formula
    for n in range(1, longest + 1):
        codes = np.array(list(itertools.product(range(2), repeat=n)))
        found = s.run_batch(codes)[..., 0] > 0
        for word, row in zip(codes, found, strict=True):
            assert row.tolist() == oracle.truth(parsed, model.spell(word)), (n, word)
    rng = random.Random(7)
    for n in far:
        for _ in range(count):
            letters = rng.choices("ab", weights=(1, rng.choice([1, 8])), k=n)
            soft = soft_values(s.source, exact_betas(s, n), letters)[:n]
            assert [x > 0 for x in soft] == oracle.truth(parsed, letters), (n, letters)


def exact_betas(s: Simulation, n: int) -> dict[tuple[int, int], Fraction]:
    return {name: Fraction(law.at(n)) for name, law in s.every_law.items()}


@pytest.mark.parametrize("formula", every(12, OPERATORS))
def test_every_operator_is_simulated_at_every_length(formula: str) -> None:
    simulated(formula, 4, (11,), 1)


@pytest.mark.full
@pytest.mark.parametrize("number", range(100))
def test_100_formulas_are_simulated_at_every_length(number: int) -> None:
    simulated(SUITE[number], 6, (24, 100), 2)
