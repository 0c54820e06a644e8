"""What a model should do: a machine over token ids, and what is decided after each state.

A specification is a JSON object, or is made from a formula, a regular expression or an automaton
(`languages`). Words are sequences of symbols; the model reads `bos` and then the word. After each
prefix the machine is in a state, and the state says which tokens have a positive logit ("sign"), or
which token has the largest ("argmax").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.io.files.reading import read_json

EOS = "<eos>"
FAR = 1 << 40
"""More symbols than any word has: from here no word of the language can be completed."""
MOST_STATES = 100_000
_KEYS = {"symbols", "bos", "eos", "decide", "start", "next", "allowed", "labels"}


@dataclass(frozen=True)
class Specification:
    """A deterministic machine with its decisions. States are numbered; `names` are for people."""

    symbols: tuple[str, ...]
    ids: tuple[int, ...]
    """Token id of each symbol."""
    bos: int
    eos: int | None
    decide: str
    names: tuple[str, ...]
    start: int
    step: NDArray[np.int64]
    """(states, symbols): the next state, -1 where the machine does not go on."""
    allowed: tuple[frozenset[int], ...]
    """For each state the ids of the tokens (or labels) with a positive logit, or the answer."""
    labels: tuple[tuple[str, int], ...] = ()
    """Names of answers that are not tokens: the classes of a token classifier."""

    def __repr__(self) -> str:
        symbols = " ".join(self.symbols[:10])
        return f"<softhat.Specification {self.states} states over {symbols}, by {self.decide}>"

    @property
    def states(self) -> int:
        return len(self.names)

    @cached_property
    def final(self) -> NDArray[np.bool_]:
        """Where words end: `<eos>` is allowed (everywhere, if nowhere), or an answer is asked."""
        if self.decide == "argmax":
            return np.array([bool(answer) for answer in self.allowed])
        ends = np.array([self.eos in allowed for allowed in self.allowed])
        return ends if ends.any() else np.ones(self.states, bool)

    @cached_property
    def need(self) -> NDArray[np.int64]:
        """How many symbols a word of the language still needs from each state."""
        need = np.where(self.final, 0, FAR)
        for _ in range(self.states):
            ahead = np.where(self.step >= 0, need[self.step] + 1, FAR).min(1, initial=FAR)
            better = np.minimum(need, ahead)
            if np.array_equal(better, need):
                break
            need = better
        return np.minimum(need, FAR)

    @cached_property
    def decided(self) -> NDArray[np.bool_]:
        """States after which something is claimed."""
        if self.decide == "sign":
            return np.ones(self.states, bool)
        return np.array([bool(answer) for answer in self.allowed])

    @cached_property
    def following(self) -> list[NDArray[np.int64]]:
        """By state, the symbols by which the machine goes on."""
        return [np.flatnonzero(row >= 0) for row in self.step]

    @cached_property
    def continuing(self) -> list[NDArray[np.int64]]:
        """Of these, the symbols after which it goes on once more."""
        return [
            np.array([k for k in row if len(self.following[self.step[q, k]])], np.int64)
            for q, row in enumerate(self.following)
        ]

    def length(self, state: int, read: int, domain: str) -> int:
        """The length of the shortest word that shows a decision made after `read` symbols."""
        return read + (int(self.need[state]) if domain == "completable" else 0)

    def run(self, word: Iterable[int]) -> list[int]:
        """The states after each prefix of a word of symbol numbers; it ends where the machine
        does."""
        states = [self.start]
        for symbol in word:
            state = int(self.step[states[-1], symbol])
            if state < 0:
                break
            states.append(state)
        return states

    def batch(
        self, words: Sequence[Sequence[int]], length: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(words, length + 1): token ids and states after each prefix, `bos` and the start beyond a
        word's end."""
        ids = np.full((len(words), length + 1), self.bos, np.int64)
        states = np.full((len(words), length + 1), self.start, np.int64)
        numbers = np.array(self.ids)
        for at, word in enumerate(words):
            ids[at, 1 : len(word) + 1] = numbers[list(word)]
            run = self.run(word)
            states[at, : len(run)] = run
        return ids, states

    def completion(self, state: int) -> list[int]:
        """Symbol numbers of a shortest way to the end of a word."""
        way = []
        while 0 < self.need[state] < FAR:
            row = self.step[state]
            good = [k for k in range(len(row)) if row[k] >= 0]
            symbol = min(good, key=lambda k: int(self.need[row[k]]))
            way.append(symbol)
            state = int(row[symbol])
        return way

    def reachable(self, most: int) -> NDArray[np.bool_]:
        """(most + 1, states): which states words of each length lead to."""
        reached = np.zeros((most + 1, self.states), bool)
        reached[0, self.start] = True
        for read in range(most):
            after = self.step[reached[read]]
            reached[read + 1, after[after >= 0]] = True
        return reached

    def check_fits(self, vocabulary: int, outputs: int, head: str) -> None:
        """Refuse a model that has no such tokens or answers."""
        for name, token in {
            "<bos>": self.bos,
            **dict(zip(self.symbols, self.ids, strict=True)),
        }.items():
            if token >= vocabulary:
                raise SofthatError(
                    f"the token id {token} of {name!r} is not in the model's vocabulary of "
                    f"{vocabulary}"
                )
        answers = {token for allowed in self.allowed for token in allowed}
        if answers and max(answers) >= outputs:
            raise SofthatError(
                f"the specification allows the id {max(answers)}, but the model has {outputs} "
                "outputs"
            )
        if self.labels and head == "GPT2LMHeadModel":
            raise SofthatError(
                "the specification has labels, but the checkpoint is a language model"
            )

    def name_of(self, token: int) -> str:
        """What people call a token id."""
        for name, label in self.labels:
            if label == token:
                return name
        if not self.labels:
            for symbol, number in zip(self.symbols, self.ids, strict=True):
                if number == token:
                    return symbol
            if token == self.eos:
                return EOS
            if token == self.bos:
                return "<bos>"
        return f"id {token}"

    def shown(self, word: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.symbols[k] for k in word)

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "symbols": dict(zip(self.symbols, self.ids, strict=True)),
            "bos": self.bos,
        }
        if self.eos is not None:
            document["eos"] = self.eos
        document["decide"] = self.decide
        if self.labels:
            document["labels"] = dict(self.labels)
        document["start"] = self.names[self.start]
        document["next"] = {
            name: {self.symbols[k]: self.names[to] for k, to in enumerate(self.step[q]) if to >= 0}
            for q, name in enumerate(self.names)
        }
        document["allowed"] = {
            name: [self.name_of(token) for token in sorted(self.allowed[q])]
            for q, name in enumerate(self.names)
        }
        return document


