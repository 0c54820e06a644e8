"""All words of a length, in order: the first one where a formula holds."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings

from softhat.logic.decide import short_words
from softhat.logic.decide.letters import Letters
from softhat.logic.decide.short_words import Where, first_word
from softhat.logic.syntax.nodes import Formula
from tests.logic import oracle
from tests.logic.strategies import formulas


@pytest.mark.parametrize("chunk", [3, 1 << 20])
@pytest.mark.parametrize("where", ["first", "last", "anywhere"])
@given(formula=formulas("ab", size=6))
@settings(max_examples=25)
def test_it_is_the_first(where: Where, chunk: int, formula: Formula) -> None:
    letters = Letters(("b", "a"), False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(short_words, "_CHUNK", chunk)
        for length in (1, 2, 3):
            wanted = None
            for numbers in product(range(2), repeat=length):
                truth = oracle.truth(formula, ["ba"[k] for k in numbers])
                held = {"first": truth[0], "last": truth[-1], "anywhere": any(truth)}[where]
                if held:
                    wanted = list(numbers)
                    break
            assert first_word(formula, letters, where, length) == wanted
