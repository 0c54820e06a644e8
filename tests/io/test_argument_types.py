"""Values from Python that are of a wrong type are refused in one line that names the option."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.ahat import gallery
from softhat.ahat.lens.report import look
from softhat.circuits import corpus
from softhat.io.argument_types import real_number, several, shown, texts, whole_number
from softhat.trained.checkpoint import read_checkpoint
from softhat.trained.training import train

WRONG: tuple[Any, ...] = (
    5,
    2.5,
    None,
    True,
    b"x",
    [1, 2],
    {"a": 1},
    object(),
    "",
    "x\0y",
    "a" * 5000,
)
"""None of these is the name of a file or folder."""


def paths() -> Iterator[tuple[str, Callable[..., Any], str, dict[str, Any]]]:
    """(name, function, its parameter that is a path, what else it needs)."""
    model = softhat.compile("!c S a", alphabet="abc")
    of_ahat = gallery.majority()
    yield "load", softhat.load, "folder", {}
    yield "certify", softhat.certify, "model", {}
    yield "verify", softhat.verify, "model", {}
    yield "source", softhat.source, "model", {}
    yield "circuit", softhat.circuit, "model", {}
    yield "prove", softhat.prove, "checkpoint", {"spec": "x"}
    yield "radius", softhat.radius, "checkpoint", {"spec": "x"}
    yield "decompile", softhat.decompile, "checkpoint", {"symbols": "ab"}
    yield "read_checkpoint", read_checkpoint, "folder", {}
    yield "train", train, "folder", {"spec": softhat.spec("Y a", alphabet="ab"), "steps": 1}
    yield "ahat.load", softhat.ahat.load, "path", {}
    yield "AHAT.save", of_ahat.save, "path", {}
    yield "ahat.lens.look", look, "folder", {"texts": "a"}
    yield "lens.load", softhat.lens.load, "folder", {}
    yield "lens.load_nnsight", softhat.lens.load_nnsight, "folder", {}
    yield "corpus.load_model", corpus.load_model, "folder", {"number": 0}
    yield "Model.save", model.save, "folder", {}
    yield "to_gpt2", softhat.to_gpt2, "folder", {"model": model, "context": 8}
    yield "to_llama", softhat.to_llama, "folder", {"model": model, "context": 8}
    yield "to_huggingface", softhat.to_huggingface, "folder", {"model": model}
    yield "to_onnx", softhat.to_onnx, "file", {"model": model}
    yield "to_gguf", softhat.to_gguf, "file", {"model": model, "context": 8}
    yield "Circuit.save", softhat.circuit(model, words=8).save, "file", {}


Case = tuple[Callable[..., Any], str, dict[str, Any]]
CASES: dict[str, Case] = {name: (call, *more) for name, call, *more in paths()}


@pytest.mark.parametrize("name", CASES)
def test_a_path_of_a_wrong_type_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, parameter, others = CASES[name]
    for value in WRONG:
        with pytest.raises(softhat.SofthatError) as error:
            function(**{**others, parameter: value})
        assert "\n" not in str(error.value) and len(str(error.value)) < 300, value
    assert list(tmp_path.iterdir()) == []


def numbers() -> Iterator[tuple[str, Callable[..., Any], str, dict[str, Any]]]:
    """(name, function, its parameter that is a number, what else it needs)."""
    model = softhat.compile("!c S a", alphabet="abc")
    few = {"model": model, "exhaustive": 1, "random": 1, "adversarial": 1}
    for parameter in ("exhaustive", "random", "adversarial", "max_length", "max_words", "seed"):
        yield f"verify {parameter}", softhat.verify, parameter, few
    for parameter in ("up_to", "leak", "max_words"):
        yield f"analyze {parameter}", softhat.analyze, parameter, {"model": gallery.majority()}
    for parameter in ("max_length", "epsilon"):
        yield f"simulate {parameter}", softhat.simulate, parameter, {"model": gallery.majority()}
    for parameter in ("seed", "words"):
        yield f"circuit {parameter}", softhat.circuit, parameter, {"model": model}
    for parameter in ("bos", "eos"):
        yield f"spec {parameter}", softhat.spec, parameter, {"source": "Y a"}
    yield "show height", softhat.show, "height", {"model": model, "word": "a"}
    bridge = softhat.lens.to_transformer_lens
    yield "to_transformer_lens context", bridge, "context", {"model": model}


NUMBERS: dict[str, Case] = {name: (call, *more) for name, call, *more in numbers()}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_of_a_wrong_type_is_refused_by_name(name: str) -> None:
    function, parameter, others = NUMBERS[name]
    for value in (True, "5", b"x", [1, 2], {"a": 1}, object(), np.array([1.0])):
        with pytest.raises(softhat.SofthatError, match=parameter):
            function(**{**others, parameter: value})


def test_alphabets_and_words_of_a_wrong_type_are_refused() -> None:
    model = softhat.compile("!c S a", alphabet="abc")
    simulation = softhat.simulate(gallery.majority(), max_length=3)
    for value in (5, 2.5, True, b"x", [1, 2], object()):
        for take in (
            lambda value: softhat.parse("a", alphabet=value),
            lambda value: softhat.parse("a", propositions=value),
            lambda value: softhat.from_regex("a", alphabet=value),
            lambda value: softhat.compile("a", alphabet=value),
            lambda value: softhat.spec("a", alphabet=value),
            model.truth,
            model.truth_many,
            simulation.truth,
            simulation.truth_many,
            gallery.majority().truth,
        ):
            if value == [1, 2] and take in (model.truth_many, simulation.truth_many):
                continue  # a collection, of words that are none: refused below
            with pytest.raises(softhat.SofthatError):
                take(value)
    no_words: Any = [1, 2]
    for many in (model.truth_many, simulation.truth_many):
        with pytest.raises(softhat.SofthatError):
            many(no_words)


def test_other_objects_of_a_wrong_type_are_refused() -> None:
    model = softhat.compile("!c S a", alphabet="abc")
    for value in (5, None, "x", object()):
        with pytest.raises(softhat.SofthatError, match="model"):
            softhat.show(value, "a")
        with pytest.raises(softhat.SofthatError, match="circuit"):
            softhat.score(value, [])
        with pytest.raises(softhat.SofthatError, match="array"):
            model.run_batch(value)
    with pytest.raises(softhat.SofthatError, match="no token id"):
        softhat.spec("a S b", alphabet="ab", symbols={"a": 1})
    with pytest.raises(softhat.SofthatError, match="at most 1,048,576"):
        softhat.circuit(model, words=10**30)


def test_the_numbers_of_numpy_are_numbers() -> None:
    whole_number("n", np.int64(3), least=3)
    real_number("x", np.float32(0.5))
    assert several("words", ("a", "b")) == ["a", "b"] and texts("alphabet", "ab") == ["a", "b"]
    assert shown("a" * 100) == "a value of type str" and shown(3) == "3"
    with pytest.raises(softhat.SofthatError, match="at most 4"):
        whole_number("n", 5, most=4)


def test_every_public_function_with_a_path_is_in_the_table() -> None:
    tried = {getattr(case[0], "__wrapped__", case[0]) for case in CASES.values()}
    missing = []
    for name in softhat.__all__:
        value = getattr(softhat, name)
        if not inspect.isfunction(value):
            continue
        takes = [p for p in inspect.signature(value).parameters.values() if "Path" in str(p)]
        if takes and getattr(value, "__wrapped__", value) not in tried:
            missing.append(name)
    assert missing == ["spec", "score"] or missing == ["score", "spec"]  # by one of several forms


ANYTHING: tuple[Any, ...] = (
    None,
    3,
    -1,
    2.5,
    True,
    b"x",
    [],
    {},
    object(),
    softhat,
    int,
    "",
    "no/such/folder",
    "\0",
)
SAID_IN = ("softhat", "softhat.ahat", "softhat.corpus", "softhat.lens", "softhat.rasp")


def public_functions() -> dict[str, Callable[..., Any]]:
    """What users can call, by its full name; classes check what they are made of elsewhere."""
    functions: dict[str, Callable[..., Any]] = {}
    for home in SAID_IN:
        module = softhat if home == "softhat" else getattr(softhat, home.partition(".")[2])
        for name in getattr(module, "__all__", dir(module)):
            value = getattr(module, name)
            if not name.startswith("_") and inspect.isfunction(value):
                functions[f"{home}.{name}"] = value
    return functions


@pytest.mark.parametrize("name", sorted(public_functions()))
def test_no_fault_comes_up_from_within(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever stands for the first argument: it works, or one line says what is wrong. A TypeError
    is the house's own where an operator of Python is meant, as in `count("a")`."""
    monkeypatch.chdir(tmp_path)
    function = public_functions()[name]
    required = [
        p.name
        for p in inspect.signature(function).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    for wrong in ANYTHING:
        values = [wrong, *(f"out-{k}" for k in range(len(required) - 1))]
        try:
            function(*values[: len(required)])
        except softhat.FormulaError:
            pass
        except softhat.SofthatError as error:
            assert "\n" not in str(error), (wrong, error)
        except TypeError as error:
            assert re.search(r"must be an?|expected an? |only expressions of", str(error)), wrong
