"""`decompile`: the machine that a trained model computes, learned from it and proved.

Angluin's L*, with the model as the oracle for questions ("which tokens follow this word?") and the
prover as the oracle for equivalence. States are words; two are one state until a suffix tells them
apart. A word on which the machine and the model differ gives such a suffix (Rivest and Schapire's
search finds it by halving). When nothing differs any more the machine is proved, up to a length.

Where states become many, machines with a counter are tried (`counters`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from softhat.io.errors import SofthatError
from softhat.io.work.progress import Show
from softhat.trained.checkpoint import Checkpoint, read_checkpoint
from softhat.trained.counters import LearnedCounter, counters, unrolled
from softhat.trained.enumeration import Enumeration, OutOfTimeError
from softhat.trained.prove import prove
from softhat.trained.question import TrainedQuestion
from softhat.trained.rounding import rounding_of
from softhat.trained.searching import Search
from softhat.trained.specification import FAR, Specification
from softhat.trained.verdict import Verdict
from softhat.trained.walk import forward

MOST_STATES = 60
"""A machine with more is a sign of a language that counts, or of noise."""
FEW = 1_000
"""Prefixes that are compared before each search."""
COUNTING = 12
"""With more states than this, a counter is looked for once."""
LOOKING = 1.0
"""Processor seconds of search before each proof."""

Word = tuple[int, ...]


def decompile(
    checkpoint: str | Path | Checkpoint,
    symbols: str | Iterable[str] | Mapping[str, int],
    *,
    bos: int | None = None,
    eos: int | None = None,
    max_length: int | None = None,
    offset: int = 0,
    dtype: str = "float32",
    budget: float = 600,
    seed: int = 0,
    progress: Show | None = None,
) -> tuple[dict[str, Any], Verdict]:
    """The automaton of a language model or of a classifier with two classes, and the verdict that
    says how far it is proved.

    A language model accepts where `<eos>` is allowed, a classifier where it answers with its second
    class. `symbols` are names with their token ids, or names alone (ids 0, 1, …). `bos` and `eos`
    are those of the configuration unless given. The automaton is a mapping that `softhat.from_dfa`
    takes; `softhat.spec(dfa=…)` makes its specification. For a language that counts it is a machine
    with a counter: `counter` has the symbols' weights, `formula` is a past formula where the count
    alone decides.
    """
    model = read_checkpoint(checkpoint)
    teacher = teacher_of(model, symbols, bos, eos, offset)
    result = learned(teacher, LearningLimits(max_length, dtype, budget, seed), progress)
    return result.document, result.verdict


@dataclass(frozen=True, slots=True)
class LearningLimits:
    """How far a machine shall be proved and how; None: as long as the context allows."""

    max_length: int | None = None
    dtype: str = "float32"
    budget: float = 600
    """Processor seconds that it may take."""
    seed: int = 0


@dataclass(frozen=True)
class Learned:
    """What was learned: the machine up to a length, its counter if it has one, the verdict."""

    machine: Specification
    counter: LearnedCounter | None
    verdict: Verdict

    @property
    def accepts(self) -> int:
        """The answer after words of the language."""
        return 1 if self.machine.eos is None else self.machine.eos

    @property
    def document(self) -> dict[str, Any]:
        if self.counter is None:
            return automaton_of(self.machine)
        return self.counter.to_json(self.accepts)


def automaton_of(machine: Specification) -> dict[str, Any]:
    """A specification as an automaton: it accepts where `<eos>` is allowed, or the answer is the
    second class."""
    document = machine.to_json()
    accepts = 1 if machine.labels else machine.eos
    return {
        "alphabet": list(machine.symbols),
        "states": list(machine.names),
        "start": machine.names[machine.start],
        "accept": [
            name for name, allowed in zip(machine.names, machine.allowed, strict=True)
            if accepts in allowed
        ],
        "transitions": document["next"],
    }  # fmt: skip


def learned(teacher: Teacher, limits: LearningLimits, progress: Show | None = None) -> Learned:
    """The machine as a specification, with its verdict."""
    deadline = thread_time() + limits.budget
    context = teacher.model.context
    most = teacher.room if limits.max_length is None else limits.max_length
    if not 0 < most <= context - 1 - teacher.offset:
        raise SofthatError(f"max_length {most} does not fit a context of {context} positions")
    learner = _Learner(teacher, most)
    proof = _Comparison(teacher, most, limits, progress)
    counted = False
    while True:
        machine = learner.hypothesis()
        if machine.states > COUNTING and not counted:
            counted = True
            counting = _counting(teacher, proof, deadline)
            if counting is not None:
                return counting
        left = max(deadline - thread_time(), 0.1)
        if progress is not None:
            progress("states", machine.states, None, f"{teacher.asked:,} questions")
        word = proof.differs(machine, min(LOOKING, left / 4))
        if word is not None and left > 0.1 and learner.learn(word):
            continue
        verdict = proof.verdict(machine, left)
        if verdict.broken_by is None or thread_time() > deadline:
            return Learned(machine, None, verdict)
        broken = tuple(machine.symbols.index(symbol) for symbol in verdict.broken_by.prefix)
        if machine.states > MOST_STATES or not learner.learn(broken):
            return Learned(machine, None, verdict)


def _counting(teacher: Teacher, proof: _Comparison, deadline: float) -> Learned | None:
    """The first machine with a counter that nothing breaks."""
    for counter in counters(teacher.names, teacher.follows, teacher.room):
        left = deadline - thread_time()
        machine = unrolled(counter, teacher.ids, teacher.bos, teacher.eos, proof.most)
        if machine is None or left < 0:
            continue
        if proof.differs(machine, min(LOOKING, left / 16)) is not None:
            continue
        verdict = proof.verdict(machine, max(left / 2, 0.1))
        if verdict.broken_by is None:
            return Learned(machine, counter, verdict)
    return None


@dataclass(frozen=True, slots=True)
class _Comparison:
    """How a machine is compared with the model, and proved."""

    teacher: Teacher
    """The model."""
    most: int
    """Symbols of the longest words."""
    limits: LearningLimits
    progress: Show | None

    def differs(self, machine: Specification, seconds: float) -> Word | None:
        """A short word after which the model and the machine differ, if a search finds one."""
        end = thread_time() + seconds
        question = TrainedQuestion(
            self.teacher.model, machine, self.teacher.offset, self.most, _domain(machine),
            rounding_of("float64"),
        )  # fmt: skip
        tree = Enumeration(question)
        try:
            failures = tree.walk(tree.depth(FEW).level, end, 0.0).failures
        except OutOfTimeError:
            failures = []
        if failures:
            return failures[0].word
        failure = Search(question, self.limits.seed).evolve(self.most, end)
        return None if failure is None else failure.word

    def verdict(self, machine: Specification, seconds: float) -> Verdict:
        return prove(
            self.teacher.model,
            machine,
            max_length=self.most,
            offset=self.teacher.offset,
            dtype=self.limits.dtype,
            domain=_domain(machine),
            budget=seconds,
            seed=self.limits.seed,
            progress=self.progress,
        )


def _domain(machine: Specification) -> str:
    """A state from which the machine completes no word is in no word's way: then all are asked."""
    return "completable" if (machine.need < FAR).all() else "all"


