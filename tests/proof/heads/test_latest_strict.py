"""StrictLatest: recognised by its mask, with Latest's bounds, as Y of what Latest computes."""

from __future__ import annotations

from math import exp

import pytest

from softhat.io.errors import VoidError
from softhat.numerics.formats import FORMATS
from softhat.program.heads import Direction
from softhat.program.heads import StrictLatest as StrictLatestHead
from softhat.program.signals import Program
from softhat.proof.cells import Raw
from softhat.proof.heads.latest import StrictLatestKind
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention
from tests.proof.heads.suite import (
    ATTENTIONS,
    Derived,
    decided_far_away,
    one_head,
    outputs_within_bounds,
    scaled,
)

NAMES: dict[Direction, str] = {"past": "StrictLatest", "future": "StrictEarliest"}


def program_of(direction: Direction) -> Program:
    """`Y(a S b)`, mirrored `X(a U b)`."""
    return one_head(lambda a, b, _: StrictLatestHead(a, b, direction))


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("direction", NAMES)
def test_it_is_recognised_and_computes_what_is_before(
    direction: Direction, attention: Attention
) -> None:
    derived = Derived(lower(program_of(direction), attention))
    kind = derived.kind(NAMES[direction])
    assert isinstance(kind, StrictLatestKind) and kind.leak == exp(-4)
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
    program = program_of(direction)
    assert max(outputs_within_bounds(program, attention, decided_far_away(4), dtype)) > 0.5


def test_latest_s_conditions_are_its_own() -> None:
    with pytest.raises(VoidError, match="less than twice the slope"):
        Derived(scaled(lower(program_of("past"), "unbounded"), "query", 0, 0.5))
