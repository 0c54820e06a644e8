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
        assert f"of kind {head.kind}: it {NAMES[head.kind]}" in text
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
