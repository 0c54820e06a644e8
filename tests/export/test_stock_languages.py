"""Regular languages in logarithmic depth as GPT-2 and Llama: certified, right, closed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.frontends.regular.dfa import DFA
from softhat.io.errors import SofthatError
from tests.export.stock_models import answers, stated, stock
from tests.proof.stock.attack import attack
from tests.slices import every, sizes
from tests.transformer.lowering.suite import all_codes, long_words

pytestmark = pytest.mark.usefixtures("nobody_saves")

EXPORTS: dict[str, Callable[..., None]] = {"gpt2": softhat.to_gpt2, "llama": softhat.to_llama}
PARITY = DFA(("a", "b"), 0, frozenset({0}), ((1, 0), (0, 1)))
FORMATS = ("float32", "bfloat16", "float16")


def random_dfa(seed: int, states: int, letters: int = 2) -> DFA:
    rng = np.random.default_rng([seed, states])
    step = rng.integers(0, states, (states, letters))
    if seed % 3 == 0:  # a group: every letter permutes the states
        step = np.stack([rng.permutation(states) for _ in range(letters)], axis=1)
    accepting = np.flatnonzero(rng.random(states) < 0.5)
    rows = tuple(tuple(map(int, row)) for row in step)
    return DFA(tuple("abc"[:letters]), 0, frozenset(map(int, accepting)), rows)


def on_five_points(even: bool) -> DFA:
    """The first of five points is where it was: generators of S5, or of A5."""
    swap, turn = ((1, 0, 2, 3, 4), (1, 2, 3, 4, 0))
    first = (1, 2, 0, 3, 4) if even else swap
    return DFA(("a", "b"), 0, frozenset({0}), tuple(zip(first, turn, strict=True)))


def expected(dfa: DFA, codes: Any) -> Any:
    """By running the automaton as it was given."""
    step = np.array(dfa.step)
    accepting = np.isin(np.arange(len(step)), list(dfa.accepting))
    state = np.zeros(len(codes), np.int64)
    found = []
    for column in codes.T:
        state = step[state, column]
        found.append(accepting[state])
    return np.stack(found, axis=1)


def check(
    dfa: DFA, folder: Path, target: str, context: int, words: int = 12, exhaustive: int = 8
) -> None:
    """Certified to the end in all formats, and right: short words, random and hostile ones."""
    EXPORTS[target](softhat.from_dfa(dfa, depth="log"), folder, context)
    assert softhat.certify(folder).ok
    letters = len(dfa.alphabet)
    rng = np.random.default_rng(len(dfa.step))
    longest = context - 1
    hostile = np.concatenate([long_words(longest, 2, 1), rng.integers(0, letters, (4, longest))])
    lengths = stated(folder)["max_length"]
    config = json.loads((folder / "config.json").read_text())
    layers = config.get("n_layer", config.get("num_hidden_layers"))
    assert layers <= max(1, (context - 2).bit_length())
    for dtype in FORMATS:
        assert lengths[dtype] == longest, dtype
        model = stock(folder, dtype)
        for codes in (all_codes(letters, min(exhaustive, longest)), hostile[-words:]):
            assert (answers(model, codes) == expected(dfa, codes)).all()


@pytest.mark.parametrize("target", EXPORTS)
@pytest.mark.parametrize(("states", "context"), [(1, 4), (2, 2), (2, 3), (3, 20), (4, 17)])
def test_random_automata(states: int, context: int, target: str, tmp_path: Path) -> None:
    check(random_dfa(states, states), tmp_path / "m", target, context)


@pytest.mark.parametrize(("even", "target"), every(3, product([False, True], EXPORTS)))
def test_groups_that_no_constant_depth_computes(even: bool, target: str, tmp_path: Path) -> None:
    check(on_five_points(even), tmp_path / "m", target, 34, words=4, exhaustive=5)


@pytest.mark.full
@pytest.mark.parametrize("target", EXPORTS)
@pytest.mark.parametrize("seed", range(200))
def test_random_automata_in_full(seed: int, target: str, tmp_path: Path) -> None:
    states = 2 + seed % 11
    context = (16, 64, 300, 1024)[seed % 4] if states > 5 else (64, 1024, 4096)[seed % 3]
    check(random_dfa(seed, states, 2 + seed % 2), tmp_path / "m", target, context)


@pytest.mark.full
@pytest.mark.parametrize("target", EXPORTS)
@pytest.mark.parametrize("dfa", [on_five_points(False), on_five_points(True), PARITY])
def test_contexts_of_4096(dfa: DFA, target: str, tmp_path: Path) -> None:
    check(dfa, tmp_path / "m", target, 4096, words=3)


@pytest.mark.parametrize("target", EXPORTS)
def test_an_expression_against_re(target: str, tmp_path: Path) -> None:
    text = "(b|ab*a)*"
    language = softhat.from_regex(text, alphabet="ba", depth="log")
    model = softhat.compile(language, alphabet="ab", max_length=40)
    EXPORTS[target](model, tmp_path / "m", 64)
    assert softhat.certify(tmp_path / "m").max_length["bfloat16"] == 63
    codes = long_words(63, 2, 8)
    found = answers(stock(tmp_path / "m"), codes)
    for row, seen in zip(codes, found, strict=True):
        word = "".join("ab"[code] for code in row)
        assert seen.tolist() == [bool(re.fullmatch(text, word[: i + 1])) for i in range(63)]
    assert softhat.verify(tmp_path / "m", exhaustive=6, random=5, adversarial=5).ok


@pytest.mark.parametrize("target", EXPORTS)
def test_another_automaton_is_not_proved(target: str, tmp_path: Path) -> None:
    """`language.json` is a claim: every single change of it makes the certificate void, or says the
    same language."""
    dfa = on_five_points(True)
    EXPORTS[target](softhat.from_dfa(dfa, depth="log"), tmp_path / "m", 9)
    stands = json.loads((tmp_path / "m" / "language.json").read_text())
    for state in range(len(stands["step"])):
        changed = json.loads(json.dumps(stands))
        changed["step"][state][0] = (changed["step"][state][0] + 1) % len(stands["step"])
        (tmp_path / "m" / "language.json").write_text(json.dumps(changed))
        certificate = softhat.certify(tmp_path / "m")
        assert certificate.void and not any(certificate.max_length.values())


@pytest.mark.parametrize("damage", ["{}", "[]", '{"alphabet": ["a"], "step": [[0]]}', "x"])
def test_a_damaged_language_is_one_line(damage: str, tmp_path: Path) -> None:
    softhat.to_gpt2(softhat.from_dfa(random_dfa(1, 3), depth="log"), tmp_path / "m", 5)
    (tmp_path / "m" / "language.json").write_text(damage)
    with pytest.raises(SofthatError) as error:
        softhat.certify(tmp_path / "m")
    assert "\n" not in str(error.value)


def test_what_a_language_has_not(tmp_path: Path) -> None:
    language = softhat.from_dfa(random_dfa(1, 3), depth="log")
    for options in (
        {"head": "multi-label"},
        {"disguise": 1},
        {"output": "x"},
        {"output": "member", "head": "lm"},
        {"weights": {"a": 1.0}},
        {"weights": {"a": 1.0}, "head": "lm"},
    ):
        for target in EXPORTS.values():
            with pytest.raises(SofthatError):
                target(language, tmp_path / "m", 8, **options)


@pytest.mark.parametrize("target", EXPORTS)
@pytest.mark.parametrize("count", sizes(6, 12))
def test_no_changed_table_is_certified_and_wrong(target: str, tmp_path: Path, count: int) -> None:
    attacked(tmp_path, target, count)


@pytest.mark.full
@pytest.mark.parametrize("target", EXPORTS)
def test_no_changed_table_is_certified_and_wrong_in_full(target: str, tmp_path: Path) -> None:
    attacked(tmp_path, target, 1_000)


def goes_on(dfa: DFA, state: int) -> bool:
    """Does some word, the empty one too, lead from here to acceptance?"""
    reached = [state]
    for now in reached:
        reached += {*dfa.step[now]} - {*reached}
    return not dfa.accepting.isdisjoint(reached)


def following(dfa: DFA, word: Sequence[int]) -> list[list[bool]]:
    """After each prefix, from the empty one on: which letters may follow, and may the word end?"""
    state, rows = dfa.start, []
    for letter in (*word, None):
        row = [goes_on(dfa, to) for to in dfa.step[state]]
        rows.append([*row, state in dfa.accepting or not goes_on(dfa, state)])
        state = state if letter is None else dfa.step[state][letter]
    return rows


def next_tokens(folder: Path, codes: Any, dtype: str) -> Any:
    """(words, 1 + n, letters + 1): which tokens have a positive logit, `<eos>` last."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype))
    first = np.full((len(codes), 1), model.config.bos_token_id)
    with torch.no_grad():
        logits = model.eval()(torch.from_numpy(np.concatenate([first, codes], axis=1))).logits
    columns = [*range(model.config.bos_token_id), model.config.eos_token_id]
    return (logits[..., columns] > 0).numpy()


