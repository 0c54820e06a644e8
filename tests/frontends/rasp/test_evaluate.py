"""The reference meaning of RASP: by hand, and of the library against plain Python."""

from __future__ import annotations

import random
from itertools import permutations, product
from typing import Any

import pytest

from softhat import SofthatError, rasp
from softhat.frontends.rasp import lib
from tests.frontends.rasp.cases import CASES, Case

tokens, indices = rasp.tokens, rasp.indices
Select, Comparison = rasp.Select, rasp.Comparison


def inputs(case: Case, longest: int) -> list[list[Any]]:
    if case.unique:
        return [
            list(p)
            for n in range(1, min(longest, len(case.alphabet)) + 1)
            for p in permutations(case.alphabet, n)
        ]
    return [list(p) for n in range(1, longest + 1) for p in product(case.alphabet, repeat=n)]


def same(found: Any, expected: Any) -> bool:
    """Equal, None only to None, numbers to rounding."""
    if found is None or expected is None:
        return found is expected
    if isinstance(expected, float):
        return abs(found - expected) < 1e-9
    return bool(found == expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_library_is_what_plain_python_says(case: Case) -> None:
    check_meaning(case, 4, 20, 39)


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_library_is_what_plain_python_says_at_full_size(case: Case) -> None:
    check_meaning(case, 6, 300, 256)


def check_meaning(case: Case, longest: int, count: int, at_most: int) -> None:
    """All words to a length, and random ones beyond."""
    dice = random.Random(7)
    tried = inputs(case, longest)
    if not case.unique:
        lengths = [dice.randrange(longest + 1, at_most + 1) for _ in range(count)]
        tried += [dice.choices(case.alphabet, k=n) for n in lengths]
    for word in tried:
        found, expected = case.program(word), case.meaning(word)
        assert len(found) == len(expected)
        assert all(map(same, found, expected)), (word, found, expected)


@pytest.mark.parametrize(
    ("program", "word", "expected"),
    [
        (tokens, "ab", ["a", "b"]),
        (indices, "ab", [0, 1]),
        (rasp.length, "abc", [3, 3, 3]),
        (rasp.length - 1 - indices, "abc", [2, 1, 0]),
        (tokens > 1, [0, 1, 2], [False, False, True]),
        (tokens == "a", "ab", [True, False]),
        (tokens != tokens, "ab", [False, False]),
        (2 * tokens + 1, [1, 2], [3, 5]),
        (1 / tokens, [1, 2], [1, 0.5]),
        (True & tokens, [True, False], [True, False]),
        (tokens | False, [True, False], [True, False]),
        (~tokens, [True, False], [False, True]),
        (-tokens, [1, -2], [-1, 2]),
        (rasp.Full("x"), "ab", ["x", "x"]),
        (rasp.LinearSequenceMap(tokens, indices, 2, -1), [5, 6], [10, 11]),
        (rasp.SequenceMap(lambda x, y: x + y, tokens, tokens), "ab", ["aa", "bb"]),
        (rasp.Map(lambda x: x + 1, lib.shift_by(1, tokens)), [1, 2], [None, 2]),
        (lib.shift_by(1, tokens) + tokens, [1, 2], [None, 3]),
        (rasp.ConstantSOp([1, 2]), "ab", [1, 2]),
    ],
)
def test_by_hand(program: rasp.SOp, word: Any, expected: list[Any]) -> None:
    assert program(word) == expected


def test_selectors() -> None:
    same_token = Select(tokens, tokens, Comparison.EQ)
    before = Select(indices, indices, Comparison.LT)
    assert same_token("aba") == [[True, False, True], [False, True, False], [True, False, True]]
    assert before("ab") == [[False, False], [True, False]]  # the key is less
    assert (same_token & before)("aa") == [[False, False], [True, False]]
    assert (same_token | before)("ab") == [[True, False], [True, True]]
    assert (~before)("ab") == [[True, True], [False, True]]
    assert rasp.selector_not(before)("ab") == (~before)("ab")
    assert rasp.ConstantSelector([[True]])("a") == [[True]]
    assert rasp.SelectorWidth(same_token)("aba") == [2, 1, 2]


def test_means() -> None:
    everywhere = Select(indices, indices, Comparison.TRUE)
    nothing = Select(indices, indices, Comparison.FALSE)
    assert rasp.Aggregate(everywhere, tokens)([1, 2]) == [1.5, 1.5]
    assert rasp.Aggregate(everywhere, tokens)([True, False]) == [0.5, 0.5]
    assert rasp.Aggregate(nothing, tokens)("a") == [None]
    assert rasp.Aggregate(nothing, tokens, default=0)("a") == [0]
    itself = Select(indices, indices, Comparison.EQ)
    kept = rasp.Aggregate(itself, tokens)([True, 3, "x", (1, 2)])
    assert [type(value) for value in kept] == [bool, int, str, tuple]
    with pytest.raises(ValueError, match="only numbers have a mean"):
        rasp.Aggregate(everywhere, tokens)("ab")


def test_none_in_a_comparison_raises() -> None:
    previous = lib.shift_by(1, tokens)
    with pytest.raises(ValueError, match="key is None"):
        Select(previous, tokens, Comparison.EQ)("ab")
    with pytest.raises(ValueError, match="query is None"):
        Select(tokens, previous, Comparison.EQ)("ab")


def test_causal_evaluation_hides_the_future() -> None:
    width = rasp.SelectorWidth(Select(tokens, tokens, Comparison.TRUE))
    assert rasp.evaluate(width, "abc", causal=True) == [1, 2, 3]
    none = rasp.SelectorWidth(~Select(tokens, tokens, Comparison.FALSE))
    assert rasp.evaluate(none, "abc", causal=True) == [1, 2, 3]
    for word in product("ab", repeat=4):
        program = lib.make_frac_prevs(tokens == "a")
        assert rasp.evaluate(program, word, causal=True) == program(word)


def test_values_of_different_types_are_not_confused() -> None:
    chosen = Select(tokens, tokens, lambda k, q: type(k) is bool)
    assert rasp.SelectorWidth(chosen)([1, True, 1.0]) == [1, 1, 1]


def test_names_and_annotations() -> None:
    hist = lib.make_hist()
    assert hist.name == "hist"
    assert hist.named("x").name == "x"
    assert hist.name == "hist"
    assert rasp.tokens.label == "tokens"
    assert hist.label != hist.named("hist").label
    assert rasp.is_categorical(hist)
    assert rasp.is_numerical(rasp.numerical(hist))
    assert rasp.is_categorical(rasp.categorical(rasp.numerical(hist)))
    assert hist.annotated(color="red").annotations["color"] == "red"
    assert rasp.Map(abs, tokens).name == "map"


def test_refusals() -> None:
    with pytest.raises(TypeError, match="must be an s-op"):
        rasp.Map(abs, 3)
    with pytest.raises(TypeError, match="function of values"):
        rasp.Map(tokens, tokens)
    with pytest.raises(TypeError, match="must be a selector"):
        rasp.SelectorWidth(tokens)
    with pytest.raises(ValueError, match="doesn't match input len"):
        rasp.ConstantSOp([1])("ab")
    with pytest.raises(SofthatError, match="expected a RASP program"):
        rasp.evaluate("a", "ab")
    with pytest.raises(SofthatError, match="two brackets"):
        lib.make_shuffle_dyck(["("])
    with pytest.raises(ValueError, match="at least 1"):
        lib.detect_pattern(tokens, "")


def test_deep_programs_are_no_trouble() -> None:
    program: rasp.SOp = tokens
    for _ in range(3_000):
        program = program + 1
    assert program([0]) == [3_000]
