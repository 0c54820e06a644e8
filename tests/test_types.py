"""What users get has a type that says what it is: mypy checks every `assert_type` here."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import assert_type

import pytest

import softhat
from softhat import rasp
from softhat.ahat.gallery import majority
from softhat.ahat.simulation.certificate import SimulationCertificate as SimulationCertificate
from softhat.ahat.simulation.simulation import Simulation
from softhat.ahat.simulation.verify import SimulationVerification as SimulationVerification
from softhat.models.model import Model
from softhat.models.value_model import ValueModel
from softhat.models.verification.report import Verification
from softhat.models.verification.values import ValueVerification
from softhat.proof.certificate import Certificate


def test_a_formula_compiles_to_a_model() -> None:
    for model in (
        assert_type(softhat.compile("Y a"), Model),
        assert_type(softhat.compile(softhat.parse("Y a"), alphabet="ab"), Model),
        assert_type(softhat.compile({"one": "Y a", "two": softhat.symbol("a")}), Model),
    ):
        assert type(model) is Model
    assert type(assert_type(model.certificate, Certificate)) is Certificate


def test_a_rasp_program_compiles_to_a_model_of_values() -> None:
    model = assert_type(
        softhat.compile(rasp.tokens == "a", alphabet="ab", max_length=3), ValueModel
    )
    assert type(model) is ValueModel
    with pytest.raises(softhat.SofthatError, match="needs the length"):
        softhat.compile(rasp.tokens, alphabet="ab")  # mypy refuses it too


def test_verify_reports_on_what_it_is_given(tmp_path: Path) -> None:
    model = softhat.compile("Y a")
    program = softhat.compile(rasp.tokens, alphabet="ab", max_length=3)
    simulation = assert_type(softhat.simulate(majority(), max_length=4), Simulation)
    of_model = assert_type(softhat.verify(model, 3, random=2, adversarial=2), Verification)
    of_values = assert_type(softhat.verify(program, exhaustive=2, random=2), ValueVerification)
    of_simulation = assert_type(softhat.verify(simulation, 2, 2), SimulationVerification)
    model.save(tmp_path / "model")
    of_folder = assert_type(
        softhat.verify(tmp_path / "model", 3, random=2, adversarial=2),
        Verification | SimulationVerification | ValueVerification,
    )
    assert type(of_model) is type(of_folder) is Verification
    assert type(of_values) is ValueVerification
    assert type(of_simulation) is SimulationVerification
    assert of_model.ok and of_values.ok and of_simulation.ok and of_folder.ok


def test_the_parameters_of_verify_are_shown() -> None:
    names = list(inspect.signature(softhat.verify).parameters)
    assert names[:4] == ["model", "exhaustive", "random", "adversarial"]
    assert "executor" in names and "args" not in names
    assert "RASP" in (softhat.verify.__doc__ or "")


def test_certify_gives_the_certificate_of_what_it_is_given() -> None:
    model = softhat.compile("Y a")
    simulation = softhat.simulate(majority(), max_length=4)
    assert assert_type(softhat.certify(model), Certificate) is model.certificate
    found = assert_type(softhat.certify(simulation), SimulationCertificate)
    assert found is simulation.certificate


def test_values_introduce_themselves_in_a_line() -> None:
    """What a prompt shows of what users hold: its name and what matters, and not its fields."""
    model = softhat.compile("!c S a", alphabet="abc")
    hard = majority()
    simulation = softhat.simulate(softhat.ahat.gallery.previous_token())
    machine = softhat.machine("1RB1LB_1LA1RZ")
    circuit = softhat.circuit(model)
    law = simulation.laws[0, 0]
    shown = (model, model.certificate, model.run("abca"), model.program, model.transformer, hard,
             simulation, simulation.certificate, circuit, softhat.score(circuit, circuit.edges),
             machine, machine.run(), softhat.state(model), law, softhat.parse("a S b"),
             softhat.analyze(hard, up_to=2), softhat.verify(model, 2, 1, 1))  # fmt: skip
    for value in shown:
        assert repr(value).startswith("<") and len(repr(value)) <= 120 and "\n" not in repr(value)
    assert law is not None
    assert (repr(law), str(law)) == ("<softhat.Law ln(2135)>", "ln(2135)")
    assert str(model.size) == "1 layer, 1 head, d_model 5, 76 parameters"
