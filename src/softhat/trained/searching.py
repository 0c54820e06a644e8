"""Looking for words that break a model.

Two ways beside walking all prefixes (`enumeration`), each with what the other misses. *Evolution*:
words of the machine with small margins are cut, repeated, stretched and continued. *Guided*: where
a proof fails, the margin is linearised at the read; a Viterbi pass gives the word that minimises
the line, and again from there. Both compute in float64; what they find is replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from softhat.trained.decisions import Decisions
from softhat.trained.first_layer import FirstLayer
from softhat.trained.one_layer import Outcome
from softhat.trained.question import TrainedQuestion
from softhat.trained.rounding import Array
from softhat.trained.support import best_word
from softhat.trained.walk import forward, tail

POPULATION = 48
FRESH = 8
ROUNDS = 6
"""Of a guided search in one cell."""
WORK = 1 << 22
"""Entries of the attention of one batch."""


@dataclass(frozen=True, slots=True)
class Found:
    """A prefix (symbol numbers), its state, its margin in float64 and the length it shows at."""

    word: tuple[int, ...]
    state: int
    margin: float
    length: int


@dataclass
class Search:
    """Words of a specification, tried on a model at one offset."""

    question: TrainedQuestion
    seed: int = 0
    tried: int = 0
    least: float = np.inf
    decisions: Decisions = field(init=False)

    def __post_init__(self) -> None:
        self.model, self.spec = self.question.model, self.question.spec
        self.decisions = Decisions(self.spec, self.model.outputs)
        self.random = np.random.default_rng(self.seed)

    def margins(self, words: Sequence[Sequence[int]], most: int | None = None) -> list[Array]:
        """The margin after each prefix of each word, ∞ where nothing is asked."""
        most = self.question.most if most is None else most
        longest = max((len(word) for word in words), default=0)
        per = max(1, WORK // max(1, (longest + 1) ** 2 * self.model.heads))
        result: list[Array] = []
        for at in range(0, len(words), per):
            result += self._margins(words[at : at + per], most)
        self.tried += len(words)
        self.least = min([self.least, *(float(m.min()) for m in result)])
        return result

    def _margins(self, words: Sequence[Sequence[int]], most: int) -> list[Array]:
        longest = max(len(word) for word in words)
        ids, states = self.spec.batch(words, longest)
        with np.errstate(all="ignore"):
            logits = forward(self.model, ids, self.question.offset)
        margins = self.decisions.margins(logits, states)
        margins = np.where(np.isnan(margins), -np.inf, margins)
        read = np.arange(longest + 1)[None]
        lengths = read + self.question.need[states]
        asked = self.spec.decided[states] & (lengths <= most)
        margins = np.where(asked, margins, np.inf)
        return [margins[at, : len(word) + 1] for at, word in enumerate(words)]

    def found(self, word: Sequence[int], margin: float) -> Found:
        state = self.spec.run(word)[-1]
        return Found(tuple(word), state, margin, self.question.length(state, len(word)))

    # Evolution

    def walk(self, length: int, sticking: float, state: int, last: int | None) -> list[int]:
        """A random way through the machine; `sticking` is how often a symbol is repeated. Ways
        that end are taken at the last step only."""
        word: list[int] = []
        for left in range(length, 0, -1):
            choices = self.spec.continuing[state] if left > 1 else self.spec.following[state]
            choices = choices if len(choices) else self.spec.following[state]
            if not len(choices):
                break
            if last is None or last not in choices or self.random.random() >= sticking:
                last = int(choices[self.random.integers(len(choices))])
            word.append(last)
            state = int(self.spec.step[state, last])
        return word

    def fresh(self, length: int) -> list[int]:
        sticking = self.random.choice([0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 1])
        return self.walk(length, float(sticking), self.spec.start, None)

    def changed(self, word: Sequence[int], to: int, length: int) -> list[int]:
        """Another word from a prefix of one: segments resampled, dropped, repeated, stretched or
        exchanged, as far as the machine goes along, and continued."""
        prefix = list(word[:to])
        random = self.random
        for _ in range(1 + random.integers(3)):
            if not prefix:
                break
            a = int(random.integers(len(prefix)))
            b = min(len(prefix), a + 1 + int(random.geometric(0.15)))
            match int(random.integers(5)):
                case 0:
                    state = self.spec.run(prefix[:a])[-1]
                    middle = self.walk(b - a, float(random.choice([0, 0.5, 0.9])), state, None)
                    other = prefix[:a] + middle + prefix[b:]
                case 1:
                    other = prefix[:a] + prefix[b:]
                case 2:
                    other = prefix[:b] + prefix[a:b] * int(random.integers(1, 6)) + prefix[b:]
                case 3:
                    other = prefix[:a] + [prefix[a]] * int(random.integers(1, 20)) + prefix[a:]
                case _:
                    c = int(random.integers(len(prefix)))
                    other = list(prefix)
                    other[a], other[c] = other[c], other[a]
            other = other[:length]
            if len(self.spec.run(other)) == len(other) + 1:
                prefix = other
        state = self.spec.run(prefix)[-1]
        sticking = float(random.choice([0, 0.5, 0.9, 0.99]))
        last = prefix[-1] if prefix else None
        return prefix + self.walk(length - len(prefix), sticking, state, last)

    def evolve(
        self, most: int, deadline: float, first: Sequence[Sequence[int]] = ()
    ) -> Found | None:
        """A failure that words of at most `most` symbols show, or None when the time is over."""
        population: list[tuple[float, int, list[int]]] = []
        new = [list(word)[:most] for word in first]
        new += [self.fresh(self._length(most)) for _ in range(2 * POPULATION)]
        while True:
            for word, margins in zip(new, self.margins(new, most), strict=True):
                at = int(margins.argmin())
                population.append((float(margins[at]), at, word))
            population.sort(key=lambda entry: entry[0])
            best: dict[tuple[int, ...], tuple[float, int, list[int]]] = {}
            for entry in population:
                best.setdefault(tuple(entry[2][: entry[1]]), entry)
            population = list(best.values())[:POPULATION]
            margin, at, word = population[0]
            if margin <= 0:
                return self.found(word[:at], margin)
            if thread_time() > deadline:
                return None
            new = [self.fresh(self._length(most)) for _ in range(FRESH)]
            for _ in range(POPULATION):
                _, at, word = population[int(len(population) * self.random.random() ** 2)]
                new.append(self.changed(word, at, self._length(most)))

    def _length(self, most: int) -> int:
        """Mostly the longest words: their prefixes are words too, unless answers come at ends."""
        if self.decisions.argmax and self.random.random() < 0.7:
            return int(self.random.integers(1, most + 1))
        return most

    def shrink(self, failure: Found, proved_to: int, deadline: float, patience: float) -> Found:
        """A failure that shorter words show, as long as one is found within the patience."""
        while failure.length > proved_to + 1 and thread_time() < deadline:
            end = min(deadline, thread_time() + patience)
            shorter = self.evolve(failure.length - 1, end, [failure.word])
            if shorter is None:
                break
            failure = shorter
        return failure

    # Guided by a failed proof

    def guided(self, first: FirstLayer, outcome: Outcome) -> Found | None:
        """The word of a cell with the least margin that linear steps lead to."""
        cell = outcome.cell
        if outcome.set is None:
            return None
        state = cell.states[0]
        rows = first.rows([cell])
        before = np.flatnonzero(rows.before[0]).tolist()
        parts = [
            (first.weights(head, [cell])[0][0], head.value.centre @ head.projection)
            for head in first.heads
        ]
        x = outcome.set.centre
        best: tuple[float, list[int]] | None = None
        for _ in range(ROUNDS):
            slope = self._slope(x, state)
            candidates = []
            for weights, projected in parts:
                word = best_word(
                    weights, -(projected @ slope), first.machine, cell.read, cell.last, before
                )
                if word is not None:
                    candidates.append(word)
            if not candidates:
                break
            self.tried += len(candidates)
            read = [self._read(first, parts, word, cell.last) for word in candidates]
            margins = self.decisions.margins(
                tail(np.array(read), self.model, 0), np.full(len(read), state)
            )
            at = int(margins.argmin())
            self.least = min(self.least, float(margins[at]))
            if best is not None and not margins[at] < best[0] - 1e-9:
                break
            best = (float(margins[at]), candidates[at])
            x = read[at]
        if best is None or best[0] > 0:
            return None
        return self.found(best[1], best[0])

    def _slope(self, x: Array, state: int) -> Array:
        step = 1e-4
        moved = step * np.eye(len(x))
        both = tail(np.concatenate([x + moved, x - moved]), self.model, 0)
        margins = self.decisions.margins(both, np.full(2 * len(x), state))
        slope: Array = (margins[: len(x)] - margins[len(x) :]) / (2 * step)
        return slope

    def _read(
        self,
        first: FirstLayer,
        parts: Sequence[tuple[Array, Array]],
        word: Sequence[int],
        last: int,
    ) -> NDArray[np.float64]:
        """The residual stream after attention at the end of a word."""
        tokens = np.array([0, *(k + 1 for k in word)])
        places = np.arange(len(tokens))
        stream: Array = (
            first.stream.centre[last + 1, len(word)] + self.model.blocks[0].projection.bias
        )
        for weights, projected in parts:
            heavy = weights[tokens, places]
            stream = stream + (heavy / heavy.sum()) @ projected[tokens, places]
        return stream
