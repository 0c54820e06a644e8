"""A disguised GPT-2: the same answers, nothing on the axes, and directions that say where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.circuits.graph import possible_edges
from softhat.circuits.network import Patch, reading
from softhat.circuits.stock_network import StockNetwork
from softhat.export.labels import Meaning
from softhat.io.errors import SofthatError
from softhat.logic.random import random_formula
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.program.draft import only
from tests.cli.run import softhat as run_main
from tests.export.test_gpt2 import decoders, run_stock, write_words
from tests.export.test_meanings import expected, said, words_of

LISTED = [
    "a S (b & Y a)",
    "#(a) > #(b)",
    "Y (a S Y (b S Y a))",
    "O (a & Y (a & Y b)) & !(Y b S a)",
    "(#(a) >= 3) & Y b",
    "mod(3, 1) S a | first",
]


def export(formula: Formula | str, folder: Path, seed: int, context: int = 1024) -> dict[str, Any]:
    """The certificate of a disguised export over {a, b}."""
    softhat.to_gpt2(softhat.compile(formula, "ab"), folder, context, disguise=seed)
    stated: dict[str, Any] = json.loads((folder / "certificate.json").read_text())
    return stated


def wrong(formulas: list[Formula], folder: Path, few: bool) -> tuple[int, int, list[int]]:
    """Wrong answers of stock transformers without softhat, positions, and certified lengths."""
    tasks, certified = [], []
    for k, formula in enumerate(formulas):
        stated = export(formula, folder / f"{k}", seed=k)
        certified.append(stated["max_length"]["float32"])
        write_words(folder / f"{k}.npz", formula, range(1, 6 if few else 8), 1023, few)
        tasks.append({"folder": str(folder / f"{k}"), "words": str(folder / f"{k}.npz")})
    results = run_stock(tasks, folder)
    bad = [str(f) for f, result in zip(formulas, results, strict=True) if result["wrong"]]
    assert not bad
    return 0, sum(result["positions"] for result in results), certified


def test_stock_gpt2_agrees_at_1024(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    _, positions, certified = wrong([parse(text) for text in LISTED[:1]], tmp_path, few=True)
    assert positions > 2_500
    assert certified == [1023]


@pytest.mark.full
def test_all_formulas_at_1024(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    every = decoders()
    assert len(every) >= 100
    _, positions, certified = wrong(every, tmp_path, few=False)
    full = sum(length == 1023 for length in certified)
    print(f"{len(every)} formulas, {positions:,} positions, {full} certified to 1,023")
    assert full >= 0.75 * len(every)


def test_reading_the_directions_is_right(tmp_path: Path) -> None:
    """Every label's reading is what its formula says, or the number that it states."""
    rng = np.random.default_rng(3)
    checked = 0
    for k, text in enumerate(LISTED):
        export(text, tmp_path / f"{k}", seed=k, context=64)
        labels = json.loads((tmp_path / f"{k}" / "labels.json").read_text())
        assert not labels["coordinates"] and labels["directions"]
        network = StockNetwork(tmp_path / f"{k}")
        meanings = list(said(labels))
        for word in words_of(rng, "ab", (1, 6, 40)):
            seen: dict[str, Any] = {}
            network.run(np.array([["ab".index(s) for s in word]]), seen=seen)
            for meaning in meanings:
                found = reading(meaning, seen)[0, 1 : len(word) + 1]
                want = expected(meaning, labels["definitions"], word)
                assert np.abs(found - want).max() < 1e-2, (text, meaning, word)
                checked += 1
    assert checked > 500


def accuracies(activations: Any, truth: Any) -> Any:
    """Of the best threshold on each column, either way round."""
    order = np.argsort(activations, axis=0)
    hits = np.cumsum(np.where(truth[order], -1, 1), axis=0)
    ends = np.vstack([np.zeros((1, activations.shape[1])), hits]) + truth.sum()
    return np.maximum(ends.max(axis=0), len(truth) - ends.min(axis=0)) / len(truth)


def gains(folder: Path, rng: np.random.Generator) -> list[tuple[float, float, float]]:
    """For each variable in the residual stream: the accuracy of the best coordinate, of the best
    of as many random directions, and of the stored direction."""
    labels = json.loads((folder / "labels.json").read_text())
    network = StockNetwork(folder)
    seen: dict[str, Any] = {}
    codes = rng.integers(0, 2, (200, 12))
    network.run(codes, seen=seen)
    words = ["".join("ab"[c] for c in row) for row in codes]
    found = []
    for place in (*labels["coordinates"][::2], *labels.get("directions", ())):
        for held in place["holds"]:
            meaning = Meaning.from_json(
                {k: v for k, v in held.items() if k not in ("from", "what")}
            )
            if meaning.role not in ("input", "gate", "raw"):
                continue
            formula = softhat.parse("; ".join([*labels["definitions"], str(meaning.formula)]))
            truth = np.concatenate(formula.truth_many(words)) == (meaning.sign > 0)
            if truth.all() or not truth.any():
                continue
            x = seen[str(meaning.hook)][:, 1:].reshape(len(truth), -1)
            random = x @ rng.standard_normal((x.shape[1], x.shape[1]))
            read = reading(meaning, seen)[:, 1:].reshape(-1)
            found.append(
                (
                    float(accuracies(x, truth).max()),
                    float(accuracies(random, truth).max()),
                    float(((read > 0.5) == truth).mean()),
                )
            )
    return found


NORM = 2.0**-7
"""Means of counts are as large as LayerNorm allows, with squares up to 2^-6 of the whole: all that
is read later is scaled by less than this."""
MARGIN = 0.05
"""By how much the best of d coordinates may be better than the best of d random directions, on
average over variables."""