State = TypeVar("State", bound=Hashable)


def explored(
    start: State,
    after: Callable[[State], Iterable[State | None]],
    symbols: int,
    depth: float,
    most: int,
    what: str,
) -> tuple[list[State], list[list[int]]]:
    """The states that words of at most `depth` symbols lead to, in the order in which they are met,
    and their transitions by number: -1 where `after`, a state for each symbol, has None, and where
    nothing was explored any more. `what` is refused if it has more than `most` states."""
    place = {start: 0}
    steps: list[list[int]] = []
    layer = [start]
    while layer and depth > 0:
        fresh: list[State] = []
        for state in layer:
            row = []
            for to in after(state):
                if to is not None and to not in place:
                    place[to] = len(place)
                    fresh.append(to)
                row.append(-1 if to is None else place[to])
            steps.append(row)
        if len(place) > most:
            raise SofthatError(f"{what} has more than {most:,} states")
        layer, depth = fresh, depth - 1
    return list(place), steps + [[-1] * symbols for _ in layer]


def read_specification(document: Any) -> Specification:
    """A specification: itself, a mapping, or the name of a JSON file."""
    if isinstance(document, Specification):
        return document
    if isinstance(document, str | Path):
        document = read_json(document)
    if not isinstance(document, Mapping):
        raise SofthatError(
            "a specification is an object with symbols, bos, decide, start, next and allowed, "
            f"not {type(document).__name__}"
        )
    return _read(document)


