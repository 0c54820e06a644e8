"""Sources by their definition, without any model."""

from __future__ import annotations

import math
from itertools import product

import pytest

from softhat.io.errors import SofthatError
from softhat.logic.sources import Source, log_weights, range_of
from softhat.logic.syntax.parse import parse

TOKENS = ("a", "b", "<eos>")
FORMULAS = {"a": "!a | Y a", "b": "true", "<eos>": "#(a) > #(b)", "odd": "mod(2, 1)"}


def source() -> Source:
    weights = log_weights({"a": 1, "b": {"": -1, "odd": 0.5}}, TOKENS, tuple(FORMULAS))
    return Source(TOKENS, {name: parse(text) for name, text in FORMULAS.items()}, weights)


def test_words_and_what_is_left_have_all_the_probability() -> None:
    s = source()
    for n in range(6):
        whole = sum(
            math.exp(s.log_probability(word)) for k in range(n) for word in product("ab", repeat=k)
        )
        begun = sum(math.exp(s.log_probability(w, ended=False)) for w in product("ab", repeat=n))
        assert whole + begun == pytest.approx(1)


def test_merged_prefixes_are_all_prefixes() -> None:
    s = source()
    for n in (1, 4, 7):
        total = 0.0
        for k in range(n):
            for word in product("ab", repeat=k):
                total += math.exp(s.log_probability(word, ended=False)) * s.entropy(word)
        assert s.entropy_of_words(n) == pytest.approx(total)


def test_many_at_once_are_one_by_one() -> None:
    s = source()
    words = ["abba", "b", "aab"]
    for word, rows in zip(words, s.distributions(words), strict=True):
        assert len(rows) == len(word) + 1
        for at, row in enumerate(rows):
            assert row == pytest.approx(s.next(word[:at]))


def test_ranges_and_refusals() -> None:
    assert range_of({"": 1.0, "x": -2.0, "y": 3.0}) == (-1.0, 4.0)
    assert log_weights({}, TOKENS, ()) == {token: {"": 0.0} for token in TOKENS}
    for given in ({"c": 1}, {"a": {"z": 1}}, {"a": True}, {"a": 1e4}, 3):
        with pytest.raises(SofthatError):
            log_weights(given, TOKENS, tuple(FORMULAS))
