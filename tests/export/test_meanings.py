"""Every label is data, and true: its formula parses, and is what stands in the activations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.circuits.network import NativeNetwork, reading
from softhat.circuits.stock_network import StockNetwork
from softhat.export.labels import Meaning
from softhat.export.native.labels import labels_of
from softhat.logic.random import random_formula
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Term
from softhat.logic.syntax.parse import read
from softhat.program.meanings import meanings

LEAK = 0.05
"""Of a raw output: e^-4 a head, and rounding in float64."""


def value(term: nodes.Node, word: str) -> list[int]:
    """A counting term at every position, by its definition."""
    n = len(word)
    match term:
        case nodes.Integer(number):
            return [number] * n
        case nodes.Position():
            return list(range(1, n + 1))
        case nodes.Length():
            return [n] * n
        case nodes.Scale(factor, inner):
            return [factor * x for x in value(inner, word)]
        case nodes.Sum(left, right):
            return [x + y for x, y in zip(value(left, word), value(right, word), strict=True)]
        case nodes.Difference(left, right):
            return [x - y for x, y in zip(value(left, word), value(right, word), strict=True)]
        case nodes.Counting():
            holds = term.operand.truth(word).tolist()
            ranges = {
                nodes.Count: lambda i: holds[: i + 1],
                nodes.CountFuture: lambda i: holds[i:],
                nodes.CountAll: lambda i: holds,
            }
            return [sum(ranges[type(term)](i)) for i in range(n)]
    raise TypeError(term)


def expected(meaning: Meaning, definitions: list[str], word: str) -> list[float]:
    """What the reading must be at every symbol, from the label's texts alone."""
    n = len(word)
    if meaning.term is not None:
        top = value(read(Term, meaning.term), word)
        scale = 1 << (n + 1).bit_length()  # P: the least power of two from n + 2 on
        scale = scale if scale >= n + 2 else 2 * scale
        if meaning.digit is not None:
            return [float(max(x, 0) >> meaning.digit & 1) for x in top]
        assert meaning.over is not None
        below = [scale] * n if meaning.over == "P" else value(read(Term, meaning.over), word)
        return [float(Fraction(x, y)) for x, y in zip(top, below, strict=True)]
    assert meaning.formula is not None
    formula = softhat.parse("; ".join([*definitions, meaning.formula]))
    assert softhat.parse(str(formula)) == formula
    truth = formula.truth(word)
    return [float(x == (meaning.sign > 0)) for x in truth]


def said(labels: dict[str, Any]) -> Iterator[Meaning]:
    """All meanings of a `labels.json`."""
    for part in (*labels["heads"], *labels["neurons"]):
        assert part["computes"]
        yield from map(Meaning.from_json, part["computes"])
    for coordinate in (*labels["coordinates"], *labels.get("directions", ())):
        for held in coordinate["holds"]:
            data = {k: v for k, v in held.items() if k not in ("from", "what")}
            if held["what"] != "(-1)^i/P":  # neither a formula nor a term
                yield Meaning.from_json(data)


def check(labels: dict[str, Any], network: Any, words: list[str], alphabet: str) -> int:
    """Compare every label with the activation at its hook, on all words; how many there were."""
    labels = json.loads(json.dumps(labels))  # as the file has it
    assert "…" not in json.dumps(labels, ensure_ascii=False)
    definitions = labels["definitions"]
    for head in labels["heads"]:
        for text in head["label"].removeprefix(f"{head['kind']}: ").split("; "):
            if "/(" not in text:
                softhat.parse("; ".join([*definitions, text]))
    everything = list(said(labels))
    for word in words:
        seen: dict[str, Any] = {}
        network.run(np.array([[alphabet.index(s) for s in word]]), seen=seen)
        for meaning in everything:
            found = reading(meaning, seen)[0, 1 : len(word) + 1]
            want = expected(meaning, definitions, word)
            close = 1e-6 if meaning.term is not None else LEAK
            assert np.abs(found - want).max() < close, (meaning, word, found, want)
    return len(everything)


