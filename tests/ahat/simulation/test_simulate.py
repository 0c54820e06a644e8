"""Simulations as model folders: files, verification, limits."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.ahat import Builder
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.simulation import Simulation
from softhat.ahat.simulation.verify import verify_simulation
from softhat.models.folders import load


@pytest.fixture(scope="module")
def induction() -> Simulation:
    return softhat.simulate(GALLERY["induction-latest"](), max_length=10)


def test_a_folder_comes_back(induction: Simulation, tmp_path: Path) -> None:
    induction.save(tmp_path / "m")
    again = softhat.load(tmp_path / "m")
    assert isinstance(again, Simulation)
    assert again.source == induction.source
    assert again.betas == induction.betas
    assert again.certificate == induction.certificate
    assert np.array_equal(again.values("abba"), induction.values("abba"))
    again.save(tmp_path / "n")
    for name in ("ahat.json", "model.safetensors", "config.json", "certificate.json"):
        assert (tmp_path / "m" / name).read_bytes() == (tmp_path / "n" / name).read_bytes()
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert (config["format"], config["kind"], config["version"]) == (
        "softhat-model", "simulation", 2,
    )  # fmt: skip


def test_the_contract(induction: Simulation) -> None:
    word = "abab"
    t = induction.run(word)
    assert [a.shape for a in t.attention] == [(1, 5, 5), (1, 5, 5)]
    assert len(t.residual) == 3
    for scores, attention in zip(t.scores, t.attention, strict=True):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        assert np.allclose(weights / weights.sum(axis=-1, keepdims=True), attention)
    assert [list(h) for h in t.heads] == [["previous token"], ["latest match"]]
    assert induction.size.layers == 2
    assert induction.size.heads == 2
    assert induction.truth(word).tolist() == induction.source.truth(word).tolist()
    assert induction.accepts(word) == induction.source.accepts(word)
    assert [r.tolist() for r in induction.truth_many([word, "b"])] == [
        induction.truth(word).tolist(), induction.truth("b").tolist(),
    ]  # fmt: skip
    assert set(induction.certificate.max_length) == {"float16", "bfloat16", "float32", "float64"}
    assert "for every word to length 10" in induction.certificate.explain()
    with pytest.raises(softhat.SofthatError, match="no output 'x'"):
        induction.truth(word, output="x")
    with pytest.raises(softhat.SofthatError, match="unknown dtype 'float8'"):
        induction.values(word, dtype="float8")
    with pytest.warns(softhat.CertificateWarning, match="certified only to 4 in float16"):
        induction.values(word + "a", dtype="float16")


def test_past_the_certificate(induction: Simulation) -> None:
    assert induction.certificate.length == 10
    with pytest.warns(
        softhat.CertificateWarning, match="has 11 positions, but this model is certified only to 10"
    ):
        induction.truth("ab" * 5 + "a")
    with pytest.raises(softhat.CertificateError):
        induction.truth("ab" * 5 + "a", strict=True)


def test_damaged_folders(induction: Simulation, tmp_path: Path) -> None:
    induction.save(tmp_path / "m")

    def damaged(change: Callable[[Path], None]) -> Path:
        copy = tmp_path / "d"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "m", copy)
        change(copy)
        return copy

    def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
        def change(folder: Path) -> None:
            text = (folder / name).read_text()
            assert old in text
            (folder / name).write_text(text.replace(old, new, 1))

        return change

    for change, message in [
        (edit("config.json", '"version": 2', '"version": 7'), "version 7"),
        (edit("config.json", '"mask": "none"', '"mask": "<="'), "does not match ahat.json"),
        (edit("config.json", '"law": "', '"law": "-'), "positive rational"),
        (edit("config.json", '"length": 10', '"length": 11'), "differ in length"),
        (edit("ahat.json", '"mask": "none"', '"mask": "some"'), r"layers\[0\].*mask"),
        (edit("certificate.json", '"epsilon"', '"eps"'), "damaged"),
        (lambda f: (f / "model.safetensors").write_bytes(b"junk"), "damaged"),
        (lambda f: (f / "certificate.json").unlink(), "cannot read"),
    ]:
        with pytest.raises(softhat.SofthatError, match=message):
            load(damaged(change))


def test_verify_finds_a_wrong_temperature(induction: Simulation) -> None:
    assert verify_simulation(induction, exhaustive=6, random=50).ok
    warm = Simulation(induction.source, {**induction.betas, (1, 0): 8.0}, 10, induction.certificate)
    result = verify_simulation(warm, exhaustive=6, random=50)
    assert not result.ok
    assert result.counterexample is not None
    assert "more than epsilon" in result.counterexample.reason
    assert result.exhaustive_length == 6


def test_decisions_of_a_uniform_model_are_certified_in_floats() -> None:
    """Balanced prefixes: no value is 0, so rounding changes no decision while it is small."""
    simulation = softhat.simulate(GALLERY["dyck-uniform"](), max_length=8, epsilon=None)
    assert simulation.certificate.max_length["float32"] == 8
    for word in ("()()(())", "(()))(()", "((((((((", "())()("):
        depths = np.cumsum([1 if c == "(" else -1 for c in word])
        balanced = (depths == 0) & (np.minimum.accumulate(depths) >= 0)
        assert np.array_equal(simulation.truth(word, dtype="float32"), balanced)


def test_a_value_on_the_threshold_in_floats() -> None:
    """As many a as b gives 0. Sums of 1 and -1 are exact, and 0 is no yes; three times 0.1 less
    0.3 may be above 0 in floats, or below."""
    b = Builder("ab")
    x = b.embed("x", {"a": Fraction(1, 10), "b": Fraction(-3, 10)})
    b.output(b.head("none", value={"mean": x})["mean"])
    for source, expected in ((GALLERY["majority"](), {4}), (b.build(), {3, 4})):
        simulation = softhat.simulate(source, max_length=4, epsilon=None)
        assert set(simulation.certificate.max_length.values()) == expected
        for dtype, length in simulation.certificate.max_length.items():
            for word in itertools.product("ab", repeat=length):
                assert np.array_equal(simulation.truth(word, dtype=dtype), source.truth(word))


def test_values_beyond_float64_are_refused() -> None:
    source = GALLERY["last-token"]()
    weights = tuple(10**400 * w for w in source.output_weights)
    with pytest.raises(softhat.SofthatError, match="beyond the range of float64"):
        softhat.simulate(replace(source, output_weights=weights), max_length=3)
