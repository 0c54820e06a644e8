"""The list of questions: fixed, of every family and level, in every dress."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import pytest

import softhat
from softhat.circuits.exam.paper import DRESSES, digest, questions, tasks
from softhat.io.errors import SofthatError

FAMILIES = ("n-gram", "star-free", "counting", "induction", "program", "machine")


def test_six_families_at_five_levels_in_every_dress() -> None:
    listed = tasks()
    assert [(t.family, t.level) for t in listed] == [(f, k) for f in FAMILIES for k in range(1, 6)]
    counts = Counter(question.dress.name for question in questions())
    assert set(counts) == set(DRESSES)
    assert len(questions()) == 180
    assert counts["llama-grouped"] >= 5
    assert len({question.id for question in questions()}) == 180


def test_no_two_tasks_compute_the_same() -> None:
    for family in FAMILIES[:-1]:
        group = [t for t in tasks() if t.family == family]
        for one, other in combinations(group, 2):
            if one.alphabet == other.alphabet:
                words = [list(w) for n in (3, 5) for w in product(one.alphabet, repeat=n)]
                f, g = softhat.parse(one.formula), softhat.parse(other.formula)
                assert any(f.truth(w).tolist() != g.truth(w).tolist() for w in words)


def test_the_paper_stays_what_it_is() -> None:
    """A paper that changed needs another version: results would not compare."""
    assert digest(questions(1)) == DIGEST


DIGEST = "4fe69fbf34f0a0b0a7b0323e5a6217802125499bd8488783f351efa22a63666c"


def test_questions_by_name() -> None:
    assert {q.task.level for q in questions(1, ["level-2"])} == {2}
    assert [q.id for q in questions(1, ["machine-3.gpt2"])] == ["machine-3.gpt2"]
    with pytest.raises(SofthatError, match="no question, family, level or dress 'x'"):
        questions(1, ["x"])
    with pytest.raises(SofthatError, match="no paper 7"):
        tasks(7)
