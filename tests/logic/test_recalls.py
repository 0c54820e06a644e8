"""`last[v | k = q, …]`: text, truth by the definition, its expansion, deciding, compiling."""

from __future__ import annotations

import random

import numpy as np
import pytest

import softhat
from softhat.logic.recalls import expanded, without_recalls
from softhat.logic.semantics.batch import evaluate, from_codes, unpack
from softhat.logic.syntax.nodes import Formula, recall
from tests.slices import every

PARTS = ["a", "b", "!a", "Y a", "O b", "a S b", "c", "true", "mod(2, 0)", "#(a) > #(b)"]


def defined(value: Formula, digits: list[tuple[Formula, Formula]], word: str) -> list[bool]:
    held = value.truth(word)
    sides = [(key.truth(word), query.truth(word)) for key, query in digits]
    found = []
    for i in range(len(word)):
        same = [j for j in range(i + 1) if all(key[j] == query[i] for key, query in sides)]
        found.append(bool(same) and bool(held[same[-1]]))
    return found


@pytest.mark.parametrize("seed", every(3, range(40)))
def test_truth_is_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    parts = [softhat.parse(text) for text in PARTS]
    value = rng.choice(parts)
    digits = [(rng.choice(parts), rng.choice(parts)) for _ in range(rng.randint(1, 3))]
    f = recall(value, *digits)
    word = "".join(rng.choice("abc") for _ in range(rng.randint(1, 14)))
    wanted = defined(value, digits, word)
    assert f.truth(word).tolist() == wanted
    assert f.truth_many([word, word + "a", "b" + word])[0].tolist() == wanted
    codes = np.array([["abc".index(symbol) for symbol in word]])
    assert unpack(evaluate(f, from_codes(codes, "abc")), 1)[0].tolist() == wanted
    assert expanded(f).truth(word).tolist() == wanted
    assert softhat.parse(str(f)) == f
    assert softhat.parse(f.pretty()) == f
    if seed < 12:
        model = softhat.compile(f, alphabet="abc")
        assert model.truth(word).tolist() == wanted
        assert model.certificate.max_length["float32"] > 100


def test_questions_for_every_length() -> None:
    assert softhat.equivalent("last[a | b = Y b]", "last[a | !b = !Y b]", alphabet="abc") is None
    assert softhat.equivalent("last[a | true = true]", "a", alphabet="ab") is None
    assert softhat.equivalent("last[a | a = true]", "O a", alphabet="ab") is None
    assert softhat.satisfiable("last[a | b = c] & !a", alphabet="abc") == "ab"
    plain = softhat.parse("a S b")
    assert without_recalls(plain) is plain


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("first[a | b = c]", "only last takes brackets"),
        ("last[a | b != c]", "by = only"),
        ("last[a]", "a recall is a value and"),
        ("last[a | b = c", "a recall is a value and"),
    ],
)
def test_what_is_no_recall(text: str, said: str) -> None:
    with pytest.raises(softhat.FormulaError, match=said):
        softhat.parse(text)


def test_last_is_still_a_word_of_its_own() -> None:
    assert softhat.parse("last & a").truth("aba").tolist() == [False, False, True]
