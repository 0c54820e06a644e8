"""Drafts: gates in canonical form mean what they are made of, and nothing stands there twice."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softhat.program.draft import Draft, only
from softhat.program.evaluate import outputs
from softhat.program.gates import And
from softhat.program.heads import Previous
from softhat.program.inputs import TokenIn
from softhat.program.literals import FALSE, TRUE, Literal
from softhat.program.signals import reads

WORDS = [np.array(word) for n in (1, 2, 3) for word in product(range(3), repeat=n)]


@given(st.data())
def test_gates_mean_what_they_are_made_of(data: st.DataObject) -> None:
    draft = Draft("abc")
    tokens = [draft.token(s) for s in ("a", "bc", "b", "abc", "")]
    before = draft.add(Previous(draft.token("a"), "past"), "Y a")
    masks = [0b001, 0b110, 0b010, 0b111, 0]

    def column(mask: int, word: np.ndarray) -> np.ndarray:
        found: np.ndarray = (mask >> word & 1).astype(bool)
        return found

    made: list[tuple[Literal, list[np.ndarray]]] = [
        (literal, [column(mask, word) for word in WORDS])
        for literal, mask in zip(tokens, masks, strict=True)
    ]
    shifted = [np.concatenate([[False], column(0b001, word)[:-1]]) for word in WORDS]
    made.append((before, shifted))
    for _ in range(data.draw(st.integers(1, 5))):
        (f, left), (g, right) = data.draw(st.sampled_from(made)), data.draw(st.sampled_from(made))
        if data.draw(st.booleans()):
            f, left = ~f, [~x for x in left]
        kind = data.draw(st.sampled_from(["and", "xor"]))
        if kind == "and":
            both = [x & y for x, y in zip(left, right, strict=True)]
            made.append((draft.conjunction([f, g], "and"), both))
        else:
            differ = [x ^ y for x, y in zip(left, right, strict=True)]
            made.append((draft.xor(f, g, "xor"), differ))
    program = draft.finish({str(k): literal for k, (literal, _) in enumerate(made)})
    for at, word in enumerate(WORDS):
        found = outputs(program, word)
        for k, (_, wanted) in enumerate(made):
            assert found[str(k)].tolist() == wanted[at].tolist()
    assert len(set(program.signals)) == len(program.signals)


def test_symbols_are_kept_as_the_smaller_set() -> None:
    draft = Draft("abcd")
    most = draft.token("bcd")
    assert most == ~draft.token("a") and draft.signals == [TokenIn(("a",))]
    assert draft.token("abcd") == TRUE and draft.token("") == FALSE
    a, b = draft.token("ab"), draft.token("bc")
    assert draft.conjunction([a, b], "b") == draft.token("b")
    assert draft.conjunction([draft.token("a"), draft.token("b")], "none") == FALSE


def test_conjunctions_are_flat_and_without_repeats() -> None:
    draft = Draft("ab")
    heads = [draft.add(Previous(draft.token("a"), d), d) for d in ("past", "future")]
    inner = draft.conjunction(heads, "inner")
    outer = draft.conjunction([inner, heads[0], TRUE, draft.token("a")], "outer")
    signal = draft.signal(outer)
    assert isinstance(signal, And) and set(signal.literals) == {*heads, draft.token("a")}
    assert draft.conjunction([outer, ~heads[1]], "never") == FALSE
    assert draft.conjunction([heads[0]], "same") == heads[0]


def test_what_no_output_needs_is_left_out() -> None:
    draft = Draft("ab")
    a = draft.token("a")
    used = draft.add(Previous(a, "past"), "Y a")
    draft.add(Previous(used, "future"), "X Y a")
    program = draft.finish({"x": used, "y": ~a})
    assert len(program.signals) == 2
    assert only(program, "y").signals == (TokenIn(("a",)),)
    for at, signal in enumerate(program.signals):
        assert all(read < at for read in reads(signal))