def teacher_of(
    model: Checkpoint,
    symbols: str | Iterable[str] | Mapping[str, int],
    bos: int | None,
    eos: int | None,
    offset: int = 0,
) -> Teacher:
    """The model as the one who is asked, if it says a language."""
    classifies = model.head != "GPT2LMHeadModel"
    if classifies and model.outputs != 2:
        raise SofthatError(
            f"a classifier with {model.outputs} classes says no language: expected two, false and "
            "true"
        )
    names = dict(symbols) if isinstance(symbols, Mapping) else {s: k for k, s in enumerate(symbols)}
    if not names:
        raise SofthatError("there are no symbols: name those that words are made of")
    first, last = model.bos if bos is None else bos, model.eos if eos is None else eos
    if first is None or (last is None and not classifies):
        raise SofthatError(
            "the configuration does not say what <bos> and <eos> are: give their ids"
        )
    last = None if classifies else last
    tokens = {**names, "<bos>": first, **({} if last is None else {"<eos>": last})}
    for name, token in tokens.items():
        if not 0 <= token < model.vocabulary:
            raise SofthatError(f"the token id {token} of {name!r} is not in the vocabulary")
    return Teacher(model, tuple(names), tuple(names.values()), first, last, offset)


class Teacher:
    """Answers which tokens follow a word; None once a word has a symbol that did not. Of a
    classifier: its answer after a word; there is none after the empty word."""

    def __init__(
        self,
        model: Checkpoint,
        names: tuple[str, ...],
        ids: tuple[int, ...],
        bos: int,
        eos: int | None,
        offset: int,
    ) -> None:
        self.model, self.names, self.ids, self.bos, self.eos = model, names, ids, bos, eos
        self.offset = offset
        self.classifies = eos is None
        self.room = model.context - 2 - offset + self.classifies
        self.known: dict[Word, frozenset[int] | None] = {}
        self.asked = 0

    def follows(self, word: Word) -> frozenset[int] | None:
        word = word[: self.model.context - 1 - self.offset]
        if word not in self.known:
            self.asked += 1
            ids = np.array([[self.bos, *(self.ids[k] for k in word)]])
            with np.errstate(all="ignore"):
                logits = forward(self.model, ids, self.offset)[0]
            lost = False
            if self.classifies:
                self.known[()] = frozenset()
                for end in range(1, len(word) + 1):
                    self.known[word[:end]] = frozenset([int(logits[end].argmax())])
                return self.known[word]
            for end in range(len(word) + 1):
                positive = frozenset(int(k) for k in np.flatnonzero(logits[end] > 0))
                self.known[word[:end]] = None if lost else positive
                if end < len(word) and self.ids[word[end]] not in positive:
                    lost = True
        return self.known[word]


