"""The study of methods that look for circuits: seeded, and its measures are what they say."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch")
SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "circuits.py"


def script() -> ModuleType:
    if str(SCRIPT.parent) not in sys.path:
        sys.path.append(str(SCRIPT.parent))  # as for a script
    spec = importlib.util.spec_from_file_location("circuit_study", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["circuit_study"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_gradients_are_those_of_the_model(tmp_path: Path) -> None:
    """By finite differences, at the readers of a small step."""
    study = script()
    (subject,) = study.subjects(1, tmp_path)
    clean, margins = subject.network.run(subject.clean)
    gradients = study._gradients(subject.network, clean["input"])
    rng = np.random.default_rng(0)
    for reader in (("logits", ""), ("a0.h0", "v"), ("a1.h0", "k"), ("m0", "")):
        step = 1e-6 * rng.normal(size=clean["input"].shape)

        class Step:
            def moved(
                self, at: object, added: object, reader: object = reader, by: NDArray[Any] = step
            ) -> NDArray[Any] | float:
                return by if at == reader else 0.0

        _, moved = subject.network.run(subject.clean, Step())
        want = float((moved - margins).sum())
        assert float((gradients[reader] * step).sum()) == pytest.approx(want, abs=2e-8, rel=1e-3)


def test_one_model(tmp_path: Path) -> None:
    study = script()
    found = study.study(1)
    rows = found["methods"]
    measures = ("edges, F1", "edges, AUROC", "nodes, F1", "nodes, AUROC", "completeness")
    assert all(rows["the true circuit"][m] == 1 for m in measures)
    assert rows["at random"]["edges, F1"] < 0.5
    assert "## What they miss" in study.circuits_page.page(found)


@pytest.mark.full
def test_reruns_give_the_same_numbers() -> None:
    study = script()
    assert study.study(study.MODELS) == numbers()


def numbers() -> Any:
    return json.loads(SCRIPT.with_suffix(".json").read_text("utf-8"))


def test_the_page_is_what_the_numbers_say() -> None:
    """And the numbers are of fifty models, in which the true circuit is found to be true."""
    page = (SCRIPT.parent.parent / "docs" / "circuit-study.md").read_text("utf-8")
    assert page == script().circuits_page.page(numbers())
    assert numbers()["models"] == 50 and "\n50 random formulas" in page
    cells = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    header, rows = cells[0], {row[0]: row[1:] for row in cells[2:9]}
    assert header == ["edges, F1", "edges, AUROC", "nodes, F1", "nodes, AUROC", "completeness"]
    for name, row in rows.items():
        stored = numbers()["methods"][name]
        assert row == [f"{stored[measure]:.2f}" for measure in header], name
    assert rows["the true circuit"] == ["1.00"] * 5
