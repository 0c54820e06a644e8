"""Many words at once against the definitions."""

from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat import SofthatError, parse
from softhat.logic.semantics.batch import all_words, evaluate, evaluate_many, from_codes, unpack
from softhat.logic.syntax.nodes import Formula
from tests.cases import CASES, Case
from tests.logic import oracle
from tests.logic.strategies import formulas
from tests.slices import examples


@examples(150)
@given(formulas(), st.integers(1, 12), st.integers(1, 130), st.integers(0, 2**32))
def test_batch_agrees_with_the_oracle(formula: Formula, length: int, count: int, seed: int) -> None:
    codes = np.random.default_rng(seed).integers(0, 3, (count, length))
    batch = from_codes(codes, "abc")
    found = unpack(evaluate(formula, batch), count)
    for k in range(0, count, 17):
        word = "".join("abc"[c] for c in codes[k])
        assert found[k].tolist() == oracle.truth(formula, word)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_words_in_order(case: Case) -> None:
    formula = parse(case.formula)
    for length in (1, 3, 4):
        batch = all_words(case.letters, length)
        found = unpack(evaluate(formula, batch), batch.count)
        words = list(product(case.letters, repeat=length))
        assert batch.count == len(words)
        as_words = ["".join(word) if case.as_text else list(word) for word in words]
        assert (found == np.array(formula.truth_many(as_words))).all()


@pytest.mark.parametrize("alphabet", ["a", "ab", "abc", "abcd", "abcde"])
@pytest.mark.parametrize(("start", "stop"), [(0, None), (1, 2), (63, 200), (64, 129), (5, 10**9)])
def test_pieces_of_all_words(alphabet: str, start: int, stop: int | None) -> None:
    for length in (1, 2, 5):
        batch = all_words(alphabet, length, start, stop)
        words = list(islice(product(alphabet, repeat=length), start, stop))
        assert batch.count == len(words)
        for symbol in alphabet:
            here = unpack(batch.symbols[symbol], batch.count)
            assert here.tolist() == [[c == symbol for c in word] for word in words]


def test_far_out_pieces() -> None:
    """Word numbers beyond 64 bits."""
    start = 2**80 + 7
    batch = all_words("ab", 100, start, start + 3)
    bits = unpack(batch.symbols["b"], 3)
    numbers = [int("".join("1" if bit else "0" for bit in row), 2) for row in bits]
    assert numbers == [start, start + 1, start + 2]


def test_huge_weights() -> None:
    formula = parse(f"{10**100}*#(a) - {10**100 - 1}*#>(b) >= #*(a) + {7**90}*n - {7**90}*i")
    batch = all_words("ab", 5)
    found = unpack(evaluate(formula, batch), batch.count)
    for row, word in zip(found, product("ab", repeat=5), strict=True):
        assert row.tolist() == oracle.truth(formula, word)


def test_several_formulas_share_their_parts() -> None:
    batch = all_words("ab", 6)
    both = evaluate_many([parse("O a"), parse("Y O a")], batch)
    assert (both[0] == evaluate(parse("O a"), batch)).all()
    assert (both[1][1:] == both[0][:-1]).all()


def test_inputs_are_not_written_to() -> None:
    batch = all_words("ab", 6)
    before = {name: lanes.copy() for name, lanes in batch.symbols.items()}
    evaluate(parse("(a S b) & #(a) > #(b) xor X a"), batch)
    assert all((batch.symbols[name] == lanes).all() for name, lanes in before.items())


def test_bad_batches() -> None:
    with pytest.raises(SofthatError):
        all_words("", 3)
    with pytest.raises(SofthatError):
        all_words("ab", 0)
