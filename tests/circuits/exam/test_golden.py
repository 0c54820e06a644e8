"""Golden files agree with `transformers`, and a planted bug shows."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from softhat.circuits.exam.golden import TEST, golden_questions, write_golden
from softhat.circuits.exam.paper import questions

torch = pytest.importorskip("torch")
pytest.importorskip("transformer_lens")
CASES = ("machine-1.gpt2-soft", "n-gram-1.gpt2-disguised")


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    assert write_golden(folder, questions(1, CASES)) == 2
    return folder


def check(golden: Path, dtype: str) -> None:
    """Run the test that others copy, on every case."""
    module = runpy.run_path(str(golden / "test_golden.py"))
    for case in module["CASES"]["cases"]:
        module["test_golden"](case, dtype)


def test_twenty_cases_and_a_test_of_fifty_lines() -> None:
    assert len(golden_questions()) == 20
    code = TEST.split('"""', 2)[2]
    assert len([line for line in code.splitlines() if line.strip()]) <= 50


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_transformers_agrees(golden: Path, dtype: str) -> None:
    check(golden, dtype)


def test_a_wrong_scale_shows(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.models.gpt2 import modeling_gpt2

    own = modeling_gpt2.eager_attention_forward

    def wrong(module: Any, query: Any, *rest: Any, **options: Any) -> Any:
        return own(module, query * 1.02, *rest, **options)

    monkeypatch.setattr(modeling_gpt2, "eager_attention_forward", wrong)
    with pytest.raises(AssertionError):
        check(golden, "float64")


def test_a_wrong_mask_shows(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.models.gpt2 import modeling_gpt2

    own = modeling_gpt2.eager_attention_forward

    def wrong(module: Any, q: Any, k: Any, v: Any, mask: Any, *rest: Any, **options: Any) -> Any:
        return own(module, q, k, v, torch.zeros(1, 1, q.shape[2], k.shape[2]), *rest, **options)

    monkeypatch.setattr(modeling_gpt2, "eager_attention_forward", wrong)
    with pytest.raises(AssertionError):
        check(golden, "float32")


def test_a_wrong_epsilon_shows(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = torch.nn.LayerNorm.__init__

    def wrong(self: Any, size: int, eps: float = 1e-5, **options: Any) -> None:
        own(self, size, eps=1e-5, **options)

    monkeypatch.setattr(torch.nn.LayerNorm, "__init__", wrong)
    with pytest.raises(AssertionError):
        check(golden, "float64")