class _Learner:
    """The observation table: words that stand for states, and suffixes that tell them apart."""

    def __init__(self, teacher: Teacher, most: int) -> None:
        self.teacher, self.most = teacher, most
        self.words: list[Word] = [()]
        self.suffixes: list[Word] = [()]
        self.machine: Specification | None = None

    def row(self, word: Word) -> tuple[frozenset[int] | None, ...]:
        return tuple(self.teacher.follows(word + suffix) for suffix in self.suffixes)

    def hypothesis(self) -> Specification:
        """The machine of the table, closed."""
        teacher, symbols = self.teacher, range(len(self.teacher.names))
        known = {self.row(word): word for word in reversed(self.words)}
        todo = list(self.words)
        while todo and len(known) <= 2 * MOST_STATES:
            word = todo.pop(0)
            if teacher.follows(word) is None:
                continue
            for k in symbols:
                longer = (*word, k)
                if self.row(longer) not in known:
                    known[self.row(longer)] = longer
                    self.words.append(longer)
                    todo.append(longer)
        states = [
            word for word in self.words
            if known.get(self.row(word)) == word and teacher.follows(word) is not None
        ]  # fmt: skip
        place = {self.row(word): at for at, word in enumerate(states)}
        step = np.full((len(states), len(teacher.names)), -1, np.int64)
        allowed = []
        for at, word in enumerate(states):
            follow = teacher.follows(word) or frozenset()
            allowed.append(follow)
            for k in symbols:
                if teacher.classifies or teacher.ids[k] in follow:
                    step[at, k] = place.get(self.row((*word, k)), -1)
        self.states = states
        self.machine = Specification(
            teacher.names, teacher.ids, teacher.bos, teacher.eos,
            "argmax" if teacher.classifies else "sign",
            tuple(f"q{at}" for at in range(len(states))), 0, step, tuple(allowed),
            (("false", 0), ("true", 1)) if teacher.classifies else (),
        )  # fmt: skip
        return self.machine

    def learn(self, word: Word) -> bool:
        """Add the suffix of a word on which model and machine differ; False if there is none."""
        assert self.machine is not None
        run = self.machine.run(word)
        if len(run) <= len(word):
            return False

        def agrees(cut: int) -> bool:
            """Does the state after the cut stand for the word before it, judged by the rest?"""
            return self.teacher.follows(self.states[run[cut]] + word[cut:]) == target

        target = self.teacher.follows(word)
        low, high = 0, len(word)
        if agrees(high):
            return False
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if agrees(middle) else (low, middle)
        for suffix in (word[high:], word[low:]):
            if suffix not in self.suffixes:
                self.suffixes.append(suffix)
                return True
        return False
