"""No model may become larger, hotter or shorter-lived than it was before the house was redrawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.baseline import FORMULAS, GALLERY, formula_row, gallery_row
from tests.slices import every

BEFORE = json.loads((Path(__file__).parent / "data" / "baseline.json").read_text("utf-8"))
SIZES = ("layers", "heads", "parameters")


def not_worse(now: dict[str, Any], before: dict[str, Any]) -> None:
    assert all(now[size] <= before[size] for size in SIZES), (now, before)
    assert all(now["max_length"][name] >= n for name, n in before["max_length"].items()), now


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("case", FORMULAS, ids=lambda case: case.name)
def test_formulas(case: Any, attention: str) -> None:
    not_worse(formula_row(case, attention), BEFORE["formulas"][f"{case.name} / {attention}"])


@pytest.mark.parametrize("name", every(2, GALLERY))
def test_gallery(name: str) -> None:
    now, before = gallery_row(name), BEFORE["gallery"][name]
    not_worse(now, before)
    assert now["error"] <= 1e-3
    assert all(b <= old for b, old in zip(now["beta"], before["beta"], strict=True))
