"""RASP to attention programs: exact evaluation of the program is the reference meaning."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import RaspError, SofthatError, rasp
from softhat.frontends.rasp import lib
from softhat.frontends.rasp.compile import Compiled, compile_rasp
from softhat.frontends.rasp.outputs import decode
from softhat.program.evaluate import numbers, outputs
from tests.frontends.rasp.cases import CASES, Case
from tests.frontends.rasp.random_programs import random_program
from tests.frontends.rasp.test_evaluate import inputs

tokens, indices, length = rasp.tokens, rasp.indices, rasp.length
Select, Comparison, Aggregate = rasp.Select, rasp.Comparison, rasp.Aggregate
everywhere = Select(indices, indices, Comparison.TRUE)
before = Select(indices, indices, Comparison.LT)


def run(compiled: Compiled, word: Iterable[Any]) -> list[Any]:
    places = [(type(token), token) for token in compiled.alphabet]
    codes = np.array([places.index((type(token), token)) for token in word])
    program = compiled.program
    bits, reads = outputs(program, codes), numbers(program, codes)
    return decode(compiled.decoder, bits, reads, len(codes))


def same(found: Any, expected: Any) -> bool:
    """None only to None; numbers to the rounding of the reference."""
    if found is None or expected is None:
        return found is expected
    if isinstance(expected, int | float) and isinstance(found, int | float):
        return abs(found - expected) < 1e-9
    return bool(found == expected)


def agree(program: rasp.SOp, alphabet: Any, words: Iterable[Any], causal: bool = False) -> None:
    tried = [list(word) for word in words]
    compiled = compile_rasp(program, alphabet, max(map(len, tried)), causal)
    for word in tried:
        try:
            expected = rasp.evaluate(program, word, causal)
        except (ValueError, TypeError, ArithmeticError):
            continue  # the program has no meaning there
        found = run(compiled, word)
        assert len(found) == len(expected)
        assert all(map(same, found, expected)), (word, found, expected)


def some(case: Case, longest: int, count: int, at_most: int) -> list[list[Any]]:
    dice = random.Random(3)
    if case.unique:
        return inputs(case, longest)
    lengths = [dice.randrange(longest, at_most + 1) for _ in range(count)]
    return inputs(case, longest) + [dice.choices(case.alphabet, k=n) for n in lengths]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_library(case: Case) -> None:
    agree(case.program, case.alphabet, some(case, 3, 10, 24))


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_library_to_length_six(case: Case) -> None:
    agree(case.program, case.alphabet, some(case, 6, 30, 256))


CAUSAL = ["frac_prevs", "shift_by 1", "detect_pattern abc", "induction", "hist", "dyck of depth 3"]


@pytest.mark.parametrize("case", [c for c in CASES if c.name in CAUSAL], ids=lambda case: case.name)
def test_causally(case: Case) -> None:
    agree(case.program, case.alphabet, some(case, 3, 10, 24), causal=True)


def _turned(condition: rasp.SOp) -> rasp.SOp:
    """The sequence, from its end if the condition holds: by arithmetic with a sign."""
    sign = rasp.Map(lambda yes: -1 if yes else 1, condition)
    middle = rasp.Map(lambda n: n / 2 - 0.5, length)
    away = rasp.SequenceMap(lambda x, y: x * y, sign, indices - middle)
    place = rasp.SequenceMap(lambda x, y: x + y, middle, away)
    return Aggregate(Select(place, indices, Comparison.EQ), tokens)


PROGRAMS: list[tuple[str, rasp.SOp, Any]] = [
    ("nothing selected", Aggregate(Select(tokens, tokens, Comparison.GT), tokens), (0, 1, 2)),
    ("a default", Aggregate(Select(tokens, tokens, Comparison.GT), tokens, default=9), (0, 1, 2)),
    ("means of categories", Aggregate(Select(tokens, tokens, Comparison.LEQ), tokens), (0, 1, 5)),
    ("mean before", rasp.numerical(Aggregate(before, tokens, default=0)), (0, 1, 5)),
    ("mean after", rasp.numerical(Aggregate(~before & ~Select(indices, indices, Comparison.EQ),
                                            tokens, default=-1)), (0, 3)),
    ("none in the middle", Aggregate(Select(indices, indices, Comparison.EQ),
                                     rasp.Map(lambda t: None if t == 1 else t, tokens)), (0, 1, 2)),
    ("tuples", rasp.SequenceMap(lambda a, b: (a, b), tokens, lib.shift_by(1, tokens)), "ab"),
    ("position modulo", rasp.Map(lambda i: i % 3, indices), "ab"),
    ("a table of positions", rasp.Map(lambda i: (i * i) % 7, indices), "ab"),
    ("last", Aggregate(Select(indices, length - 1, Comparison.EQ), tokens), "ab"),
    ("second", Aggregate(Select(indices, rasp.Full(1), Comparison.EQ), tokens), "ab"),
    ("reverse and shift", lib.make_reverse(lib.shift_by(1, tokens)), "abc"),
    ("reverse twice", lib.make_reverse(lib.make_reverse(tokens)), "abc"),
    ("difference of counts", lib.make_count(tokens, "a") - lib.make_count(tokens, "b"), "abc"),
    ("height", rasp.SelectorWidth(Select(tokens, tokens, lambda k, q: k == "(") & ~before)
     - rasp.SelectorWidth(Select(tokens, tokens, lambda k, q: k == ")") & ~before), "()"),
    ("hist at the previous position", lib.shift_by(1, lib.make_hist()), "ab"),
    ("hist twice", lib.make_hist() + lib.make_hist(), "abc"),
    ("parity of hist", rasp.Map(lambda h: h % 2 == 1, lib.make_hist()), "abc"),
    ("most frequent", lib.make_hist() > length / 2, "abc"),
    ("same as the first", rasp.SequenceMap(lambda a, b: a == b, tokens, lib.make_first_token()),
     "ab"),
    ("words", rasp.Map(str.upper, tokens), ("one", "two")),
    ("mixed tokens", rasp.Map(lambda t: type(t).__name__, tokens), (1, "1", 1.5, True, (1, 2))),
    ("constant", rasp.Full("x"), "ab"),
    ("none", rasp.Full(None), "ab"),
    ("or of selectors", rasp.SelectorWidth(Select(tokens, tokens, Comparison.EQ) | before), "ab"),
    ("not and", rasp.SelectorWidth(~(Select(tokens, tokens, Comparison.EQ) & before)), "ab"),
    ("share squared", rasp.Map(lambda x: x > 0.3, lib.make_frac_prevs(tokens == "a")), "ab"),
    ("share by a float", lib.make_frac_prevs(tokens == "a") == 0.2, "ab"),
    ("a third", lib.make_frac_prevs(tokens == "a") >= 1 / 3, "ab"),
    ("product of counts", lib.make_count(tokens, "a") * lib.make_hist(), "ab"),
    ("a mean over two masks", Aggregate(~Select(indices, indices, Comparison.EQ),
                                        rasp.Map("ab".index, tokens), 0), "ab"),
    ("turned if there are many a", _turned(lib.make_count(tokens, "a") > 2), "abc"),
    ("half of the places", rasp.SelectorWidth(Select(2 * indices, indices, Comparison.LT)), "ab"),
    ("one place and others", Aggregate(Select(indices, length - 1 - indices, Comparison.EQ)
                                       & (before | Select(tokens, tokens, Comparison.EQ)), tokens),
     "ab"),
    ("two places", rasp.SelectorWidth(Select(indices, length - 1 - indices, Comparison.EQ)
                                      | Select(indices, indices - 2, Comparison.EQ)), "ab"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "alphabet"), [p[1:] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS]
)
def test_programs(program: rasp.SOp, alphabet: Any) -> None:
    dice = random.Random(5)
    words = [w for n in range(1, 5) for w in product(alphabet, repeat=n)]
    words += [tuple(dice.choices(alphabet, k=dice.randrange(5, 16))) for _ in range(20)]
    agree(program, alphabet, words)


def test_means_over_different_selections() -> None:
    share = Aggregate(~before, rasp.Map("ba".index, tokens))
    less = lib.make_frac_prevs(tokens == "a") < share
    agree(less, "ab", [w for n in range(1, 7) for w in product("ab", repeat=n)])
    with pytest.raises(RaspError, match=r"values for sequences up to 40: .* 2,000 entries"):
        compile_rasp(less, "ab", 40)


def test_conditions_on_positions_that_no_head_follows() -> None:
    mirrored = Select(indices, length - 1 - indices, Comparison.EQ)
    both = rasp.SelectorWidth(mirrored | Select(indices, indices - 2, Comparison.EQ))
    with pytest.raises(RaspError, match="for a max_length of 64, and this one is 65"):
        compile_rasp(both, "ab", 65)


_true = rasp.Map(lambda _: True, rasp.tokens)
_before = rasp.Aggregate(
    rasp.Select(rasp.indices, rasp.indices, lambda k, q: q - k == 1), rasp.tokens, default="0"
)
_last_sign = rasp.lib.make_latest(
    rasp.Map(lambda t: t in "+=", rasp.tokens), _true, rasp.indices, default=-1
)
_rank = rasp.SequenceMap(lambda i, s: i - s - 1, rasp.indices, _last_sign)
_there = rasp.Aggregate(rasp.Select(rasp.indices, _rank, rasp.Comparison.EQ), rasp.tokens)


@pytest.mark.parametrize(
    "keys",
    [
        rasp.Map(lambda t: t == "1", _before),
        rasp.SequenceMap(lambda s, t: s == t, _before, rasp.tokens),
        rasp.Map(lambda s: s > 1, _last_sign),
        rasp.Map(lambda t: t == "1", _there),
    ],
)
def test_the_latest_of_what_was_read_elsewhere(keys: rasp.SOp) -> None:
    """That the keys true and false are never one takes that a position has one symbol only."""
    program = rasp.lib.make_latest(keys, _true, rasp.tokens, default="none")
    model = softhat.compile(program, alphabet="01+=", max_length=6)
    assert model.certificate.max_length["float32"] == 6
    dice = random.Random(6)
    for _ in range(60):
        word = dice.choices("01+=", k=dice.randrange(1, 7))
        assert model.values(word) == program(word)


def check_random(seed: int) -> bool:
    dice = random.Random(seed)
    program, causal = random_program(dice, dice.randrange(2, 8)), dice.random() < 0.3
    words = [w for n in range(1, 5) for w in product((0, 1, 2), repeat=n)]
    try:
        agree(program, (0, 1, 2), words, causal)
    except RaspError:
        return False
    return True


def test_random_programs() -> None:
    compiled = sum(map(check_random, range(75)))
    assert compiled > 37


@pytest.mark.full
@pytest.mark.parametrize("start", range(1_000, 9_000, 200))
def test_many_random_programs(start: int) -> None:
    assert sum(map(check_random, range(start, start + 200))) > 100


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (Aggregate(everywhere, tokens).named("mix"),
         r"mix: categories that may differ .* on \['a', 'b'\] position 0 selects \['a', 'b'\]"),
        (rasp.Map(lambda x: x * x, lib.make_pair_balance(tokens, "a", "b")).named("squares"),
         "squares: its function changes its value more than 64 times"),
        (rasp.ConstantSOp([1, 2]), "constant_sop: constants that ignore the input"),
        (rasp.SelectorWidth(rasp.ConstantSelector([[True]])), "constant_selector: constants"),
        (rasp.Map(lambda t: 1 / (t == "a"), tokens).named("bad"),
         r"bad: its function raises ZeroDivisionError on 'b', which can occur.* on \['b'\]"),
        (rasp.Map(lambda i: 1 / (i - 3), indices), "ZeroDivisionError on 3, which can occur"),
        (rasp.Map(lambda h: 1 / (h - 3), lib.make_hist()), r"It does on \['a', 'a', 'a'\]"),
        (rasp.Map(lambda x: 1 / (x - 0.5), lib.make_frac_prevs(tokens == "a")),
         r"raises ZeroDivisionError on 0.5: .* It does on \['a', 'b'\]"),
        (Aggregate(~before, lib.shift_by(1, rasp.Map(len, tokens))),
         r"a value and None would have to be averaged, which raises. It does on \['a', 'a'\]"),
        (rasp.SelectorWidth(Select(lib.shift_by(1, tokens), tokens, Comparison.EQ)),
         "select: a key may be None"),
        (rasp.SelectorWidth(Select(tokens, indices, Comparison.LT)), "select: its function raises"),
        (lib.make_frac_prevs(tokens == "a") * lib.make_hist(), "1,495 by 70 values"),
        (Aggregate(Select(lib.make_frac_prevs(tokens == "a"), indices, Comparison.EQ), tokens),
         "its predicate relates too many values"),
        (Aggregate(Select(indices, indices, lambda k, q: k * k < q), tokens == "a"), "256 cases"),
        (rasp.SelectorWidth(Select(2 * indices, indices, Comparison.LT)), "no mask can"),
    ],
)  # fmt: skip
def test_refusals(program: rasp.SOp, said: str) -> None:
    with pytest.raises(RaspError, match=said):
        compile_rasp(program, "ab", 70)


def test_large_tables_are_refused() -> None:
    wide = rasp.SequenceMap(lambda a, b: (a, b), tokens, tokens)
    twice = rasp.SequenceMap(lambda a, b: (a, b), wide, lib.shift_by(1, wide))
    with pytest.raises(RaspError, match="are the most"):
        compile_rasp(twice, range(400), 8)


def test_a_causal_program_does_not_know_the_length() -> None:
    with pytest.raises(RaspError, match="length: the length is not known to a causal program"):
        compile_rasp(indices + length, "ab", 8, causal=True)


def test_what_is_no_program() -> None:
    with pytest.raises(RaspError, match="an s-op, not"):
        compile_rasp(before, "ab", 8)
    with pytest.raises(RaspError, match="max_length"):
        compile_rasp(tokens, "ab", 0)
    with pytest.raises(SofthatError, match="empty"):
        compile_rasp(tokens, "", 8)
    with pytest.raises(SofthatError, match="twice"):
        compile_rasp(tokens, "aa", 8)
    with pytest.raises(SofthatError, match="hashable"):
        compile_rasp(tokens, [[1]], 8)


def test_size_does_not_depend_on_the_length_where_it_need_not() -> None:
    free = ["length", "frac_prevs", "pair_balance", "shuffle_dyck2", "shift_by 3", "majority",
            "detect_pattern abc", "numerical hist"]  # fmt: skip
    for case in CASES:
        if case.name in free:
            small, large = (compile_rasp(case.program, case.alphabet, n) for n in (16, 512))
            assert len(small.program.signals) == len(large.program.signals), case.name


def test_a_map_of_a_token_and_a_place_leaves_none_as_it_is() -> None:
    """None of the first map must not reach the function of the second."""
    first = rasp.SequenceMap(lambda n, x: n if x > 0 else -1, rasp.length, rasp.Full(0))
    undefined = rasp.Map(lambda v: None if v == -1 else v, first)
    program = rasp.SequenceMap(lambda a, b: a if b > 0 else -1, undefined, rasp.tokens)
    model = softhat.compile(program, alphabet=[0, 1], max_length=5)
    assert model.values([0, 1]) == program([0, 1]) == [None, None]
