"""Regular languages in logarithmic depth, against automata that are run symbol by symbol."""

from __future__ import annotations

import json
import random
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.frontends.regular.doubling import LogDepth, doubled, rounds_of
from softhat.models.value_model import ValueModel
from softhat.program.evaluate import outputs

Given = dict[str, Any]


def random_automaton(states: int, symbols: str, seed: int) -> Given:
    dice = random.Random(seed)
    names = [f"q{k}" for k in range(states)]
    edges = {q: {s: dice.choice(names) for s in symbols} for q in names}
    accept = [q for q in names if dice.random() < 0.5]
    return {"alphabet": list(symbols), "states": names, "start": "q0", "accept": accept,
            "transitions": edges}  # fmt: skip


def group_automaton(generators: list[tuple[int, ...]], symbols: str) -> Given:
    """Products of permutations: accepted where 0 goes to 0; the states are the images of 0."""
    points = len(generators[0])
    edges = {
        str(p): {s: str(g[p]) for s, g in zip(symbols, generators, strict=True)}
        for p in range(points)
    }
    return {"alphabet": list(symbols), "states": list(edges), "start": "0", "accept": ["0"],
            "transitions": edges}  # fmt: skip


def word_problem(generators: list[tuple[int, ...]], symbols: str) -> Given:
    """Accepted where the product of the permutations is the identity: a state an element."""
    points = len(generators[0])
    elements = set(permutations(range(points)))
    name = {g: "".join(map(str, g)) for g in elements}
    edges = {
        name[g]: {s: name[tuple(h[x] for x in g)] for s, h in zip(symbols, generators, strict=True)}
        for g in elements
    }
    one = name[tuple(range(points))]
    return {"alphabet": list(symbols), "states": list(edges), "start": one, "accept": [one],
            "transitions": edges}  # fmt: skip


def expected(given: Given, word: str) -> list[bool]:
    """By the definition: the automaton reads one symbol after the other."""
    state, answers = given["start"], []
    for symbol in word:
        state = given["transitions"][state][symbol]
        answers.append(state in given["accept"])
    return answers


S5 = [(1, 2, 3, 4, 0), (1, 0, 2, 3, 4)]
A5 = [(1, 2, 3, 4, 0), (1, 2, 0, 3, 4)]
FLIP = [(1, 0), (0, 1)]


def model_of(given: Given, longest: int, **options: Any) -> ValueModel:
    model = softhat.compile(softhat.from_dfa(given, depth="log"), max_length=longest, **options)
    assert isinstance(model, ValueModel)
    return model


def check_words(model: ValueModel, given: Given, words: list[str], **options: Any) -> None:
    for word in words:
        assert model.truth(word, runtime="dense", **options).tolist() == expected(given, word), word


@pytest.mark.parametrize("seed", range(6))
def test_every_short_word_of_random_automata(seed: int) -> None:
    given = random_automaton(2 + 2 * seed, "ab", seed)
    program = doubled(softhat.from_dfa(given, depth="log"), "ab", 8)
    for word in product("ab", repeat=8):
        codes = np.array(["ab".index(s) for s in word])
        assert outputs(program, codes)["member"].tolist() == expected(given, "".join(word))


@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_models_answer_as_the_automaton(attention: str, dtype: str) -> None:
    dice = random.Random(1)
    for given in (
        random_automaton(5, "ab", 7),
        group_automaton(S5, "ab"),
        group_automaton(FLIP, "ab"),
    ):
        model = model_of(given, 100, attention=attention)
        words = ["".join(dice.choices("ab", k=n)) for n in (1, 2, 3, 7, 64, 65, 99, 100)]
        check_words(model, given, [*words, "a" * 100, "ab" * 50], dtype=dtype)


@pytest.mark.parametrize("given", [group_automaton(A5, "ab"), group_automaton(S5, "ab")])
def test_groups_that_no_counting_solves(given: Given) -> None:
    model = model_of(given, 1024)
    assert set(model.certificate.max_length.values()) == {1024}
    assert not model.certificate.void
    assert model.size.layers == 10
    dice = random.Random(2)
    check_words(model, given, ["".join(dice.choices("ab", k=300))])


