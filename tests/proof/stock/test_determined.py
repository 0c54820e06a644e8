"""Exactly one token after every history: decided by diagrams, against all truth values."""

from __future__ import annotations

from itertools import product

import pytest

from softhat.io.errors import VoidError
from softhat.proof.boolean import Space
from softhat.proof.stock.determined import exactly_one


def tables(space: Space, count: int) -> list[int]:
    return [space.atom(("any", k), 1 << 20 + k) for k in range(count)]


def test_a_partition_passes_and_every_change_of_it_does_not() -> None:
    space = Space(("a", "b", "c"), False)
    x, y = tables(space, 2)
    no = space.negation
    cells = {
        "neither": space.both(no(x), no(y)),
        "x": space.both(x, no(y)),
        "y": space.both(no(x), y),
        "both a": space.both(space.both(x, y), space.symbol("a")),
        "both other": space.both(space.both(x, y), no(space.symbol("a"))),
    }
    exactly_one(space, cells, ["x"])
    for name in cells:
        with pytest.raises(VoidError, match="no token is allowed"):
            exactly_one(space, {**cells, name: space.false}, ["x"])
        with pytest.raises(VoidError, match="may both be allowed"):
            exactly_one(space, {**cells, name: space.true}, ["x"])


@pytest.mark.parametrize("at_start", [[], ["x", "y"]])
def test_one_token_before_the_first(at_start: list[str]) -> None:
    space = Space(("a",), False)
    with pytest.raises(VoidError, match="before the first"):
        exactly_one(space, {"x": space.true}, at_start)


@pytest.mark.parametrize("codes", list(product(range(4), repeat=3)))
def test_three_functions_of_two_bits(codes: tuple[int, ...]) -> None:
    """Each function is one of x, !x, x & y, x & !y: partitions found by brute force."""
    space = Space(("a",), False)
    x, y = tables(space, 2)
    made = [x, space.negation(x), space.both(x, y), space.both(x, space.negation(y))]
    meant = [
        lambda x, y: x,
        lambda x, y: not x,
        lambda x, y: x and y,
        lambda x, y: x and not y,
    ]
    wanted = all(
        sum(meant[code](p, q) for code in codes) == 1 for p, q in product((0, 1), repeat=2)
    )
    functions = {str(at): made[code] for at, code in enumerate(codes)}
    try:
        exactly_one(space, functions, ["0"])
    except VoidError:
        assert not wanted
    else:
        assert wanted
