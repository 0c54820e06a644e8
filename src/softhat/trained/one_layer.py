"""The proof for models of one layer: every cell's set of activations, through to its margins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import thread_time

import numpy as np

from softhat.trained.decisions import Decisions
from softhat.trained.first_layer import Cell, FirstLayer
from softhat.trained.question import TrainedQuestion
from softhat.trained.specification import Specification
from softhat.trained.walk import feed_forward, logits, tail
from softhat.trained.zonotopes import ActivationSet

PIECES = 300
"""A cell's set is cut into at most so many pieces."""
TOGETHER = 12
"""More states than this, with one last symbol and one decision, are proved together first."""
WAVE = 64
"""Cells whose sets are computed at a time."""
PATIENCE = 0.1
"""Of the time that is left, for cutting one cell's set into pieces."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of a cell."""

    cell: Cell
    """The words that it is about."""
    length: int
    """From this length on they count."""
    margin: float
    """A lower bound of the margins of all its words, if `proved`."""
    proved: bool
    set: ActivationSet | None = None
    """What the last layer's attention can give, for a search that starts from there."""


def cells_to(question: TrainedQuestion) -> list[Cell]:
    """All cells that the words show, short ones first. States with one decision are together where
    they are many."""
    spec, most = question.spec, question.most
    reached = spec.reachable(most)
    cells = []
    for read in range(1, most + 1):
        for last in range(len(spec.symbols)):
            states = np.unique(spec.step[reached[read - 1], last])
            good = [
                int(state)
                for state in states
                if state >= 0 and spec.decided[state] and question.length(int(state), read) <= most
            ]
            if len(good) <= TOGETHER:
                cells += [Cell(read, last, (state,)) for state in good]
                continue
            groups: dict[frozenset[int], list[int]] = {}
            for state in good:
                groups.setdefault(spec.allowed[state], []).append(state)
            cells += [Cell(read, last, tuple(group)) for group in groups.values()]
    return cells


def cell_length(question: TrainedQuestion, cell: Cell) -> int:
    """From which length on the first of a cell's words counts."""
    return min(question.length(state, cell.read) for state in cell.states)


class OneLayer:
    """Proves cells of a model of one layer."""

    def __init__(self, question: TrainedQuestion) -> None:
        self.question, self.model, self.spec = question, question.model, question.spec
        self.rounding = question.rounding
        self.decisions = Decisions(self.spec, self.model.outputs)
        self.first = FirstLayer(question)

    def prove(
        self, cells: Sequence[Cell], deadline: float, limit: Callable[[], int]
    ) -> Iterator[Outcome]:
        """An outcome for each cell, in their order; cells that fail together are split. Cells that
        only words beyond the limit show are left out. It ends at the deadline."""
        todo = list(cells)
        wave = 4
        while todo and thread_time() < deadline:
            started = thread_time()
            now, todo = todo[:wave], todo[wave:]
            now = [cell for cell in now if cell_length(self.question, cell) <= limit()]
            if not now:
                continue
            again: list[Cell] = []
            for cell, stream in zip(now, self.first.zonotopes(now), strict=True):
                length = cell_length(self.question, cell)
                many = len(cell.states) > 1
                left = deadline - thread_time()
                if left <= 0:
                    return
                end = thread_time() + PATIENCE * left
                margin, proved = self.cell(stream, cell.states[0], 4 if many else PIECES, end)
                if proved or not many:
                    yield Outcome(cell, length, margin, proved, stream)
                else:
                    again += _halves(cell, self.spec)
            todo = again + todo
            if len(now) == wave and thread_time() - started < 1:
                wave = min(2 * wave, WAVE)

    def cell(
        self, stream: ActivationSet | None, state: int, pieces: int, deadline: float = np.inf
    ) -> tuple[float, bool]:
        """A lower bound of the margins over a set, and whether it is positive."""

        def bound(piece: ActivationSet) -> PieceBound:
            margin = self.margin(piece, state)
            if margin > 0:  # false for NaN
                return PieceBound(margin, True)
            at_centre = self.decisions.margins(
                tail(piece.centre, self.model, len(self.model.blocks) - 1), np.asarray(state)
            )
            return PieceBound(margin, False, self.halves if at_centre > 0 else None)

        return in_pieces(stream, bound, pieces, deadline)

    def margin(self, stream: ActivationSet, state: int) -> float:
        block = self.model.blocks[-1]
        try:
            with np.errstate(all="ignore"):
                after = feed_forward(stream, block, self.model, self.rounding)
                return self.decisions.lower(logits(after, self.model, self.rounding), state)
        except FloatingPointError:
            return -np.inf

    def halves(self, stream: ActivationSet) -> list[ActivationSet]:
        """Cut across the generator that moves the units most."""
        block = self.model.blocks[-1]
        y = stream.normalised(block.before_units, self.model.epsilon, self.rounding)
        moved = np.abs(y.generators[: len(stream.generators)] @ block.units.weight).sum(1)
        return cut(stream, int(moved.argmax()))


@dataclass(frozen=True, slots=True)
class PieceBound:
    """A lower bound of the margins over a set: is it enough, and how is the set cut if not?"""

    margin: float
    proved: bool
    halves: Callable[[ActivationSet], list[ActivationSet]] | None = None


def in_pieces(
    stream: ActivationSet | None,
    bound: Callable[[ActivationSet], PieceBound],
    pieces: int,
    deadline: float,
) -> tuple[float, bool]:
    """A lower bound of the margins over a set, which is cut until each of its pieces, of which
    there are at most so many, is proved; and whether that was done."""
    if stream is None:
        return -np.inf, False
    todo, least, count = [stream.folded()], np.inf, 0
    while todo:
        piece = todo.pop()
        count += 1
        bounded = bound(piece)
        if bounded.proved:
            least = min(least, bounded.margin)
            continue
        late = count > 1 and thread_time() > deadline
        if bounded.halves is None or count + len(todo) >= pieces or late:
            return bounded.margin, False
        try:
            todo += bounded.halves(piece)
        except FloatingPointError:
            return bounded.margin, False
    return float(least), True


def cut(stream: ActivationSet, generator: int) -> list[ActivationSet]:
    """The two halves of a set along one generator; the halves' centres are rounded outward."""
    generators = stream.generators.copy()
    generators[generator] /= 2
    step = generators[generator]
    error = stream.error + 2.0**-52 * (np.abs(stream.centre) + np.abs(step))
    return [
        replace(stream, centre=stream.centre + sign * step, generators=generators, error=error)
        for sign in (1.0, -1.0)
    ]


def _halves(cell: Cell, spec: Specification) -> list[Cell]:
    """States apart by how much they still need and when they are met: counters come in order."""
    states = sorted(cell.states, key=lambda state: (int(spec.need[state]), state))
    middle = len(states) // 2
    return [replace(cell, states=tuple(half)) for half in (states[:middle], states[middle:])]
