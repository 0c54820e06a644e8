"""The checker proves what is so and nothing else: canonical functions, claims, and voids."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import softhat
from softhat.logic.random import random_formula
from softhat.logic.syntax import nodes
from softhat.model import Model
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.check import certify
from softhat.proof.claims import claimed
from tests.logic.strategies import formulas


def functions(*texts: str, symbols: str = "abc", propositional: bool = False) -> list[int]:
    atoms = Atoms(Space(symbols, propositional))
    claims = {str(k): softhat.parse(text) for k, text in enumerate(texts)}
    return list(claimed(atoms, claims).values())


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a | b", "!c"),
        ("a & b", "false"),
        ("O a", "true S a"),
        ("H a", "!O !a"),
        ("a S b", "(a | b) S b"),
        ("Y a & Y b", "Y b & Y a"),
        ("Y true", "!first"),
        ("X true", "!last"),
        ("a S b", "(a & !b) S b"),
        ("#(a) > 1", "!(#(a) <= 1)"),
        ("#(a) + #(b) >= 1", "#(a) + #(b) > 0"),
        ("2*#(a) >= 3", "#(a) >= 2"),
        ("#(!a) >= 4", "i - #(a) >= 4"),
        ("#>(true) = 1", "n - i = 0"),
        ("#(a) = #(b)", "#(b) = #(a)"),
        ("#(a) != 3", "#(a) < 3 | #(a) > 3"),
        ("#(a) >= 0", "true"),
        ("0 - #(a) - n >= 0", "false"),
        ("mod(1, 0)", "true"),
        ("a W b", "b R (a | b)"),
        ("a M b", "b U (a & b)"),
        ("#(a) <= 100000000000000000000", "true"),
    ],
)
def test_equal_claims_are_one_function(left: str, right: str) -> None:
    f, g = functions(left, right)
    assert f == g


@pytest.mark.parametrize(
    ("left", "right"),
    [("a S b", "b S a"), ("Y a", "X a"), ("#(a) > 1", "#(a) > 2"), ("#(a) > 1", "#>(a) > 1"),
     ("a", "b"), ("O a", "F a"), ("mod(3, 1)", "mod(3, 2)"), ("first", "last")],
)  # fmt: skip
def test_different_claims_are_not(left: str, right: str) -> None:
    f, g = functions(left, right)
    assert f != g


def test_propositions_do_not_exclude_each_other() -> None:
    f, g = functions("p & q", "false", symbols="pq", propositional=True)
    assert f != g


@given(st.data())
@settings(max_examples=60)
def test_diagrams_agree_with_truth_tables(data: st.DataObject) -> None:
    """Boolean formulas over a symbol and two atoms: equal numbers exactly if equal tables."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    made = [random_formula(rng, 9, "abpq", "boolean") for _ in range(2)]
    as_atoms = {"p": "Y a", "q": "Y b"}
    texts = []
    for formula in made:
        text = str(formula)
        for name, atom in as_atoms.items():
            text = " ".join(f"({atom})" if word == name else word for word in _words(text))
        texts.append(text)
    f, g = functions(*texts)
    tables = [
        [_value(formula, {"p": p, "q": q, "abc"[symbol]: True}) for symbol, p, q in _CELLS]
        for formula in made
    ]
    assert (f == g) == (tables[0] == tables[1])


_CELLS = list(product(range(3), (False, True), (False, True)))


def _words(text: str) -> list[str]:
    for mark in "()!&|":
        text = text.replace(mark, f" {mark} ")
    return text.split()


def _value(formula: nodes.Formula, holds: dict[str, bool]) -> bool:
    match formula:
        case nodes.Symbol(name):
            return holds.get(name, False)
        case nodes.Constant(value):
            return value
        case nodes.Not(operand):
            return not _value(operand, holds)
    left, right = (_value(child, holds) for child in formula.children)  # type: ignore[arg-type]
    match formula:
        case nodes.And():
            return left and right
        case nodes.Or():
            return left or right
        case nodes.Xor():
            return left != right
        case nodes.Implies():
            return not left or right
        case nodes.Iff():
            return left == right
    raise TypeError(formula)


@given(formulas(size=14), st.sampled_from(["unbounded", "temperature", "hard"]))
@settings(max_examples=40)
def test_what_the_compiler_makes_is_proved(formula: nodes.Formula, attention: str) -> None:
    try:
        model = softhat.compile(formula, alphabet="abc", attention=attention)  # type: ignore[arg-type]
    except softhat.SofthatError:  # a number that cannot be an exact weight
        assume(False)
    certificate = model.certificate
    assert certificate.void == ()
    assert all(output.proved for output in certificate.outputs)


@given(formulas(size=10), formulas(size=10))
@settings(max_examples=60)
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