def test_no_coordinate_is_a_variable(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    found = []
    for k in range(6):
        formula = random_formula(rng, 8, "ab", "past")
        softhat.to_gpt2(softhat.compile(formula, "ab"), tmp_path / f"{k}", 64, disguise=k)
        found += gains(tmp_path / f"{k}", rng)
    coordinate, random, read = np.array(found).mean(axis=0)
    assert len(found) > 20
    assert read == 1.0
    assert coordinate <= random + MARGIN
    softhat.to_gpt2(softhat.compile("a S (b & Y a)", "ab"), tmp_path / "plain", 64)
    plain = np.array(gains(tmp_path / "plain", rng)).mean(axis=0)
    assert plain[0] == 1.0  # where nothing is disguised, coordinates are variables


def test_weights_have_no_zeros(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    for k, text in enumerate(LISTED):
        export(text, tmp_path / f"{k}", seed=k, context=64)
        for name, tensor in load_file(tmp_path / f"{k}" / "model.safetensors").items():
            if tensor.ndim == 2:  # biases are 0 at initialisation too
                assert np.count_nonzero(tensor) >= tensor.size - 1, name


@pytest.mark.parametrize("text", ["a S (b & Y a)", "(#(a) >= 3) & Y b"])
def test_edges_are_found_by_patching_and_no_others(text: str, tmp_path: Path) -> None:
    export(text, tmp_path / "m", seed=5, context=16)
    circuit = softhat.circuit(tmp_path / "m", words=64)
    labelled = {edge.name for edge in circuit.edges}
    assert any(edge.carries == "input" for edge in circuit.edges)
    network = StockNetwork(tmp_path / "m")
    clean, corrupt = np.random.default_rng(1).integers(0, 2, (2, 60, 7))
    _, margins = network.run(clean)
    added, _ = network.run(corrupt)
    for name in possible_edges(circuit.config):
        if name in labelled:
            continue
        source, _, rest = name.partition("->")
        target, _, slot = rest.rstrip(">").partition("<")
        _, moved = network.run(clean, Patch(source, (target, slot), added[source]))
        assert (np.abs(moved - margins) < NORM * np.abs(margins)).all(), name
    labels = json.loads((tmp_path / "m" / "labels.json").read_text())
    distractors = {
        f"a{head['layer']}.h{head['head']}" for head in labels["heads"] if head.get("distractor")
    }
    assert distractors
    ends = {edge.source for edge in circuit.edges} | {edge.target for edge in circuit.edges}
    assert not ends & distractors
    for edge in circuit.edges:
        if edge.carries == "input":
            assert edge.witness is not None


def test_language_models_keep_their_margin(tmp_path: Path) -> None:
    model = softhat.compile({"a": "O b | !O a", "b": "Y a | a", "<eos>": "b & Y a"}, "ab")
    softhat.to_gpt2(model, tmp_path / "lm", 128, head="lm", margin=7.3, disguise=3)
    stated = json.loads((tmp_path / "lm" / "certificate.json").read_text())
    assert stated["max_length"]["float32"] == 127
    assert stated["margin"] == 7.3
    certificate = softhat.certify(tmp_path / "lm")
    assert certificate.ok and certificate.max_length["float32"] == 127


def test_several_outputs(tmp_path: Path) -> None:
    model = softhat.compile({"since": "a S b", "more": "#(a) > #(b)", "never": "false"}, "ab")
    softhat.to_gpt2(model, tmp_path / "m", 64, head="multi-label", disguise=2)
    certificate = softhat.certify(tmp_path / "m")
    assert certificate.ok and certificate.max_length["float32"] == 63
    assert softhat.verify(tmp_path / "m", exhaustive=5, random=20, adversarial=5).ok


def test_propositions_and_predicates(tmp_path: Path) -> None:
    model = softhat.compile("(p S (q & at(s))) & !Y p", propositions=["p", "q"],
                            predicates={"s": "0(01)"})  # fmt: skip
    softhat.to_gpt2(model, tmp_path / "m", 64, disguise=1)
    certificate = softhat.certify(tmp_path / "m")
    assert certificate.ok and certificate.max_length["float32"] == 63


def test_a_seed_is_a_disguise(tmp_path: Path) -> None:
    for name, seed in (("one", 4), ("same", 4), ("other", 5)):
        export("a S b", tmp_path / name, seed, 32)
    files = {
        name: {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "same", "other")
    }
    assert files["one"] == files["same"]
    assert files["one"]["model.safetensors"] != files["other"]["model.safetensors"]
    with pytest.raises(SofthatError, match="whole number from 0 up"):
        export("a", tmp_path / "no", -1)
    with pytest.raises(SofthatError, match="use activation='relu'"):
        softhat.to_gpt2(softhat.compile("a"), tmp_path / "no", activation="gelu_new", disguise=1)


def test_command_line(tmp_path: Path) -> None:
    out = str(tmp_path / "m")
    arguments = ["export", "a S b", "--alphabet", "ab", "--to", "gpt2", "--context", "32"]
    done = run_main(*arguments, "--disguise", "9", "-o", out, "--json")
    assert done.code == 0
    assert json.loads(done.out)["max_length"]["float32"] == 31
    assert run_main("certify", out).code == 0
    refused = run_main("export", "a", "--to", "torch", "--disguise", "9", "-o", out + "2")
    assert refused.code == 2 and "--disguise" in refused.err
    model = softhat.compile("a S b", "ab")
    assert only(model.program, "output")  # the distractors are the export's, not the model's