@pytest.mark.parametrize("longest", [1, 2, 3, 4, 5, 31, 32, 33])
def test_depth_is_the_logarithm_of_the_length(longest: int) -> None:
    given = random_automaton(4, "abc", 3)
    model = model_of(given, longest)
    assert model.size.layers == rounds_of(longest)
    assert 2 ** rounds_of(longest) >= longest
    dice = random.Random(longest)
    words = ["".join(dice.choices("abc", k=n)) for n in range(1, longest + 1)]
    check_words(model, given, words)
    assert set(model.certificate.max_length.values()) == {longest}


def test_certified_in_every_format_to_65536() -> None:
    model = model_of(group_automaton(FLIP, "ab"), 65_536)
    assert set(model.certificate.max_length.values()) == {65_536}
    assert model.size.layers == 16


@pytest.mark.full
@pytest.mark.parametrize("seed", range(200))
def test_many_random_automata(seed: int) -> None:
    given = random_automaton(2 + seed % 11, "ab" if seed % 2 else "abc", seed)
    symbols = "".join(given["alphabet"])
    model = model_of(given, 4_096)
    dice = random.Random(seed)
    exhaustive = ["".join(word) for word in product(symbols, repeat=6)]
    for dtype in ("float32", "bfloat16"):
        assert model.certificate.max_length[dtype] == 4_096
        check_words(model, given, exhaustive[:: 1 if dtype == "float32" else 7], dtype=dtype)
        check_words(model, given, ["".join(dice.choices(symbols, k=1_000))], dtype=dtype)


@pytest.mark.full
def test_the_word_problem_of_s5() -> None:
    given = word_problem(S5, "ab")
    model = model_of(given, 64)
    dice = random.Random(4)
    check_words(model, given, ["".join(dice.choices("ab", k=64)), "aaaaa" * 12, "bb" * 32])
    assert model.certificate.max_length["float32"] == 64


def test_what_regular_expressions_say() -> None:
    language = softhat.from_regex("(b*ab*a)*b*", alphabet="ab", depth="log")
    assert isinstance(language, LogDepth) and language.has_empty_word
    assert language.accepts("abab") and not language.accepts("ab")
    assert language.truth("abab").tolist() == [False, False, True, True]
    model = softhat.compile(language, alphabet="ab", max_length=16)
    assert model.truth("abab").tolist() == [False, False, True, True]
    assert model.accepts("aa") and not model.accepts("ba")
    assert model.values("aab") == [False, True, True]


def test_a_length_may_be_said_with_the_language(tmp_path: Path) -> None:
    language = softhat.from_regex("(aa)*", depth="log", max_length=12)
    model = softhat.compile(language)
    assert model.max_length == 12
    model.save(tmp_path / "m")
    again = softhat.load(tmp_path / "m")
    assert again.truth("aaa").tolist() == [False, True, False]
    assert again.certificate.max_length == model.certificate.max_length


def test_a_loaded_model_is_exported_as_the_language_it_decides(tmp_path: Path) -> None:
    """Its symbols in another order than the automaton's; the folder says how it is computed."""
    given = group_automaton([(1, 2, 0), (2, 0, 0)], "ab")
    for longest in (7, None):
        language = softhat.from_dfa(given, depth="log")
        model = softhat.compile(language, alphabet="ba", max_length=longest)
        model.save(tmp_path / f"{longest}")
        again = softhat.load(tmp_path / f"{longest}")
        assert isinstance(again, ValueModel)
        assert again.depth == model.depth
        words = ["".join(word) for word in product("ab", repeat=7)]
        check_words(again, given, words)
        softhat.to_llama(again, tmp_path / f"llama {longest}", context=8)
        assert softhat.certify(tmp_path / f"llama {longest}").max_length["float32"] == 7
        assert (tmp_path / f"llama {longest}" / "language.json").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"accepting": []}, "not minimal"),
        ({"accepting": [1]}, "does not decide"),
        ({"depth": 3}, "depth is text"),
        ({"more": 1}, "nothing else"),
    ],
)
def test_a_folder_states_the_language_of_its_program(
    tmp_path: Path, change: Given, message: str
) -> None:
    model_of(group_automaton(FLIP, "ab"), 4).save(tmp_path / "m")
    file = tmp_path / "m" / "rasp.json"
    document = json.loads(file.read_text())
    document["language"] |= change
    file.write_text(json.dumps(document))
    with pytest.raises(softhat.SofthatError, match=message):
        softhat.load(tmp_path / "m")


