"""The automata of trained models, against the languages that they were trained on."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest

import softhat
from softhat import SofthatError
from softhat.frontends.regular.dfa import read_dfa
from softhat.trained.training import train
from tests.slices import every
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


def test_a_model_may_know_more_symbols_than_are_named() -> None:
    """By its specification `once` takes words of a and c, after an a: of a and b, those of a."""
    machine, verdict = softhat.decompile(
        MODELS / "once", "ab", bos=3, eos=4, budget=15, max_length=6
    )
    assert verdict.status == "proved" and machine["alphabet"] == ["a", "b"]
    dfa = read_dfa(machine)
    for n in range(1, 7):
        for word in product("ab", repeat=n):
            assert dfa.accepts(word) == (set(word) == {"a"}), word


def test_states_without_an_end_are_asked_too(tmp_path: Path) -> None:
    """A machine whose states complete no word would be proved by having no words."""
    pytest.importorskip("transformers")
    spec = softhat.spec(regex="(abab)*", alphabet="ab")
    train(spec, tmp_path / "m", width=16, context=18, steps=250, seed=0)
    machine, _ = softhat.decompile(tmp_path / "m", "ab", max_length=12, budget=6)
    dfa = read_dfa(machine)
    for n in range(13):
        for word in product("ab", repeat=n):
            assert dfa.accepts(word) == (n % 4 == 0 and "".join(word) == "abab" * (n // 4))


def learned_again(folder: Path, formula: str, disguise: int) -> None:
    """Compiled, disguised, learned from the weights' answers, and a formula again."""
    model = softhat.compile(formula, alphabet="abc")
    softhat.to_gpt2(model, folder, context=16, disguise=disguise)
    machine, _ = softhat.decompile(folder, "abc", budget=0.6)
    assert softhat.equivalent(formula, softhat.from_dfa(machine), alphabet="abc") is None


@pytest.mark.parametrize("formula", every(3, ["Y a & !O c", "!b S a", "H (a | b) | c"]))
def test_disguised_exports(tmp_path: Path, formula: str) -> None:
    learned_again(tmp_path / "m", formula, 3)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(200))
def test_many_disguised_exports(tmp_path: Path, seed: int) -> None:
    """Random formulas that look back, of one to three temporal operators."""
    dice = random.Random(seed)
    learned_again(tmp_path / "m", _looks_back(dice, 1 + seed % 3), seed)


def _looks_back(dice: random.Random, depth: int) -> str:
    symbol = dice.choice(["a", "b", "c", "!a", "(b | c)"])
    if not depth:
        return symbol
    inner = _looks_back(dice, depth - 1)
    kinds = (
        f"Y ({inner})",
        f"O ({inner})",
        f"H ({inner})",
        f"({symbol}) S ({inner})",
        f"({inner}) S ({symbol})",
        f"{symbol} & Y ({inner})",
        f"{symbol} xor O ({inner})",
    )
    return dice.choice(kinds)


def test_what_cannot_be_decompiled(tmp_path: Path) -> None:
    folder = tiny.model(tmp_path / "m")
    with pytest.raises(SofthatError, match="no symbols"):
        softhat.decompile(folder, "")
    with pytest.raises(SofthatError, match="vocabulary"):
        softhat.decompile(folder, {"a": 40})
    with pytest.raises(SofthatError, match="does not fit"):
        softhat.decompile(folder, "ab", max_length=99)
