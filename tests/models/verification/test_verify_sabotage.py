"""A model with one weight changed is caught, and the report names the part it belongs to."""

from __future__ import annotations

import numpy as np
import pytest

import softhat
from softhat.logic.optimise import simplify
from softhat.logic.optimise.entail import Look
from softhat.logic.syntax import nodes
from softhat.models import compiler
from tests.proof.mutations import Mutation, matters, mutations
from tests.slices import every

# Together these have every kind of head in both directions, gates of every kind, every position
# feature, and read-outs of stored bits and of raw heads.
FORMULAS = {
    "latest": "a S (Y b & a)",
    "earliest": "a U (b & Z a) <-> H(a | X b)",
    "gates": "(a xor Y b) S (X a | #(b) > 1)",
    "sign": "#(a) - #>(b) >= 1",
    "total": "#*(a) = #>(b) + 1",
    "positions": "mod(3, 1) & O(a & last) | first",
}
TARGETS = ("unbounded", "temperature")
LONGEST = 6


def _check(formula: str, attention: str, chosen: list[Mutation]) -> tuple[int, list[str]]:
    """How many of these mutations were caught, and what went wrong with the others."""
    model = softhat.compile(formula, alphabet="ab", attention=attention)
    caught, wrong = 0, []
    for mutation in chosen:
        sabotaged = mutation.apply(model)
        if not matters(sabotaged, "ab", LONGEST):
            continue
        result = softhat.verify(sabotaged, exhaustive=LONGEST, random=0, adversarial=0)
        found = result.counterexample
        if result.ok or found is None or found.place is None:
            wrong.append(f"{mutation} missed")
            continue
        # The word really is a counterexample, at that position.
        expected = sabotaged.formulas[found.output].truth(found.word)
        says = sabotaged.run_batch(sabotaged.encode(found.word)[None])[0, :, 0] > 0
        assert expected[found.position] == found.expected != says[found.position]
        assert (expected == says)[: found.position].all()
        place = (found.place.part, found.layer, found.head)
        if place == mutation.place:
            caught += 1
        else:
            wrong.append(f"{mutation} named {found.place}")
    return caught, wrong


@pytest.mark.parametrize("attention", TARGETS)
@pytest.mark.parametrize("name", every(2, FORMULAS))
def test_single_weights(name: str, attention: str) -> None:
    """A slice: one weight in eight."""
    model = softhat.compile(FORMULAS[name], alphabet="ab", attention=attention)
    every = list(mutations(model))
    rng = np.random.default_rng(len(name))
    chosen = [every[k] for k in sorted(rng.choice(len(every), 20, replace=False))]
    caught, wrong = _check(FORMULAS[name], attention, chosen)
    assert not wrong
    assert caught >= 5


@pytest.mark.full
@pytest.mark.parametrize("attention", TARGETS)
@pytest.mark.parametrize("name", FORMULAS)
def test_every_weight(name: str, attention: str) -> None:
    model = softhat.compile(FORMULAS[name], alphabet="ab", attention=attention)
    caught, wrong = _check(FORMULAS[name], attention, list(mutations(model)))
    assert not wrong
    assert caught >= 30


def test_an_unmentioned_symbol_with_a_foreign_embedding_row_is_caught() -> None:
    """Symbols share a representative only if their embedding rows are equal too."""
    model = softhat.compile("O a", alphabet="abcdefgh")
    a = model.transformer.embedding.dense()[0]
    (column,) = np.flatnonzero(a)
    sabotaged = Mutation(None, "embedding", (5, int(column)), 1.0).apply(model)
    assert softhat.verify(model, exhaustive=3, random=0, adversarial=0).letters == 2
    result = softhat.verify(sabotaged, exhaustive=3, random=0, adversarial=0)
    assert result.letters == 3
    assert result.counterexample is not None
    assert result.counterexample.word == "f"
    assert result.counterexample.place is not None
    assert result.counterexample.place.part == "embedding"


def test_a_fault_that_only_long_words_show_is_found_and_shrunk() -> None:
    """A penalty of 3.9i loses to a trigger 4(i-1) away from about i = 40 on only."""
    model = softhat.compile("!c S a", alphabet="abc")
    query = model.transformer.layers[0].query.dense()[0]
    row, column = np.argwhere(query == query.min())[0]
    assert query.min() == -8.0  # -2C·i
    sabotaged = Mutation(0, "query", (0, int(row), int(column)), -3.9).apply(model)
    result = softhat.verify(
        sabotaged, exhaustive=4, random=20, adversarial=10, max_length=200, beyond=True
    )
    found = result.counterexample
    assert found is not None
    assert (found.layer, found.head) == (0, 0)
    says = sabotaged.run_batch(sabotaged.encode(found.word)[None])[0, :, 0] > 0
    assert (says != model.formulas["output"].truth(found.word)).any()
    word = list(found.word)
    for k in range(len(word)):  # nothing can be left out
        shorter = word[:k] + word[k + 1 :]
        says = sabotaged.run_batch(sabotaged.encode(shorter)[None])[0, :, 0] > 0
        assert (says == model.formulas["output"].truth(shorter)).all()


def test_a_model_of_another_formula_is_wrong_but_has_no_place() -> None:
    model = softhat.compile("O a", alphabet="ab")
    model.formulas["output"] = softhat.parse("O a & Y b")
    result = softhat.verify(model, exhaustive=4, random=0, adversarial=0)
    assert not result.ok
    assert result.counterexample is not None
    assert result.counterexample.word == "a"
    assert result.counterexample.place is None


def test_a_wrong_compiler_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the reference itself is wrong there is no part at fault, and a report all the same."""
    plain = simplify._unary

    def wrong(node: nodes.Unary, look: Look) -> nodes.Formula:
        match node:
            case nodes.Once(nodes.Since(left, _)):
                return nodes.Once(left)
        return plain(node, look)

    monkeypatch.setattr(simplify, "_unary", wrong)
    noticed = softhat.compile("O (a S b)", alphabet="ab")
    assert softhat.verify(noticed, random=0).ok  # what the checker cannot follow is not used
    monkeypatch.setattr(compiler, "is_provable", lambda *_: True)
    model = softhat.compile("O (a S b)", alphabet="ab")
    result = softhat.verify(model, exhaustive=4, random=10, adversarial=2)
    assert not result.ok
    assert result.counterexample is not None
    assert result.counterexample.word == "a"
    assert result.counterexample.place is None
