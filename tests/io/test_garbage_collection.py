"""How often Python looks for cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import softhat
from softhat.io.garbage_collection import OBJECTS, rarely_collected


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(("before", "inside"), [(700, OBJECTS), (0, 0), (2 * OBJECTS, 2 * OBJECTS)])
def test_rarely_inside_and_as_before_afterwards(before: int, inside: int) -> None:
    gc.set_threshold(before, 10, 10)
    with pytest.raises(KeyError), rarely_collected():
        assert gc.get_threshold() == (inside, 10, 10)
        raise KeyError
    assert gc.get_threshold() == (before, 10, 10)


def test_those_that_overlap_leave_it_as_it_was() -> None:
    """As two threads do: the first to begin is the first to end."""
    gc.set_threshold(700, 10, 10)
    first, second = ExitStack(), ExitStack()
    first.enter_context(rarely_collected())
    second.enter_context(rarely_collected())
    first.close()
    assert gc.get_threshold()[0] == OBJECTS
    second.close()
    assert gc.get_threshold() == (700, 10, 10)


def test_a_certificate_leaves_it_as_it_was() -> None:
    gc.set_threshold(701, 10, 10)
    model = softhat.compile("#(a) >= #(b)", alphabet="ab")
    assert model.certificate.max_length["float32"] > 0
    assert model.linear_max_length() > 0
    assert gc.get_threshold() == (701, 10, 10)
