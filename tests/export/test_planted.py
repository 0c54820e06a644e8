"""One weight planted anywhere in a stock checkpoint: nothing that stays certified is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.export.planted import CASES, FORMULAS, campaign


@pytest.mark.parametrize("case", CASES)
def test_a_weight_in_every_tensor(case: str, tmp_path: Path) -> None:
    tried, _ = campaign(case, FORMULAS[1], tmp_path / "m", seed=3, places=1)
    assert tried > 15


@pytest.mark.full
@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("case", CASES)
def test_many_weights_in_every_tensor(case: str, formula: str, tmp_path: Path) -> None:
    tried, _ = campaign(case, formula, tmp_path / "m", seed=11, places=40)
    assert tried > 500
