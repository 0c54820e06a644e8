"""Every prefix up to a length, walked through the model with a bound of its rounding.

Prefixes form a tree: a longer one adds a row to the keys and values of the one before it. Subtrees
are walked in batches, each prefix once. What comes out is a proof where the margin exceeds its
bound, for a model of any depth, and a failure where the margin itself is on the wrong side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import thread_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softhat.trained.balls import Balls
from softhat.trained.concrete import PositionWalk, Prefixes, PrefixRows
from softhat.trained.decisions import Decisions
from softhat.trained.question import TrainedQuestion
from softhat.trained.rounding import Array
from softhat.trained.searching import Found
from softhat.trained.specification import FAR

MEMORY = 1 << 23
"""Numbers that the keys and values of one batch may hold."""
CLOSE = 16
"""So many outputs, at most, that balls do not tell from the answer are looked at one by one."""
FAILURES = 20
"""Failures that are kept of one walk: the shortest."""
UNSURE = 50_000
"""Prefixes that are kept to be looked at more closely."""
Ints = NDArray[np.int64]


@dataclass
class Enumerated:
    """What a walk over all prefixes of at most `depth` symbols showed."""

    depth: int
    whole: bool
    """There are no longer prefixes."""
    open_from: int = FAR
    """The length of the shortest word with a decision that is not proved."""
    least: dict[int, float] = field(default_factory=dict)
    """The least proved margin of the words of each length."""
    least_found: float = np.inf
    failures: list[Found] = field(default_factory=list)
    walked: int = 0
    unsure: list[tuple[int, tuple[int, ...], int]] = field(default_factory=list)
    """Prefixes for which balls do not do: the length, the prefix and the state."""
    closer: float = 0.0
    """Seconds for them."""

    def proved(self, most: int) -> int:
        """Up to which length every word is proved."""
        return min(most if self.whole else self.depth, self.open_from - 1)


class Depth(NamedTuple):
    """How far a walk goes."""

    level: int
    prefixes: int
    whole: bool
    """There are no longer prefixes."""


@dataclass(frozen=True)
class _Batch:
    """Prefixes of one length: symbols, states, and queries, keys and values of each layer."""

    words: Ints
    states: Ints
    rows: tuple[PrefixRows, ...]


class OutOfTimeError(Exception):
    """The walk did not end in time; nothing is said of what it left out."""


class Enumeration:
    """The tree of prefixes that words of at most `most` symbols show, at one offset."""

    def __init__(self, question: TrainedQuestion) -> None:
        self.model, self.spec, self.offset = question.model, question.spec, question.offset
        self.most, self.need, self.rounding = question.most, question.need, question.rounding
        self.decisions = Decisions(self.spec, self.model.outputs)
        self.ids = np.array(self.spec.ids)
        self.positions = PositionWalk(self.model, self.offset, self.rounding)
        self.trusted: dict[tuple[int, int, int], float] = {}
        """Lower bounds of margins that are proved already: by symbols read, the last, the state."""

    def depth(self, prefixes: float) -> Depth:
        """The deepest level to which there are at most so many prefixes; -1 if not even the empty
        prefix is asked for."""
        counts = {self.spec.start: 1} if self.need[self.spec.start] <= self.most else {}
        level, walked, total = -1, 0, len(counts)
        while counts and (level < 0 or total <= prefixes):
            level, walked = level + 1, total
            counts = self._longer(counts, level + 1)
            total += sum(counts.values())
        return Depth(level, walked, not counts)

    def _longer(self, counts: dict[int, int], read: int) -> dict[int, int]:
        after: dict[int, int] = {}
        if read > self.most:
            return after
        for state, count in counts.items():
            for to in self.spec.step[state]:
                if to >= 0 and read + self.need[to] <= self.most:
                    after[int(to)] = after.get(int(to), 0) + count
        return after

    def walk(
        self,
        depth: int,
        deadline: float,
        closely: float,
        show: Callable[[int], None] = lambda _: None,
    ) -> Enumerated:
        """All prefixes of at most `depth` symbols. Balls that are too coarse are walked again, one
        by one, until `closely`. Raises OutOfTimeError at the deadline."""
        result = Enumerated(depth, True)
        if self.need[self.spec.start] > self.most:
            return result
        empty = _Batch(np.zeros((1, 0), np.int64), np.array([self.spec.start]), ())
        todo = [self._row(empty, np.array([self.spec.bos]), result)]
        while todo:
            if thread_time() > deadline:
                raise OutOfTimeError
            batch = todo.pop()
            read = batch.words.shape[1] + 1
            step = self.spec.step[batch.states]
            asked = (step >= 0) & (read + self.need[step] <= self.most)
            if read > depth:
                result.whole &= not asked.any()
                continue
            row, symbol = np.nonzero(asked)
            per = max(1, MEMORY // (3 * self.model.width * len(self.model.blocks) * (read + 1)))
            for at in range(0, len(row), per):
                parent, last = row[at : at + per], symbol[at : at + per]
                words = np.concatenate([batch.words[parent], last[:, None]], 1)
                states = step[parent, last]
                rows = tuple(layer.chosen(parent) for layer in batch.rows)
                longer = _Batch(words, states, rows)
                todo.append(self._row(longer, self.ids[last], result))
                show(result.walked)
        result.failures.sort(key=lambda f: (f.length, len(f.word), f.word))
        self._closer(result, closely)
        return result

    def _row(self, batch: _Batch, ids: Ints, result: Enumerated) -> _Batch:
        """Walk the last position of each prefix, and note what its logits say."""
        lengths = batch.words.shape[1] + self.need[batch.states]
        asked = self.spec.decided[batch.states] & (lengths <= self.most)
        with np.errstate(all="ignore"):
            rows, read = self.positions.longer(batch.rows, ids, asked)
            result.walked += len(asked)
            self._note(batch.words[asked], batch.states[asked], read, result)
        return _Batch(batch.words, batch.states, rows)

    def _bounds(self, stream: Balls, states: Ints) -> tuple[Array, Array]:
        """Margins after each prefix, and lower bounds. Where balls do not do, those of the outputs
        in question are followed back, unless they are many."""
        each, bound = self.decisions.apart(self.positions.logits(stream), states)
        right = each.min(-1) > 0
        again = np.flatnonzero(right & ~(bound > 0).all(-1))
        if not len(again) or self.model.activation.bend is None:
            return each.min(-1), bound.min(-1)
        last = self.positions.last
        errors, some = last.rows(stream.chosen(again)), states[again]
        closer = self.decisions.apart(last.outputs(errors), some)[1]
        open_ones = ~(closer > 0)
        open_ones &= (np.count_nonzero(open_ones, -1) <= CLOSE)[:, None]
        row, output = np.nonzero(open_ones)
        followed = last.followed(errors, self.decisions.differences(row, output, some))
        closer[row, output] = np.fmax(closer[row, output], followed)
        bound[again] = np.fmax(bound[again], closer)
        return each.min(-1), bound.min(-1)

    def _note(self, words: Ints, states: Ints, stream: Balls, result: Enumerated) -> None:
        if not len(words):
            return
        read = words.shape[1]
        lengths = read + self.need[states]
        exact, proved = self._bounds(stream, states)
        result.least_found = min(result.least_found, float(np.nanmin(exact, initial=np.inf)))
        for at in np.flatnonzero(~(exact > 0)):
            margin = float(exact[at]) if not np.isnan(exact[at]) else -np.inf
            word = tuple(words[at].tolist())
            result.failures.append(Found(word, int(states[at]), margin, int(lengths[at])))
            result.open_from = min(result.open_from, int(lengths[at]))
        if len(result.failures) > 4 * FAILURES:
            result.failures.sort(key=lambda f: (f.length, len(f.word), f.word))
            del result.failures[FAILURES:]
        unsure = np.flatnonzero(~(proved > 0) & (exact > 0))
        if self.trusted and read:
            keys = zip(words[unsure, -1].tolist(), states[unsure].tolist(), strict=True)
            proved[unsure] = [self.trusted.get((read, *key), -np.inf) for key in keys]
            unsure = unsure[~(proved[unsure] > 0)]
        for at in unsure:
            if len(result.unsure) < UNSURE:
                word = tuple(words[at].tolist())
                result.unsure.append((int(lengths[at]), word, int(states[at])))
            else:
                result.open_from = min(result.open_from, int(lengths[at]))
        good = proved > 0
        for length in np.unique(lengths[good]):
            margin = float(proved[good & (lengths == length)].min())
            result.least[int(length)] = min(result.least.get(int(length), np.inf), margin)

    def _closer(self, result: Enumerated, deadline: float) -> None:
        """Walk prefixes whose balls were too coarse once more, with errors as generators: those of
        short words first, until one is not proved."""
        started = thread_time()
        prefixes = Prefixes(self.model, self.offset, self.rounding)
        for length, word, state in sorted(result.unsure):
            margin = -np.inf
            if length < result.open_from and thread_time() < deadline:
                ids = [self.spec.bos, *self.ids[list(word)].tolist()]
                try:
                    with np.errstate(all="ignore"):
                        margin = self.decisions.lower(prefixes.logits(ids), state)
                except FloatingPointError:
                    pass
            if not margin > 0:
                result.open_from = min(result.open_from, length)
                break
            result.least[length] = min(result.least.get(length, np.inf), margin)
        result.unsure.clear()
        result.closer = thread_time() - started
