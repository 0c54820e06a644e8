"""The automata of trained models, against the languages that they were trained on."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import softhat
from softhat import SofthatError
from softhat.frontends.regular.dfa import read_dfa
from tests.trained import tiny

MODELS = Path(__file__).resolve().parent / "models"


def _in_dyck2(word: tuple[str, ...]) -> bool:
    depth = 0
    for symbol in word:
        depth += 1 if symbol == "a" else -1
        if not 0 <= depth <= 2:
            return False
    return depth == 0


def test_dyck2_is_found() -> None:
    machine, verdict = softhat.decompile(MODELS / "dyck2", "ab", budget=24)
    assert verdict.status == "proved" and verdict.proved_to == 40
    dfa = read_dfa(machine)
    for n in range(9):
        for word in product("ab", repeat=n):
            assert dfa.accepts(word) == _in_dyck2(word)


def test_what_cannot_be_decompiled(tmp_path: Path) -> None:
    folder = tiny.model(tmp_path / "m")
    with pytest.raises(SofthatError, match="no symbols"):
        softhat.decompile(folder, "")
    with pytest.raises(SofthatError, match="vocabulary"):
        softhat.decompile(folder, {"a": 40})
    with pytest.raises(SofthatError, match="does not fit"):
        softhat.decompile(folder, "ab", max_length=99)