def test_a_tampered_model_is_not_certified() -> None:
    """One weight of a gate or of a code moved: void, or still right on every word of length 6."""
    from dataclasses import replace

    given = group_automaton(FLIP, "ab")
    model = model_of(given, 6)
    t = model.transformer
    words = ["".join(word) for word in product("ab", repeat=6)]
    for k, layer in enumerate(t.layers):
        for name in ("query", "key", "value", "into", "out"):
            matrix = getattr(layer, name)
            dense = matrix.dense()
            for at in [tuple(place) for place in np.argwhere(dense)][::3]:
                changed = dense.copy()
                changed[at] = -changed[at]
                moved = replace(layer, **{name: type(matrix).from_dense(changed)})
                weights = replace(t, layers=(*t.layers[:k], moved, *t.layers[k + 1 :]))
                tampered = ValueModel(weights, model.compiled, "tampered")
                if tampered.certificate.max_length["float32"]:
                    check_words(tampered, given, words)


@pytest.mark.filterwarnings("ignore::softhat.CertificateWarning")
@pytest.mark.parametrize("longest", [4, 8])
def test_what_a_head_reads_beside_the_claim_is_no_bit(longest: int) -> None:
    """The last symbol decides: f & x | f & !x is f whatever x is read, but not if x is 1/2. So a
    code that lost a digit, which several positions have then, must not be certified."""
    from dataclasses import replace

    edges = {q: {"a": "A", "b": "B"} for q in "AB"}
    given = {"alphabet": ["a", "b"], "states": ["A", "B"], "start": "A", "accept": ["A"],
             "transitions": edges}  # fmt: skip
    model = model_of(given, longest)
    assert model.certificate.max_length["float32"] == longest
    t = model.transformer
    words = ["".join(word) for n in range(1, longest + 1) for word in product("ab", repeat=n)]
    digits = t.position_embedding.dense()
    broken = 0
    for at in [tuple(place) for place in np.argwhere(digits)]:
        changed = digits.copy()
        changed[at] = 0.0
        embedding = type(t.position_embedding).from_dense(changed)
        tampered = ValueModel(replace(t, position_embedding=embedding), model.compiled, "tampered")
        truths = tampered.truth_many(words)
        wrong = any(x.tolist() != expected(given, w) for x, w in zip(truths, words, strict=True))
        broken += wrong
        assert not (wrong and tampered.certificate.max_length["float32"])
    assert broken >= 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: softhat.compile(softhat.from_regex("(b*ab*a)*b*", depth="auto")),
            "max_length=4096",
        ),
        (lambda: softhat.from_regex("(aa)*", depth="deep"), "'constant', 'log' or 'auto'"),
        (lambda: softhat.from_regex("a*", max_length=3), "goes with depth='log'"),
        (lambda: softhat.from_regex("(aa)*", mod=True, depth="log"), "nothing needs it"),
        (
            lambda: softhat.compile(
                softhat.from_regex("(aa)*", depth="log"), alphabet="ab", max_length=4
            ),
            "must be the language's",
        ),
        (
            lambda: softhat.compile(softhat.from_regex("(aa)*", depth="log"), max_length=2**40),
            "from 1 to 1,048,576",
        ),
        (
            lambda: softhat.compile(
                softhat.from_dfa(random_automaton(1_000, "ab", 1), depth="log"), max_length=65_536
            ),
            "conjunctions",
        ),
        (
            lambda: softhat.compile(
                softhat.from_dfa(word_problem(S5, "ab"), depth="log"), max_length=512
            ),
            "120 states in 9 rounds need up to .* parameters, and 1,000,000,000 is the limit",
        ),
        (lambda: softhat.from_regex("(aa)*"), "--depth log"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(softhat.SofthatError, match=message):
        call()
