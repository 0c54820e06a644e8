"""A refined machine reads the same words, and its states know what they should."""

from __future__ import annotations

from itertools import product

import pytest

from softhat import SofthatError
from softhat.trained.refinement import refined
from softhat.trained.specification import read_specification
from tests.trained import tiny


@pytest.mark.parametrize(("memory", "counts"), [(1, False), (2, False), (1, True)])
def test_same_words(memory: int, counts: bool) -> None:
    spec = read_specification(tiny.AB)
    finer = refined(spec, memory, counts, 6)
    known: dict[int, set[tuple[object, ...]]] = {}
    for n in range(7):
        for word in product(range(2), repeat=n):
            run, fine = spec.run(word), finer.spec.run(word)
            assert [int(finer.base[state]) for state in fine] == run
            if len(run) == n + 1:
                assert finer.spec.allowed[fine[-1]] == spec.allowed[run[-1]]
                count = word.count(0) if counts else None
                known.setdefault(fine[-1], set()).add((word[-memory:], count))
    assert all(len(seen) == 1 for seen in known.values())


def test_too_many_states() -> None:
    spec = read_specification(
        {**tiny.AB, "next": {q: {"a": "q0", "b": "q1"} for q in ("q0", "q1")}}
    )
    with pytest.raises(SofthatError, match="states"):
        refined(spec, 14, False, 40)
