"""StrictLatest: recognised by its mask, with Latest's bounds, as Y of what Latest computes."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from softhat.formats import FORMATS
from softhat.lowering.lower import lower
from softhat.program.draft import Draft
from softhat.program.heads import Direction
from softhat.program.heads import StrictLatest as StrictLatestHead
from softhat.program.signals import Program
from softhat.proof.cells import Raw, VoidError
from softhat.proof.heads.strict_latest import StrictLatest
from softhat.transformer.weights import Attention
from tests.proof.heads.suite import ATTENTIONS, Derived, outputs_within_bounds, scaled

NAMES: dict[Direction, str] = {"past": "StrictLatest", "future": "StrictEarliest"}


def program_of(direction: Direction) -> Program:
    draft = Draft("abc")
    head = StrictLatestHead(draft.token(["a"]), draft.token(["b"]), direction)
    return draft.finish({"out": draft.add(head, "head")})


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("direction", NAMES)
def test_it_is_recognised_and_computes_what_is_before(
    direction: Direction, attention: Attention
) -> None:
    derived = Derived(lower(program_of(direction), attention))
    kind = derived.kind(NAMES[direction])
    assert isinstance(kind, StrictLatest) and kind.leak == exp(-4)
    atoms = derived.atoms
    space = atoms.space
    since = atoms.since(space.symbol("a"), space.symbol("b"), direction, 0)
    (raw,) = (cell for cell in derived.attended if isinstance(cell, Raw))
    assert raw.function == atoms.previous(since, direction, 0)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("direction", NAMES)
@pytest.mark.parametrize("dtype", FORMATS)
def test_outputs_stay_within_the_bound(
    direction: Direction, attention: Attention, dtype: str
) -> None:
    rng = np.random.default_rng(4)
    n = 40
    far = np.array([1, *[0] * (n - 2), 2])
    words = [rng.integers(0, 3, n), np.ones(n, np.int64), far, far[::-1].copy()]
    assert max(outputs_within_bounds(program_of(direction), attention, words, dtype)) > 0.5


def test_latest_s_conditions_are_its_own() -> None:
    with pytest.raises(VoidError, match="less than twice the slope"):
        Derived(scaled(lower(program_of("past"), "unbounded"), "query", 0, 0.5))
