"""Models that generate: runs by the weights and in hard attention, and what is refused."""

from __future__ import annotations

from typing import Any, Literal

import pytest

import softhat
from softhat.frontends.machines.machine import Machine
from softhat.io.errors import CertificateError, CertificateWarning, SofthatError
from softhat.models.zoo.machines import CLOSER
from tests.frontends.machines.collection import COLLATZ

MACHINES: dict[str, tuple[Machine, Any]] = {
    "counter": (softhat.machine(COLLATZ), {"n": 7}),
    "beaver": (softhat.machine("1RB1LB_1LA0LC_1RZ1LD_1RD0RA", space=32), None),
    "ring": (softhat.machine({"kind": "cellular", "rule": 110, "width": 7}), "0010110"),
    "stack": (softhat.machine({"kind": "stack", "program": CLOSER}, space=16), "[()("),
}


@pytest.mark.parametrize("runtime", ["linear", "hard", "auto"])
@pytest.mark.parametrize("name", MACHINES)
def test_runs(name: str, runtime: Literal["linear", "hard", "auto"]) -> None:
    m, given = MACHINES[name]
    model = softhat.compile(m)
    run = m.run(given, max_steps=60)
    most = min(len(run.word) - len(run.prompt), 150)
    made = list(model.generate(run.prompt, most, runtime=runtime))
    assert tuple(made) == run.word[len(run.prompt) :][:most]


@pytest.mark.parametrize("attention", ["temperature", "hard"])
def test_every_attention(attention: Any) -> None:
    m, given = MACHINES["counter"]
    model = softhat.compile(m, attention=attention)
    run = m.run(given, max_steps=40)
    assert tuple(model.generate(run.prompt, 40)) == run.tokens


def test_a_large_window_runs_in_hard_attention() -> None:
    """The first 20,000 steps of the five-state champion; its own head has no softmax weights."""
    m = softhat.machine("1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA")
    model = softhat.compile(m)
    made = list(model.generate(m.prompt(), 20_000))
    assert m.first_wrong(None, [*m.prompt(), *made]) is None
    with pytest.raises(SofthatError, match="digits"):
        model.generate(m.prompt(), runtime="linear")


def test_a_language_model_of_formulas() -> None:
    model = softhat.compile({"a": "b", "b": "a & #(a) < 3", "<eos>": "#(a) >= 3"}, alphabet="ab")
    assert list(model.generate("a")) == ["b", "a", "b", "a", "<eos>"]
    assert list(model.generate(["a"], 2)) == ["b", "a"]


def test_past_the_certificate_it_warns_or_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    m, given = MACHINES["counter"]
    model = softhat.compile(m)
    monkeypatch.setattr(model, "certified_length", lambda dtype, runtime: 20)
    with pytest.warns(CertificateWarning, match="past token 20"):
        list(model.generate(m.prompt(given), 30))
    with pytest.raises(CertificateError, match="past token 20"):
        list(model.generate(m.prompt(given), 30, strict=True))


@pytest.mark.parametrize(
    ("prompt", "options", "said"),
    [
        ([], {}, "prompt is empty"),
        ("", {}, "prompt is empty"),
        ("nonsense", {}, "which the model has not"),
        ("go", {"max_tokens": -1}, "whole number"),
        ("go", {"runtime": "fast"}, "unknown runtime"),
    ],
)
def test_bad_questions(prompt: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(SofthatError, match=said):
        softhat.compile(MACHINES["counter"][0]).generate(prompt, **options)


def test_models_that_say_something_else_do_not_generate() -> None:
    with pytest.raises(SofthatError, match="one output for each symbol"):
        softhat.compile("a S b", alphabet="ab").generate("a")
