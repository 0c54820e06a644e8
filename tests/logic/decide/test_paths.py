"""What a linear form can come to, against its values on all short words by definition."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from softhat.logic.core import to_core
from softhat.logic.decide.letters import Letters
from softhat.logic.decide.paths import Paths, paths_of
from softhat.logic.linear import LinearForm, difference
from softhat.logic.random import random_formula
from softhat.logic.syntax.nodes import Comparison, Formula
from softhat.logic.syntax.parse import parse
from tests.logic import oracle
from tests.slices import every

AB = Letters(("a", "b"), False)
WORDS = ["".join(word) for n in range(1, 8) for word in product("ab", repeat=n)]
LOOKS_BACK = ("a", "Y a", "a S b", "O b", "mod(3, 1)", "first", "Y first & b", "H a", "Y Y b")
LOOKS_AHEAD = ("b", "X a", "a U b", "G a", "last", "X X a")


def form_of(text: str) -> LinearForm:
    comparison = parse(text)
    assert isinstance(comparison, Comparison)
    form = difference(comparison)
    past, future, total = (
        tuple((a, to_core(formula)) for a, formula in side)
        for side in (form.past, form.future, form.total)
    )
    return LinearForm(past, future, total, form.constant)


def values(form: LinearForm, word: str) -> list[int]:
    """The form at each position, counted one by one."""
    held = {formula: oracle.truth(formula, word) for _, formula in form.terms}
    found = []
    for i in range(len(word)):
        value = form.constant
        value += sum(a * sum(held[f][: i + 1]) for a, f in form.past)
        value += sum(a * sum(held[f][i:]) for a, f in form.future)
        value += sum(a * sum(held[f]) for a, f in form.total)
        found.append(value)
    return found


def known(form: LinearForm) -> Paths:
    paths = paths_of(form, AB)
    assert paths is not None
    return paths


def random_form(rng: np.random.Generator, pool: list[Formula]) -> LinearForm:
    sides = [
        tuple(
            {
                pool[k]: (int(a), pool[k])
                for k, a in zip(
                    rng.integers(0, len(pool), size), rng.integers(-3, 4, size), strict=True
                )
                if a
            }.values()
        )
        for size in rng.integers(0, 3, 3)
    ]
    return LinearForm(sides[0], sides[1], sides[2], int(rng.integers(-3, 4)))


def check(seed: int) -> None:
    rng = np.random.default_rng([41, seed])
    pool = [to_core(parse(text)) for text in (LOOKS_BACK, LOOKS_AHEAD)[seed % 2]]
    if seed % 2 == 0:
        pool += [to_core(random_formula(rng, 6, "ab", "past")) for _ in range(2)]
    form = random_form(rng, pool)
    paths = known(form)
    edge = -1 if str(paths.edge) == "last" else 0
    least, greatest, most = paths.least, -paths.negated().least, int(rng.integers(0, 3))
    meets, meets_there = paths.meets(most), paths.ending_here().meets(most)
    seen = [values(form, word) for word in WORDS]
    low, high = min(map(min, seen)), max(map(max, seen))
    assert least <= low and high <= greatest
    met = any(0 <= value <= most for row in seen for value in row)
    assert meets is not False or not met
    assert meets is not True or (least <= most and greatest >= 0)
    assert meets_there is not False or not any(0 <= row[edge] <= most for row in seen)
    if least > -math.inf and greatest < math.inf:  # the same few values again and again
        assert (low, high) == (least, greatest) and met == meets


@pytest.mark.parametrize("seed", every(3, range(150)))
def test_no_word_shows_another_value(seed: int) -> None:
    check(seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(150, 3000))
def test_no_word_shows_another_value_full(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize(
    ("text", "least", "greatest"),
    [
        ("#(a) >= 0", 0, math.inf),
        ("#(a) - i >= 0", -math.inf, 0),
        ("3*#(Z !a) - #(b & mod(3, 0)) >= 0", 2, math.inf),
        ("3 + 3*#*(O mod(4, 3)) - #*(H b) >= 0", 1, math.inf),
        ("#(a) + #>(a) - #*(a) >= 0", 0, 1),
        ("#*(a) + #*(b) - n >= 0", 0, 0),
        ("#>(X a) - #>(a) >= 0", -1, 0),
        ("#(first) - 5 >= 0", -4, -4),
    ],
)
def test_least_and_greatest(text: str, least: float, greatest: float) -> None:
    paths = known(form_of(text))
    assert (paths.least, -paths.negated().least) == (least, greatest)


@pytest.mark.parametrize(
    ("text", "meets"),
    [
        ("#(!a) + i - 1 - #(H a) >= 0", False),
        ("#(O a) - 3*#(Y a) - 2*#(b) >= 0", False),
        ("2*#(a) - 3 >= 0", False),
        ("2*#(a) - 4 >= 0", True),
        ("2*#(a) - 2*#(b) - 1 >= 0", None),  # sums rise and fall without end
    ],
)
def test_zero(text: str, meets: bool | None) -> None:
    assert known(form_of(text)).meets(0) is meets


def test_the_edge() -> None:
    paths = known(form_of("2*#*(a) - #>(b) >= 0"))
    assert paths.meets(0) is None and paths.ending_here().meets(0) is False


def test_huge_numbers() -> None:
    huge = 10**400
    form = LinearForm(((huge, parse("a")),), (), (), -huge)
    assert known(form).least == -huge and known(form).meets(0) is True


def test_large_machines_are_left_alone() -> None:
    assert paths_of(form_of(f"#(mod({10**100}, 1)) >= 0"), AB) is None
    many = Letters(tuple(f"p{k}" for k in range(20)), True)
    assert paths_of(form_of("#(p1) >= 0"), many) is None


@pytest.mark.parametrize(
    "text", ["#(X a) - #(Y a) >= 0", "#(#(a) > 1) - 3 >= 0", "#(at(prime)) >= 0"]
)
def test_what_is_left_alone(text: str) -> None:
    assert paths_of(form_of(text), AB) is None
