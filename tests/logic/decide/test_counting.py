"""Comparisons of counts: what is proved for every length, what is refused, what is tried."""

from __future__ import annotations

import numpy as np
import pytest

from softhat import SofthatError, equivalent, implies, satisfiable
from softhat.logic.random import random_formula
from softhat.logic.semantics.batch import all_words, evaluate, unpack
from tests.slices import every

PROVED = [
    ("#(a) > #(b)", "#(b) < #(a)"),
    ("2*#(a) > 2*#(b)", "!(#(a) <= #(b))"),
    ("#(a) - #(b) - 1 >= 0", "-#(b) + #(a) > 0"),
    ("#(a) = #(b)", "#(a) >= #(b) & #(b) >= #(a)"),
    ("#(a) > #(b) -> #(a) >= #(b)", "true"),
    ("#(a) > #(b) | #(a) < #(b) | #(a) = #(b)", "true"),
    ("#(a) + #(b) + #(c) = i", "true"),
    ("#(a) + #(b) <= i", "true"),
    ("#(a) = i", "H a"),
    ("#(a) >= 1", "O a"),
    ("#(a) > 1", "O (a & Y O a)"),
    ("#(a) = 0", "H !a"),
    ("#>(a) >= 2", "F (a & X F a)"),
    ("#*(a) >= 2", "F (#(a) >= 2)"),
    ("#*(a) = 0", "G !a & H !a"),
    ("i = 1", "first"),
    ("i = 3", "Y Y first"),
    ("i = n", "last"),
    ("n = 1", "first & last"),
    ("i + 1 = n", "X last"),
    ("#>(true) = n - i + 1", "true"),
    ("#(a) + #>(a) - #*(a) = 1", "a"),
    ("#*(a) >= #(a)", "true"),
    ("#(a) + #(b & Y a) >= #(a)", "true"),
    ("O (#(a) > #(b)) & G (#(a) > 2*#(b))", "G !(2*#(b) >= #(a)) & O (#(b) < #(a))"),
    ("F (2*#(a) = #*(a))", "true U (#*(a) - #(a) = #(a))"),
    ("#(#(a) > #(b)) >= 1", "O (#(b) < #(a))"),
]


@pytest.mark.parametrize(("left", "right"), PROVED)
def test_proved_for_every_length(left: str, right: str) -> None:
    assert equivalent(left, right, alphabet="abc") is None
    assert equivalent(left, right, alphabet="abc", up_to=10**6) is None


def test_thresholds_are_decided() -> None:
    assert equivalent("#(a) >= 20", "#(a) >= 21", alphabet="ab") == "a" * 20
    assert satisfiable("#(a) >= 3 & #(b) = 2 & Y Y c", alphabet="abc") is not None
    assert implies("#(a) >= 3", "O (a & Y O a)", alphabet="ab") is None
    assert implies("O a", "#(a) >= 3", alphabet="ab") == "a"
    assert equivalent("i >= 9", "false") == "a" * 9
    assert equivalent("#(p) >= 2", "#(p & q) >= 2", propositions="pq") == [{"p"}, {"p"}]


REFUSED = [
    ("#(a) > #(b) + 1", "#(a) > #(b)"),
    ("#(a) > #(b)", "#(a) >= #(b)"),
    ("F (2*#(a) = #*(a))", "true"),
    ("#(a) > 100", "#(a) > 99"),
]


@pytest.mark.parametrize(("left", "right"), REFUSED)
def test_the_rest_needs_a_length(left: str, right: str) -> None:
    with pytest.raises(SofthatError, match=r"say up to which length .* up_to=10"):
        equivalent(left, right, alphabet="ab")
    with pytest.raises(SofthatError, match="up_to"):
        implies(right, left, alphabet="ab")
    with pytest.raises(SofthatError, match="up_to"):
        satisfiable(f"Y ({left})", alphabet="ab", at="last")


ENDS = [
    "first & #(a) > #(b) + 1",  # one position has no two
    "last & #>(a) - #*(b) > 1",
    "Y (#>(first) >= n)",  # the first position alone is not before another
    "2*#*(last) >= i + 2",
    "#>(last) - #*(a) >= 4",
    "!F (#>(a) <= #*(last))",
    "#(2*i < #>(b) + 4) <= 0",  # not at the first position
    "#(O b) < #(Y b)",  # Y b implies O b
    "#>(a) + #*(a) + #>(b) < 2*#>(#*(b) <= 0)",  # no b at all is an a here
    "!(2*#(b) < i + n | b)",  # without a b here there are fewer than i
    "#(#*(Y b) <= 0) >= i + #(#(H a) <= 3)",
]


@pytest.mark.parametrize("formula", ENDS)
def test_ends_and_what_stands_together_decide(formula: str) -> None:
    assert satisfiable(f"F O ({formula})", alphabet="ab", at="first") is None


def test_up_to() -> None:
    assert equivalent("#(a) > #(b)", "#(a) >= #(b)", alphabet="ab", up_to=1) is None
    assert equivalent("#(a) > #(b)", "#(a) >= #(b)", alphabet="ab", up_to=2) == "ab"
    assert equivalent("#(a) > #(b)", "#(a) >= #(b)", alphabet="abc", up_to=2) == "c"
    assert satisfiable("#(a) > #(b) + 2", alphabet="ab", up_to=9) == "aaa"
    with pytest.raises(SofthatError, match=r"at most \d+ symbols, and too many longer ones"):
        satisfiable("#(a) > #(b) & #(a) > 100 & (c | d | e | f | g | h | j | k)", up_to=99)


@pytest.mark.parametrize("seed", every(3, range(60)))
def test_what_is_said_is_true(seed: int) -> None:
    """Random formulas with counts: a proof is never contradicted by a short word."""
    rng = np.random.default_rng([2, seed])
    f, g = (random_formula(rng, int(rng.integers(4, 10)), "ab", "all") for _ in range(2))
    if seed % 2:
        g = f | (g & f)
    try:
        found = equivalent(f, g, alphabet="ab")
    except SofthatError:
        found = equivalent(f, g, alphabet="ab", up_to=7)
    for length in range(1, 8):
        batch = all_words("ab", length)
        differ = np.atleast_1d(unpack(evaluate(f ^ g, batch), batch.count).any(axis=1))
        assert differ.any() == (found is not None and len(found) <= length)
        if found is not None and len(found) == length:
            number = int(found.replace("a", "0").replace("b", "1"), 2)  # type: ignore[union-attr]
            assert differ[number] and not differ[:number].any()
            break
