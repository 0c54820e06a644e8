"""The zoo from Python: names, what is known, formulas and models."""

from __future__ import annotations

import pytest

import softhat
from softhat.models.value_model import ValueModel


def test_a_language_is_compiled_by_its_name() -> None:
    assert {"dyck-1", "parity", "rasp-sort", "ahat-majority"} <= set(softhat.zoo.names())
    entry = softhat.zoo.entry("parity")
    assert (entry.alphabet, entry.at) == (("a", "b"), "first")
    assert softhat.zoo.formula("dyck-1").accepts("(()())")
    parity = softhat.zoo.model("parity", attention="temperature")
    for word in ("abba", "ab", "b", "aaab"):
        assert parity.accepts(word) == (word.count("a") % 2 == 0)
    assert parity.attention == "temperature"


def test_programs_propositions_and_hard_attention() -> None:
    sort = softhat.zoo.model("rasp-sort", max_length=5)
    assert isinstance(sort, ValueModel) and sort.values([3, 1, 2, 1]) == [1, 1, 2, 3]
    hard = softhat.zoo.model("ahat-majority")
    assert isinstance(hard, softhat.AHAT) and hard.accepts("aab")
    name = next(name for name in softhat.zoo.names() if softhat.zoo.entry(name).propositional)
    assert softhat.zoo.model(name).transformer.propositional


def test_what_is_not_there_is_said_in_a_line() -> None:
    with pytest.raises(softhat.SofthatError, match="did you mean dyck-1"):
        softhat.zoo.model("dyk-1")
    with pytest.raises(softhat.SofthatError, match="no formula"):
        softhat.zoo.formula("rasp-sort")
    with pytest.raises(softhat.SofthatError, match="machine"):
        softhat.zoo.entry("bb4")
