"""Deciding at one offset: walk the short words, search, prove, and search where the proof fails.

Most models that break do so at once, so the search comes first. A failure says how far a proof can
go at all: only shorter words are looked at from then on. The proof takes cells in the order of the
words that show them; where it fails, the search starts from there, so that both meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import thread_time

import numpy as np

from softhat.io.errors import SofthatError
from softhat.io.work.progress import Show
from softhat.trained.enumeration import Enumerated, Enumeration, OutOfTimeError
from softhat.trained.first_layer import Cell
from softhat.trained.one_layer import OneLayer, Outcome, cell_length, cells_to
from softhat.trained.question import TrainedQuestion
from softhat.trained.refinement import refined
from softhat.trained.replay import Replays
from softhat.trained.searching import Found, Search
from softhat.trained.specification import FAR, Specification
from softhat.trained.two_layers import TwoLayers
from softhat.trained.verdict import Failure, OpenCell

ABSTRACTION, ENUMERATION = "abstraction", "enumeration"
FEW = 3_000
"""So many prefixes are walked before anything else."""
CLOSELY = 0.02
"""Of the time, for prefixes whose balls of errors are too coarse."""
AT_FIRST, AT_LAST = 0.3, 0.9
"""The same where these are all that is left: before the abstraction, and after it."""
STATES = 5_000
"""States of a machine for the abstraction."""
REFINEMENTS = ((1, False), (2, False), (1, True))
"""Machines for two layers, one after the other: symbols remembered, and whether all are counted."""
GIVEN_UP = 3
"""After so many cells that are not proved, a finer machine is tried."""
DEEPER = 0.5
"""The share of the time left that a last walk of all prefixes may take."""


@dataclass
class Knowledge:
    """What is known at one offset. Its parts are filled as the work goes on, so that they stand
    when it is interrupted."""

    offset: int
    asked: int
    """Words of at most so many symbols are asked for."""
    walked_to: int = -1
    """Proved by enumeration."""
    outcomes: dict[Cell, Outcome] = field(default_factory=dict)
    pending: dict[tuple[int, int, int], int] = field(default_factory=dict)
    """Cells that the abstraction has not decided, with the length that they show at."""
    abstract: bool = False
    """The abstraction has cells for all that is asked: what is not pending is decided."""
    margins: list[tuple[int, float]] = field(default_factory=list)
    found: Found | None = None
    """The shortest word that breaks the model, as the search or the walk gave it."""
    failure: Failure | None = None
    """The same as the stock class computes it."""
    words: int = 0
    least_found: float = np.inf

    @property
    def proved_to(self) -> int:
        """Every word of at most so many symbols is proved."""
        proved = self.walked_to
        if self.abstract:
            bad = [o.length for o in self.outcomes.values() if not o.proved]
            proved = max(proved, min([*bad, *self.pending.values(), FAR]) - 1)
        if self.failure is not None:
            proved = min(proved, self.failure.length - 1)
        return min(proved, self.asked)

    def methods(self) -> dict[int, str]:
        """How each proved length was decided."""
        return {
            length: ENUMERATION if length <= self.walked_to else ABSTRACTION
            for length in range(self.proved_to + 1)
        }

    def least_margins(self, proved: int) -> Iterator[float]:
        """Lower bounds of the margins of all words up to a length that is proved."""
        yield from (margin for length, margin in self.margins if length <= proved)
        for outcome in self.outcomes.values():
            if outcome.proved and self.walked_to < outcome.length <= proved:
                yield outcome.margin

    def open_cells(self, spec: Specification) -> Iterator[OpenCell]:
        """Cells whose proof failed, beyond what is proved by enumeration."""
        for outcome in self.outcomes.values():
            if outcome.proved or outcome.length <= self.walked_to:
                continue
            cell, margin = outcome.cell, outcome.margin
            yield OpenCell(
                cell.read, spec.symbols[cell.last], spec.names[cell.states[0]], self.offset,
                outcome.length, margin if np.isfinite(margin) else None,
            )  # fmt: skip


@dataclass
class Offset:
    """The work at one offset."""

    question: TrainedQuestion
    replays: Replays
    show: Show
    seed: int
    patience: float
    """Seconds of search without success."""

    def __post_init__(self) -> None:
        question = self.question
        self.model, self.spec = question.model, question.spec
        self.offset, self.most = question.offset, question.most
        self.known = Knowledge(self.offset, self.most)
        self._rate = np.inf
        self.search = Search(question, self.seed)
        self.tree = Enumeration(question)

    def decide(self, deadline: float) -> None:
        """Fill `known` until everything is decided or the time is over."""
        try:
            self._walk(FEW, deadline, CLOSELY)
            if not self._done():
                self._look(deadline)
            if not self._done() and self._abstractable():
                self._deeper(deadline, AT_FIRST)
                if not self._done():
                    self._abstract(deadline)
                    self._deeper(deadline, AT_LAST)
                    self._meet(deadline)
            elif not self._done():
                self._deeper(deadline, AT_LAST)
                if self.known.failure is None:
                    self._report(self.search.evolve(self.limit, deadline))
                self._shrink(self.known.proved_to, deadline)
        finally:
            self.known.words += self.search.tried
            self.known.least_found = min(self.known.least_found, self.search.least)

    @property
    def limit(self) -> int:
        """Longer words need not be looked at."""
        failure = self.known.failure
        return self.most if failure is None else failure.length - 1

    def _abstractable(self) -> bool:
        """Machines with very many states are trees of words: those are walked."""
        return len(self.model.blocks) <= 2 and self.spec.states <= STATES

    def _done(self) -> bool:
        return self.known.proved_to >= self.limit

    # Enumeration

    def _walk(self, prefixes: float, deadline: float, closely: float) -> None:
        """Walk all prefixes as far as there are at most so many; `closely` is the share of the time
        for those whose balls of errors are too coarse, unless nothing else can be done."""
        depth = self.tree.depth(prefixes)
        whole = depth.whole or depth.level >= self.limit
        started = thread_time()
        left = max(0.0, deadline - started)
        end = started + left * (AT_LAST if whole and not self._abstractable() else closely)
        try:
            seen = self.tree.walk(
                depth.level,
                deadline,
                end,
                lambda at: self.show("prefixes", at, depth.prefixes, ""),
            )
        except OutOfTimeError:
            self._rate = np.inf
            return
        self._rate = (thread_time() - started - seen.closer) / max(1, seen.walked)
        self._note(seen)

    def _note(self, seen: Enumerated) -> None:
        known = self.known
        known.words += seen.walked
        known.least_found = min(known.least_found, seen.least_found)
        for failure in seen.failures:
            if self._report(failure):
                break
        if seen.proved(self.most) > known.walked_to:
            known.walked_to = seen.proved(self.most)
        known.margins += seen.least.items()

    def _deeper(self, deadline: float, closely: float) -> None:
        """Walk all prefixes of words up to the limit, if that takes less than half of the time."""
        if self._done() or not np.isfinite(self._rate):
            return
        affordable = DEEPER * (deadline - thread_time()) / max(self._rate, 1e-7)
        self.tree.trusted = {
            (cell.read, cell.last, state): outcome.margin
            for cell, outcome in self.known.outcomes.items()
            if outcome.proved
            for state in cell.states
        }
        depth = self.tree.depth(affordable)
        whole = depth.whole or depth.level >= self.limit
        if depth.level > self.known.walked_to and (whole or not self._abstractable()):
            self._walk(affordable, deadline, closely)

    # Search

    def _look(self, deadline: float) -> None:
        """Search for a failure, and for shorter ones."""
        if self.known.failure is None:
            self._report(
                self.search.evolve(self.most, min(deadline, thread_time() + self.patience))
            )
        self._shrink(self.known.proved_to, deadline)

    def _shrink(self, proved_to: int, deadline: float) -> None:
        if self.known.found is not None:
            self._report(self.search.shrink(self.known.found, proved_to, deadline, self.patience))

    def _meet(self, deadline: float) -> None:
        """Where the proof failed and no failure was found there: search once more."""
        if self._done():
            return
        if self.known.failure is None:
            self._report(self.search.evolve(self.most, min(deadline, thread_time() + 10)))
        self._shrink(self.known.proved_to, deadline)

    def _report(self, candidate: Found | None) -> bool:
        """Keep a failure if it is shorter, and one where it counts: in the stock class."""
        if candidate is None or candidate.length > self.limit:
            return False
        failure = self.replays.failure(candidate, self.offset)
        if failure is None:
            return False
        self.known.found, self.known.failure = candidate, failure
        return True

    # Abstraction

    def _abstract(self, deadline: float) -> None:
        """Prove cell by cell, and search from each that fails."""
        known, question = self.known, replace(self.question, most=self.limit)
        cells = [
            cell for cell in cells_to(question)
            if max(question.length(q, cell.read) for q in cell.states) > known.walked_to
        ]  # fmt: skip
        cells.sort(key=lambda cell: (cell_length(question, cell), cell.read))
        self._expect(cells)
        end = deadline - 0.2 * max(0.0, deadline - thread_time())
        one = OneLayer(question) if len(self.model.blocks) == 1 else None
        for outcome in proofs(question, cells, end, lambda: self.limit, one):
            cell = outcome.cell
            known.outcomes[cell] = outcome
            for state in cell.states:
                known.pending.pop((cell.read, cell.last, state), None)
            self.show("symbols read", cell.read, self.limit, f"{len(known.outcomes):,} cells")
            if not outcome.proved and one is not None:
                self._report(self.search.guided(one.first, outcome))

    def _expect(self, cells: Sequence[Cell]) -> None:
        """Note what has to be decided. The decision before the first symbol belongs to no cell."""
        known, spec, question = self.known, self.spec, self.question
        for cell in cells:
            for state in cell.states:
                length = question.length(state, cell.read)
                known.pending[cell.read, cell.last, state] = length
        empty = question.length(spec.start, 0)
        if known.walked_to < empty <= self.most and spec.decided[spec.start]:
            seen = self.tree.walk(0, np.inf, np.inf)
            known.margins += seen.least.items()
            if seen.open_from <= empty:
                known.pending[0, -1, spec.start] = empty
        known.abstract = True


def proofs(
    question: TrainedQuestion,
    cells: Sequence[Cell],
    end: float,
    limit: Callable[[], int] = lambda: FAR,
    one: OneLayer | None = None,
) -> Iterator[Outcome]:
    """Outcomes of cells by abstraction, for a model of one layer (`one` proves them, if given) or
    of two: there finer machines are tried until every cell is proved."""
    if len(question.model.blocks) == 1:
        one = one or OneLayer(question)
        yield from one.prove(cells, end, limit)
        return
    left, failed = list(cells), list[Outcome]()
    for memory, counts in REFINEMENTS:
        try:
            finer = refined(question.spec, memory, counts, question.most)
        except SofthatError:
            continue
        two = TwoLayers(question, finer)
        failed = []
        done = set[Cell]()
        for outcome in two.prove(left, end, limit):
            if outcome.proved:
                done.add(outcome.cell)
                yield outcome
            else:
                failed.append(outcome)
                if len(failed) >= GIVEN_UP:
                    break
        left = [cell for cell in left if cell not in done]
        if not left:
            return
    yield from failed