def _read(document: Mapping[str, Any]) -> Specification:
    if unknown := sorted(map(str, set(document) - _KEYS)):
        raise SofthatError(
            f"the specification has an entry {unknown[0]!r}: expected {', '.join(sorted(_KEYS))}"
        )
    for key in ("symbols", "bos", "start", "next", "allowed"):
        if key not in document:
            raise SofthatError(f"the specification has no {key!r}")
    symbols = ids_by_name(document["symbols"], "symbols")
    labels = ids_by_name(document.get("labels") or {}, "labels")
    bos, eos = _token(document["bos"], "bos"), document.get("eos")
    eos = None if eos is None else _token(eos, "eos")
    decide = document.get("decide", "sign")
    if decide not in ("sign", "argmax"):
        raise SofthatError(f"decide is 'sign' or 'argmax', not {decide!r}")
    token_ids = [*symbols.values(), bos, *([] if eos is None else [eos])]
    if len(set(token_ids)) < len(token_ids):
        raise SofthatError("the specification gives one token id to two tokens")
    steps, allowed = document["next"], document["allowed"]
    if not isinstance(steps, Mapping) or not all(isinstance(r, Mapping) for r in steps.values()):
        raise SofthatError("next must be {state: {symbol: state}}")
    if not isinstance(allowed, Mapping):
        raise SofthatError("allowed must be {state: [tokens]}")
    names = [str(name) for name in dict.fromkeys([*steps, *allowed])]
    if len(names) > MOST_STATES:
        raise SofthatError(f"the machine has {len(names):,} states: at most {MOST_STATES:,}")
    place = {name: at for at, name in enumerate(names)}
    if str(document["start"]) not in place:
        raise SofthatError(f"the start {document['start']!r} is no state")
    order = list(symbols)
    table = np.full((len(names), len(order)), -1, np.int64)
    for name, row in steps.items():
        for symbol, to in row.items():
            if symbol not in symbols:
                raise SofthatError(f"state {name!r} reads {symbol!r}, which is not in symbols")
            if str(to) not in place:
                raise SofthatError(f"state {name!r} leads to the unknown state {to!r}")
            table[place[str(name)], order.index(symbol)] = place[str(to)]
    known = dict(labels) if labels else {**symbols, **({} if eos is None else {EOS: eos})}
    decisions = [_allowed(name, allowed.get(name, []), known, decide) for name in names]
    if decide == "sign" and (silent := [name for name in names if name not in allowed]):
        raise SofthatError(f"allowed says nothing of the state {silent[0]!r}: give it a list")
    if not any(decisions) and decide == "argmax":
        raise SofthatError("allowed names no answer after any state: there is nothing to prove")
    return Specification(
        tuple(order), tuple(symbols.values()), bos, eos, decide, tuple(names),
        place[str(document["start"])], table, tuple(decisions), tuple(labels.items()),
    )  # fmt: skip


def _allowed(name: str, tokens: Any, known: Mapping[str, int], decide: str) -> frozenset[int]:
    tokens = [tokens] if isinstance(tokens, str) else tokens
    if not isinstance(tokens, Sequence) or isinstance(tokens, Mapping):
        raise SofthatError(f"allowed after {name!r} must be a list of tokens")
    for token in tokens:
        if token not in known:
            raise SofthatError(
                f"allowed after {name!r} has {token!r}, which is none of {', '.join(known)}"
            )
    if decide == "argmax" and len(set(tokens)) > 1:
        raise SofthatError(f"argmax has one answer, but {name!r} has {len(set(tokens))}")
    return frozenset(known[token] for token in tokens)


def ids_by_name(ids: Any, what: str) -> dict[str, int]:
    if not isinstance(ids, Mapping) or not all(isinstance(name, str) for name in ids):
        raise SofthatError(f"{what} must be {{name: token id}}")
    ids = {name: _token(number, name) for name, number in ids.items()}
    if what == "symbols" and not ids:
        raise SofthatError("the specification has no symbols")
    if len(set(ids.values())) < len(ids):
        raise SofthatError(f"{what} gives one id to two names")
    return ids


def _token(token: Any, name: str) -> int:
    if type(token) is not int or token < 0:
        raise SofthatError(f"the token id of {name!r} must be a count from 0, not {token!r}")
    return token