@pytest.mark.parametrize("target", EXPORTS)
@pytest.mark.parametrize(("seed", "letters"), every(3, [(3, 2), (1, 3), (4, 2), (9, 1), (10, 3)]))
def test_a_language_model_writes_words_of_the_language(
    seed: int, letters: int, target: str, tmp_path: Path
) -> None:
    """A letter is allowed where a word of the language goes on with it, even at the start."""
    dfa = random_dfa(seed, 2 + seed % 4, letters)
    lost = len(dfa.step)  # what `a` leads to from the last state is lost
    rows = [*dfa.step, (lost,) * letters]
    rows[lost - 1] = (lost, *rows[lost - 1][1:])
    dfa = DFA(dfa.alphabet, 0, dfa.accepting, tuple(rows))
    EXPORTS[target](softhat.from_dfa(dfa, depth="log"), tmp_path / "m", 18, head="lm")
    assert softhat.certify(tmp_path / "m").ok
    rng = np.random.default_rng(seed)
    for dtype in FORMATS[:2]:
        assert stated(tmp_path / "m")["max_length"][dtype] == 17
        for codes in (all_codes(letters, 4), rng.integers(0, letters, (20, 17))):
            seen = next_tokens(tmp_path / "m", codes, dtype)
            assert seen.tolist() == [following(dfa, row) for row in codes.tolist()]


def test_a_language_model_is_verified_and_its_automaton_a_claim(tmp_path: Path) -> None:
    language = softhat.from_regex("(ab|c)*", alphabet="abc", depth="log")
    softhat.to_gpt2(softhat.compile(language), tmp_path / "m", 9, head="lm")
    assert softhat.verify(tmp_path / "m", exhaustive=3, random=3, adversarial=2).ok
    stands = json.loads((tmp_path / "m" / "language.json").read_text())
    for state in range(len(stands["step"])):
        changed = {**stands, "accepting": sorted({*stands["accepting"]} ^ {state})}
        (tmp_path / "m" / "language.json").write_text(json.dumps(changed))
        assert softhat.certify(tmp_path / "m").void
    with pytest.raises(SofthatError, match="formulas"):
        softhat.source(tmp_path / "m")


def attacked(tmp_path: Path, target: str, mutations: int) -> None:
    dfa = on_five_points(False)
    EXPORTS[target](softhat.from_dfa(dfa, depth="log"), tmp_path / "m", 17)
    words = [all_codes(2, 6), long_words(16, 2, 2)]
    seen = attack(tmp_path / "m", lambda codes: expected(dfa, codes), words, mutations, mutations)
    assert seen["void"] > 0
