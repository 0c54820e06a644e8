"""The public model: arguments, several outputs, errors for people."""

from __future__ import annotations

import numpy as np
import pytest

import softhat
from softhat.io.errors import SofthatError


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"formula": "a", "attention": "warm"}, "unknown attention"),
        ({"formula": "a", "alphabet": ""}, "empty"),
        ({"formula": "a", "alphabet": "aba"}, "duplicate"),
        ({"formula": "a S z", "alphabet": "ab"}, "'z' is not in the alphabet"),
        ({"formula": "a", "alphabet": ["a", ""]}, "non-empty"),
        ({"formula": "a", "alphabet": ["a", "<bos>"]}, "reserved"),
        ({"formula": "a", "alphabet": ["a", "<pad>"]}, "reserved"),
        ({"formula": "p", "propositions": ["p", "<pad>"]}, "reserved"),
        ({"formula": "a", "alphabet": 5}, "text or a list of strings, not 5"),
        ({"formula": "a", "alphabet": ["a", "\ud800"]}, "half a character"),
        ({"formula": "p", "propositions": []}, "proposition 'p' is not one of none"),
        ({"formula": "p", "propositions": "qr"}, "proposition 'p' is not one of q, r"),
        ({"formula": f"mod({2**2000}, 1)", "alphabet": "a"}, "2,001 bits"),
        ({"formula": "a", "alphabet": "a", "propositions": ["a"]}, "not both"),
        ({"formula": {}, "alphabet": "a"}, "nothing to compile"),
        ({"formula": {"a:b": "a"}}, "without ':'"),
        ({"formula": f"{2**41 + 1}*#(a) >= {2**41}*#(b)"}, "beyond 2\\^40"),
        ({"formula": f"{2**30}*#(a) - {2**30 - 1}*#(b) >= {2**60}"}, "beyond 2\\^51"),
        ({"formula": f"{2**40}*#(a) - {2**39 - 1}*#(c) >= {2**90}", "alphabet": "abc"}, "2\\^51"),
    ],
)
def test_bad_input(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(SofthatError, match=message):
        softhat.compile(**arguments)


def test_words() -> None:
    model = softhat.compile("a S b", alphabet="ab")
    with pytest.raises(SofthatError, match="'c' at position 3"):
        model.truth("abc")
    with pytest.raises(SofthatError, match="empty word"):
        model.truth("")
    with pytest.raises(SofthatError, match="symbols"):
        model.truth([{"a"}])
    with pytest.raises(SofthatError, match="unknown dtype"):
        model.truth("ab", dtype="int8")
    assert model.truth(["b", "a"]).tolist() == [True, True]


def test_alphabet_defaults_to_the_formulas_symbols() -> None:
    assert softhat.compile("c S a").transformer.symbols == ("a", "c")
    assert softhat.compile("i >= 2").truth("aaa").tolist() == [False, True, True]


def test_several_outputs() -> None:
    model = softhat.compile({"one": "O a", "two": "X b"}, alphabet="ab")
    with pytest.raises(ValueError, match="several outputs"):
        model.truth("ab")
    with pytest.raises(ValueError, match="no output 'three'"):
        model.truth("ab", output="three")
    assert model.truth("bab", output="one").tolist() == [False, True, True]
    assert model.truth("bab", output="two").tolist() == [False, True, False]


def test_acceptance() -> None:
    assert softhat.compile("O a", alphabet="ab").accepts("ab")
    assert softhat.compile("X b", alphabet="ab").accepts("ab")
    two_way = softhat.compile("Y X a", alphabet="ab")
    with pytest.raises(ValueError, match="at='first'"):
        two_way.accepts("ab")
    assert two_way.accepts("ba", at="last")


def test_margins_have_the_sign_of_the_truth() -> None:
    model = softhat.compile("#(a) - #(b) >= 1", alphabet="ab")
    word = "abbaaabab"
    margins = model.margins(word, dtype="float64")
    assert ((margins > 0) == softhat.parse("#(a) - #(b) >= 1").truth(word)).all()
    assert np.abs(margins).min() > 0.4


@pytest.mark.parametrize("letters", [1, 200])
def test_alphabets_of_one_symbol_and_of_two_hundred(letters: int) -> None:
    alphabet = [f"x{k}" for k in range(letters)]
    formula = softhat.parse("(x0 S !x0) | Y x0 | #(x0) = 2")
    model = softhat.compile(formula, alphabet=alphabet)
    rng = np.random.default_rng(0)
    for length in (1, 2, 9):
        word = [alphabet[k] for k in rng.integers(0, min(letters, 3), length)]
        assert (model.truth(word) == formula.truth(word)).all()


def test_truth_many_keeps_the_order() -> None:
    model = softhat.compile("a S b", alphabet="ab")
    words = ["ab", "b", "abba", "ba", "aaaa", "b"]
    want = [softhat.parse("a S b").truth(word).tolist() for word in words]
    assert [row.tolist() for row in model.truth_many(words)] == want


def test_trace_names_everything() -> None:
    trace = softhat.compile("Y a & b", alphabet="ab").run("ab")
    assert trace.tokens == ("<bos>", "a", "b")
    assert trace.attention[0].shape == (1, 3, 3)
    assert len(trace.residual) == 2
    assert trace.residual[0].shape == (3, len(trace.coordinates[0]))
    assert trace.heads == (("Previous: Y a",),)
    assert "raw Y a" in trace.coordinates[1]
    assert trace.attention[0][0, 2].argmax() == 1


def test_memory_is_linear_in_the_length() -> None:
    import tracemalloc

    model = softhat.compile("a S b", alphabet="ab", attention="temperature")
    codes = np.zeros((1, 6000), np.int64)
    tracemalloc.start()
    model.run_batch(codes, "float32")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6  # a map of 6000 × 6000 floats alone is 144 MB


@pytest.mark.parametrize("modulus", [2**62, 2**63, 2**64, 10**100])
def test_moduli_beyond_64_bits(modulus: int) -> None:
    """No word is that long, so i mod m is i."""
    reached, unreached = f"mod({modulus}, 3)", f"mod({modulus}, {modulus - 1})"
    for text, expected in ((reached, [False, False, True, False]), (unreached, [False] * 4)):
        model = softhat.compile(text, alphabet="a")
        assert model.truth("aaaa", runtime="dense").tolist() == expected
        assert model.truth("aaaa", runtime="linear").tolist() == expected
        assert model.stream().push("aaaa").tolist() == expected
        assert model.stream().push("a" * 50)[:4].tolist() == expected
