"""One offset: what is claimed when the work ends early, and that both sides meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import softhat
from softhat.trained.one_layer import OneLayer

MODELS = Path(__file__).resolve().parent / "models"


def test_ctrl_c_keeps_what_was_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    prove, seen = OneLayer.prove, []

    def interrupted(self: OneLayer, *given: Any) -> Any:
        for outcome in prove(self, *given):
            yield outcome
            seen.append(outcome)
            if len(seen) == 30:
                raise KeyboardInterrupt

    monkeypatch.setattr(OneLayer, "prove", interrupted)
    folder = MODELS / "dyck2"
    verdict = softhat.prove(folder, folder / "spec.json", budget=24)
    assert verdict.status == "open" and verdict.interrupted is not None
    assert 10 < verdict.proved_to < 40
    assert verdict.by_offset == {0: verdict.proved_to}
    whole = [outcome.length for outcome in seen if not outcome.proved]
    assert not whole and verdict.method[verdict.proved_to] == "abstraction"


def test_a_small_budget_claims_little() -> None:
    folder = MODELS / "dyck2"
    verdict = softhat.prove(folder, folder / "spec.json", budget=1e-6)
    assert verdict.status == "open" and verdict.proved_to < 40
    assert verdict.interrupted == "the budget is used up"


def test_every_offset_at_which_words_fit() -> None:
    """Right at offset 0, wrong at others: the shortest failure over all of them, bracketed."""
    pytest.importorskip("transformers")
    folder = MODELS / "nonempty"
    verdict = softhat.prove(folder, folder / "spec.json", offset="all", budget=30)
    assert verdict.status == "refuted" and verdict.broken_by is not None
    assert verdict.broken_by.offset > 0 and verdict.bracketed


def test_decisions_before_the_first_symbol_count() -> None:
    folder = MODELS / "nonempty-early"
    verdict = softhat.prove(folder, folder / "spec.json", domain="all", budget=12)
    assert verdict.proved_to == -1 and verdict.broken_by is not None
    assert verdict.broken_by.word == ()