def words_of(rng: np.random.Generator, alphabet: str, lengths: tuple[int, ...]) -> list[str]:
    return ["".join(rng.choice(list(alphabet), n)) for n in lengths]


def check_many(count: int, folder: Path) -> int:
    rng = np.random.default_rng(16)
    checked = made = 0
    families = ("decoder", "past", "past-counting", "two-way", "counting", "all")
    while made < count:
        family = families[made % len(families)]
        formula = random_formula(rng, int(rng.integers(4, 14)), ("a", "b", "c"), family)
        attention = ("unbounded", "temperature", "hard")[made % 3]
        model = softhat.compile(formula, alphabet="abc", attention=attention)
        words = words_of(rng, "abc", (1, 2, 5, 9))
        labels = labels_of(model).to_json()
        checked += check(labels, NativeNetwork(model.transformer), words, "abc")
        if model.transformer.layers and family in families[:3]:
            activation = ("relu", "gelu_new")[made % 2]
            softhat.to_gpt2(model, folder / f"{made}", context=16, activation=activation)
            labels = json.loads((folder / f"{made}" / "labels.json").read_text())
            checked += check(labels, StockNetwork(folder / f"{made}"), words, "abc")
        made += 1
    return checked


def test_labels_are_what_the_activations_are(tmp_path: Path) -> None:
    assert check_many(24, tmp_path) > 500


@pytest.mark.full
def test_labels_of_many_formulas(tmp_path: Path) -> None:
    assert check_many(240, tmp_path) > 5_000


def test_the_texts_of_hard_cases(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for formula in (
        "Y !(a S b) & Y Y !Y a",
        "#(a) = 2 | 2*#(b) - 3*#(a) + i = 1",
        "(a S b) S (b & Y c) | (!a T c)",
        "H (a -> O (b & Y (c | a & Y b))) & !(a & Y b & O c & mod(3, 1) & H (c | a))",
        "Y last[a | b = Y c]",
    ):
        model = softhat.compile(formula, alphabet="abc")
        softhat.to_gpt2(model, tmp_path / "m", context=16)
        labels = json.loads((tmp_path / "m" / "labels.json").read_text())
        words = words_of(rng, "abc", (3, 8, 12))
        assert check(labels, StockNetwork(tmp_path / "m"), words, "abc")
        assert check(labels_of(model).to_json(), NativeNetwork(model.transformer), words, "abc")


def test_long_formulas_have_definitions() -> None:
    """A formula that doubles at every step would be 2^60 long: it is said in a few lines."""
    text = "x1 := a S b; " + "; ".join(f"x{k + 1} := x{k} xor Y x{k}" for k in range(1, 60))
    model = softhat.compile(f"{text}; x60", alphabet="ab")
    said = meanings(model.program)
    assert said.definitions
    assert sum(map(len, said.definitions)) < 2_000_000
    labels = labels_of(model).to_json()
    for head in labels["heads"][-2:]:
        (meaning,) = map(Meaning.from_json, head["computes"])
        assert meaning.formula is not None
        formula = softhat.parse("; ".join([*labels["definitions"], meaning.formula]), alphabet="ab")
        assert len(formula.truth("abba")) == 4


def test_circuits_name_inputs_gates_and_outputs(tmp_path: Path) -> None:
    model = softhat.compile("(a S b) S c", alphabet="abc")
    softhat.to_gpt2(model, tmp_path / "m", context=16)
    for circuit in (softhat.circuit(model), softhat.circuit(tmp_path / "m")):
        nodes = {node.name: node for node in circuit.nodes}
        assert {m.formula for m in nodes["input"].computes} == {"a", "b", "c"}
        assert [m.formula for m in nodes["m0"].computes] == ["a S b & !c"]
        assert [m.formula for m in nodes["a1.h0"].computes] == ["(a S b) S c"]
        assert [(m.output, m.formula) for m in nodes["logits"].computes] == [
            ("output", "(a S b) S c")
        ]
