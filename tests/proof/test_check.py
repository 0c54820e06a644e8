"""The checker proves what is so and nothing else: canonical functions, claims, and voids."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import softhat
from softhat.logic.syntax import nodes
from softhat.models.model import Model
from softhat.proof.check import certify
from tests.logic.strategies import formulas
from tests.slices import examples


@given(formulas(size=14), st.sampled_from(["unbounded", "temperature", "hard"]))
@settings(max_examples=40)
def test_what_the_compiler_makes_is_proved(formula: nodes.Formula, attention: str) -> None:
    try:
        model = softhat.compile(formula, alphabet="abc", attention=attention)
    except softhat.SofthatError:  # a number that cannot be an exact weight
        assume(False)
    certificate = model.certificate
    assert certificate.void == ()
    assert all(output.proved for output in certificate.outputs)


@given(formulas(size=10), formulas(size=10))
@examples(60)
def test_a_false_claim_is_never_proved(formula: nodes.Formula, claim: nodes.Formula) -> None:
    try:
        model = softhat.compile(formula, alphabet="abc")
    except softhat.SofthatError:
        assume(False)
    certificate = certify(model.transformer, {"output": claim})
    if not certificate.void:
        assert softhat.equivalent(formula, claim, alphabet="abc", up_to=5) is None


def test_a_void_certificate_promises_nothing() -> None:
    model = softhat.compile("a S b", alphabet="ab")
    certificate = Model(model.transformer, {"output": softhat.parse("a S Y b")}).certificate
    assert certificate.void == ("output 'output' does not compute its formula",)
    assert set(certificate.max_length.values()) == {0}
    assert "Nothing is proved" in certificate.explain()


def test_labels_and_kinds_are_not_trusted() -> None:
    from dataclasses import replace

    model = softhat.compile("a S b", alphabet="ab")
    (layer,) = model.transformer.layers
    lying = replace(layer, labels=("Previous: Y a",), kinds=("Previous",))
    found = certify(replace(model.transformer, layers=(lying,)), model.formulas)
    assert found.void == () and found.heads[0].kind == "Latest"
    assert found.max_length == model.certificate.max_length


def test_too_large_a_function_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softhat.proof.boolean.MOST_NODES", 3)
    certificate = softhat.compile("Y a & Y b & Y c | O a & O b", propositions="abc").certificate
    assert "not decided" in certificate.void[0]


def test_the_checker_does_not_import_the_compiler() -> None:
    import subprocess
    import sys

    code = (
        "import sys, softhat.proof.check\n"
        "rooms = ('program', 'lowering', 'runtime', 'verification')\n"
        "bad = {name for name in sys.modules if name.split('.')[1:2] and "
        "name.startswith('softhat.') and name.split('.')[1] in rooms}\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("#(Y a) + #(!Y a) > i", False),
        ("#(Y a) + #(!Y a) >= i", True),
        ("#*(a) + #*(!a) = n", True),
    ],
)
def test_counts_that_cancel(text: str, holds: bool, attention: Any) -> None:
    """Nothing is left to divide by: a constant, and a right model that is certified."""
    model = softhat.compile(text, alphabet="ab", attention=attention)
    assert model.certificate.max_length["float32"] > 1_000_000
    assert model.truth("abba").tolist() == [holds] * 4
