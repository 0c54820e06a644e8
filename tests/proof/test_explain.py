"""A certificate in sentences: what they say is what the certificate says."""

from __future__ import annotations

import pytest

import softhat
from softhat import rasp
from softhat.proof.explain import explain
from softhat.proof.values import NAMES
from softhat.transformer.weights import Attention


@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
def test_it_says_what_is_proved_and_how_far(attention: Attention) -> None:
    model = softhat.compile("(!c S a) & #(a) >= #(b) & Y b", alphabet="abc", attention=attention)
    c = model.certificate
    text = explain(c)
    assert "of every word of every length" in text
    for head in c.heads:
        assert f"of kind {head.kind}: " in text and f" {NAMES[head.kind]}" in text
    for dtype, length in c.max_length.items():
        said = f"{length:,} positions" if length and length < 2**53 else "2^53 positions"
        assert f"In {dtype} " in text and (said in text or not length)
    for assumption in c.assumptions:
        assert f"- {assumption}" in text
    assert ("inverse temperature" in text) == (attention == "temperature")
    leaks = [head.leak for head in c.heads if head.kind == "Latest"]
    if attention != "hard":
        assert f"at most {max(leaks):.3g} of the attention goes elsewhere" in text


def test_a_void_certificate_says_nothing_else() -> None:
    model = softhat.compile("Y a", alphabet="ab")
    void = softhat.Model(model.transformer, {"output": softhat.parse("Y b")}).certificate
    assert explain(void).splitlines() == [
        "Nothing is proved about this model.",
        "Reason: output 'output' does not compute its formula.",
    ]


def test_a_program_is_proved_to_its_length() -> None:
    program = rasp.Aggregate(
        rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ), rasp.indices
    )
    model = softhat.compile(rasp.numerical(program), alphabet="ab", max_length=9)
    text = explain(model.certificate)
    assert "every word of length up to 9" in text or "Numbers are within" in text
    assert f"within {model.certificate.error:.3g} of the program's in float32" in text


def test_no_sentence_is_said_twice() -> None:
    """However many outputs there are: of one program, or of several formulas."""
    sort = softhat.compile(
        rasp.lib.make_sort_unique(rasp.tokens, rasp.tokens), "abcdefgh", max_length=5
    )
    assert len(sort.transformer.outputs) == 8
    read = rasp.Aggregate(
        rasp.Select(rasp.indices, rasp.indices, lambda k, q: k == q - 1), rasp.tokens, default="a"
    )
    previous = softhat.compile(read, alphabet="abcdefgh", max_length=9)
    formulas = softhat.compile({"one": "a S b", "two": "Y a", "three": "O b"}, alphabet="ab")
    for model in (sort, previous, formulas):
        lines = explain(model.certificate).splitlines()
        assert sum("same Boolean function" in line for line in lines) == 1
        assert len(set(lines)) == len(lines)
    shown = explain(sort.certificate).splitlines()[0]
    assert "and 2 more is the same" in shown and "is h" not in shown
    assert "\n- \"is 'b'\" is aggregate: b at i-1\n" in explain(previous.certificate)
    assert "\n- 'one' is a S b\n- 'two' is Y a\n- 'three' is O b\n" in explain(formulas.certificate)


def test_outputs_that_are_numbers_are_not_announced_as_a_list() -> None:
    """No output of the program is a bit: there is nothing to list after a colon."""
    model = softhat.compile(rasp.length, alphabet="ab", max_length=8)
    first, *_ = explain(model.certificate).splitlines()
    assert first.endswith("Each output is the number that the program gives.")
