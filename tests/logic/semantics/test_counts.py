"""Comparisons on a tape of words against counting, with weights of any size."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softhat.logic.linear import LinearForm
from softhat.logic.semantics.counts import RELATIONS, compare
from softhat.logic.semantics.tape import tape_of
from softhat.logic.syntax.nodes import Formula, Relation, Symbol

weights = st.integers(-3, 3) | st.sampled_from([2**31, -(2**40), 2**63, -(10**30)])
words = st.lists(st.text("ab", min_size=1, max_size=6), min_size=1, max_size=4)
parts = st.lists(st.tuples(weights, st.sampled_from("ab")), max_size=2)


Part = list[tuple[int, str]]


@given(words, parts, parts, parts, weights, st.sampled_from(sorted(RELATIONS)))
def test_counts_are_counted(
    words: list[str], past: Part, future: Part, total: Part, constant: int, relation: Relation
) -> None:
    tape = tape_of(np.array([len(word) for word in words]))
    laid = "".join(f"{word}." for word in words)
    signal = {s: sum(1 << p for p, c in enumerate(laid) if c == s) for s in "ab"}

    def weighted(part: Part) -> tuple[tuple[int, Formula], ...]:
        return tuple((a, Symbol(s)) for a, s in part)

    form = LinearForm(weighted(past), weighted(future), weighted(total), constant)
    counted = [signal[s] for part in (past, future, total) for _, s in part]
    found = tape.to_bools(compare(relation, form, counted, tape)).tolist()
    wanted = []
    for word in words:
        for i in range(1, len(word) + 1):
            value = constant
            for part, seen in ((past, word[:i]), (future, word[i - 1 :]), (total, word)):
                value += sum(a * seen.count(s) for a, s in part)
            holds = {
                "<": value < 0, "<=": value <= 0, "=": value == 0,
                "!=": value != 0, ">=": value >= 0, ">": value > 0,
            }  # fmt: skip
            wanted.append(holds[relation])
    assert found == wanted
