"""Folders that softhat 0.1.0 wrote, before the two kinds of model had one format: still read."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.ahat.simulation.recheck import recheck
from softhat.ahat.simulation.simulation import Simulation
from softhat.models.folders import load, load_compiled

OLD = Path(__file__).parent / "data" / "version_1"


@pytest.mark.parametrize("name", ["unbounded", "temperature"])
def test_compiled_models(name: str, tmp_path: Path) -> None:
    model = load_compiled(OLD / name)
    for output, formula in model.formulas.items():
        for n in range(1, 6):
            for letters in itertools.product(model.transformer.symbols, repeat=n):
                assert (model.truth(letters, output=output) == formula.truth(letters)).all()
    before = json.loads((OLD / name / "certificate.json").read_text())
    assert not model.certificate.void
    assert all(model.certificate.max_length[k] >= n for k, n in before["max_length"].items())
    model.save(tmp_path / "new")
    again = load_compiled(tmp_path / "new")
    assert again.certificate == model.certificate
    assert json.loads((tmp_path / "new" / "config.json").read_text())["version"] == 2


def test_a_propositional_model_with_hard_attention() -> None:
    model = load_compiled(OLD / "hard")
    word = [{"p"}, {"p"}, {"q"}, set(), {"p", "q"}]
    assert (model.truth(word) == model.formulas["output"].truth(word)).all()


def test_simulations(tmp_path: Path) -> None:
    seen = {
        "simulation": [-0.5, -0.5, -0.5, 0.5, -0.5],
        "decisions": [-0.5, 0.2519267346633275, -0.46144038917077346, 0.14542624167145124,
                      -0.25825182912593586],
    }  # fmt: skip
    for name, values in seen.items():
        s = load(OLD / name)
        assert isinstance(s, Simulation)
        word = (list(s.alphabet) * 3)[:5]
        assert np.abs(s.values(word) - np.array(values)).max() < 1e-12
        assert recheck(OLD / name, max_words=60, starts=2).ok
        s.save(tmp_path / name)
        again = load(tmp_path / name)
        assert isinstance(again, Simulation)
        assert again.laws == s.laws and again.certificate == s.certificate
        assert recheck(tmp_path / name, max_words=60, starts=2).ok


def test_certificates_have_one_schema(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from softhat.export.certificates import export_certificate

    assert torch
    compiled = softhat.compile("a S b")
    simulation = softhat.load(OLD / "simulation")
    found = [
        compiled.certificate.to_json(),
        simulation.certificate.to_json(),
        export_certificate(compiled, "torch"),
        export_certificate(simulation, "onnx"),
    ]
    assert [c["kind"] for c in found] == ["compiled", "simulation", "export", "export"]
    for certificate in found:
        assert certificate["format"] == "softhat-certificate/2"
        assert {"max_length", "assumptions", "void", "attention"} <= certificate.keys()
