"""`prove`: proof or counterexample for a checkpoint and a specification.

First the search, since most models that break do so at once; then the proof, cell by cell, short
words first; then the search again where the proof fails, so that both meet. What is proved stands
when the budget ends or somebody presses Ctrl-C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from softhat.io.errors import SofthatError
from softhat.trained.checkpoint import Checkpoint, read_checkpoint
from softhat.trained.concrete import Prefixes, bounded_logits
from softhat.trained.decisions import Decisions
from softhat.trained.prover import OneLayer, Outcome, cells_to
from softhat.trained.reads import Cell
from softhat.trained.replay import Replay, replay_of
from softhat.trained.rounding import FUNCTION_ULPS, UNITS, Rounding, rounding_of
from softhat.trained.searching import Found, Search
from softhat.trained.specification import Specification, read_specification
from softhat.trained.verdict import Failure, OpenCell, Verdict
from softhat.trained.walk import forward

Show = Callable[[str, int, int | None, str], None]
DOMAINS = ("completable", "all")
ABSTRACTION, ENUMERATION = "abstraction", "enumeration"
ENUMERATING = 0.25
"""Of the time, for words whose boxes are too coarse."""
EVERYTHING = 0.9
"""Of the time, for them where all words that are asked for are few."""
BATCH = 1 << 21
"""Entries of attention of one batch of enumerated words."""


def prove(
    checkpoint: str | Path | Checkpoint,
    spec: Specification | Mapping[str, Any] | str | Path,
    *,
    max_length: int | None = None,
    offset: int | str = 0,
    dtype: str = "float32",
    domain: str = "completable",
    budget: float = 600,
    seed: int = 0,
    progress: Show | None = None,
) -> Verdict:
    """Decide whether a trained model does what a specification says, on every word.

    `checkpoint` is the folder of a stock GPT2LMHeadModel or GPT2ForTokenClassification. `spec` is
    a specification, a mapping or a JSON file (`softhat.spec` makes one from a formula).
    `max_length` is by default what the context holds beside `bos` (and `eos`). `offset` is the
    position id of `bos`, or "all". `domain` "completable": prefixes that can be completed to words
    of the language within the length; "all": every prefix that the machine reads. `budget` is in
    seconds.
    """
    started = thread_time()
    model = checkpoint if isinstance(checkpoint, Checkpoint) else read_checkpoint(checkpoint)
    spec = read_specification(spec)
    _check(model, spec, dtype, domain, budget)
    offsets = _offsets(model, spec, offset, max_length)
    work = _Work(model, spec, dtype, domain, started + budget, seed, progress or _quiet)
    try:
        for at, most in offsets:
            work.offset(at, most, len(offsets))
    except KeyboardInterrupt:
        work.ended = "interrupted; what was proved until then stands"
    if work.done < len(offsets):
        work.proved_to = None  # nothing is known of the other offsets
    return work.verdict(max(most for _, most in offsets), offset, started)


def _quiet(what: str, done: int, total: int | None, note: str) -> None:
    pass


def _check(model: Checkpoint, spec: Specification, dtype: str, domain: str, budget: float) -> None:
    if dtype not in UNITS:
        raise SofthatError(
            f"dtype {dtype!r} cannot be proved: rounding is bounded for {' and '.join(UNITS)}"
        )
    if domain not in DOMAINS:
        raise SofthatError(f"domain is 'completable' or 'all', not {domain!r}")
    if not budget > 0:
        raise SofthatError(f"the budget is a number of seconds above 0, not {budget}")
    tokens = {"<bos>": spec.bos, **dict(zip(spec.symbols, spec.ids, strict=True))}
    for name, token in tokens.items():
        if token >= model.vocabulary:
            raise SofthatError(
                f"the token id {token} of {name!r} is not in the model's vocabulary of "
                f"{model.vocabulary}"
            )
    answers = {token for allowed in spec.allowed for token in allowed}
    if answers and max(answers) >= model.outputs:
        raise SofthatError(
            f"the specification allows the id {max(answers)}, but the model has {model.outputs} "
            "outputs"
        )
    if spec.labels and model.head == "GPT2LMHeadModel":
        raise SofthatError("the specification has labels, but the checkpoint is a language model")


def _offsets(
    model: Checkpoint, spec: Specification, offset: int | str, max_length: int | None
) -> list[tuple[int, int]]:
    """Each offset with the longest words that are asked for there."""
    room = model.context - 1
    whole = room - (spec.eos is not None)
    if max_length is not None and (type(max_length) is not int or max_length < 0):
        raise SofthatError(f"max_length is a count of symbols, not {max_length!r}")
    if offset == "all":
        if max_length is not None and max_length > room:
            raise _too_long(max_length, room, model)
        most = whole if max_length is None else max_length
        last = whole if max_length is None else max(0, max(whole, max_length) - max_length)
        return [(at, max(0, min(most, max(whole, most) - at))) for at in range(last + 1)]
    if type(offset) is not int or offset < 0:
        raise SofthatError(f"offset is a position id or 'all', not {offset!r}")
    if offset > room:
        raise SofthatError(f"offset {offset} is outside the context of {model.context} positions")
    if max_length is not None and offset + max_length > room:
        raise _too_long(max_length, room - offset, model)
    return [(offset, max(0, whole - offset) if max_length is None else max_length)]


def _too_long(max_length: int, room: int, model: Checkpoint) -> SofthatError:
    return SofthatError(
        f"words of {max_length} symbols do not fit: the context of {model.context} positions has "
        f"room for {room}"
    )


@dataclass
class _Work:
    """What is known so far, over all offsets."""

    model: Checkpoint
    spec: Specification
    dtype: str
    domain: str
    deadline: float
    seed: int
    show: Show
    rounding: Rounding = field(init=False)
    failure: tuple[Found, int, Failure] | None = None
    proved_to: int | None = None
    least: list[tuple[int, float]] = field(default_factory=list)
    open: list[OpenCell] = field(default_factory=list)
    method: dict[int, set[str]] = field(default_factory=dict)
    cells: int = 0
    words: int = 0
    found: float = np.inf
    ended: str | None = None
    done: int = 0
    """Offsets that are finished."""
    empty_proved: bool = False
    """At the present offset: the decision before the first symbol."""
    _replay: Replay | None = None
    _looked: bool = False

    def __post_init__(self) -> None:
        self.rounding = rounding_of(self.dtype)
        self.decisions = Decisions(self.spec, self.model.outputs)

    @property
    def left(self) -> float:
        return self.deadline - thread_time()

    # One offset

    def offset(self, offset: int, most: int, offsets: int) -> None:
        """Search, prove and search again at one offset."""
        share = min(self.left, max(2.0, 4 * self.left / offsets)) if offsets > 1 else self.left
        deadline = thread_time() + share
        search = Search(self.model, self.spec, offset, most, self.domain, self.seed)
        asked: list[Cell] = []
        known: dict[Cell, Outcome] = {}
        to = -1
        try:
            to = self._short(search, deadline)
            if to < most and not self._broken_at(offset):
                patience = min(4.0, share / 16) if offsets == 1 else min(0.3, share / 16)
                self._report(search, search.evolve(most, thread_time() + patience))
            if to < most and len(self.model.blocks) == 1:
                self._abstract(search, offset, most, to, deadline, asked, known)
            elif to < most:
                self._deep(search, most, deadline)
        finally:
            self._account(search, offset, most, to, asked, known)
            self.done += 1

    def _short(self, search: Search, deadline: float) -> int:
        """All words as far as there are few, with error bounds: to which length it is proved."""
        to, failures, words = search.every(deadline)
        for failure in failures[:20]:
            if self._report(search, failure):
                break
        unproved = to + 1
        longest = max(len(word) for word in words)
        per = max(1, BATCH // ((longest + 1) ** 2 * self.model.heads))
        prefixes = Prefixes(self.model, search.offset, self.rounding)
        share = EVERYTHING if to == search.most else ENUMERATING
        closely = thread_time() + share * max(0.0, deadline - thread_time())
        for at in range(0, len(words), per):
            self.show("short words", at, len(words), "")
            part = words[at : at + per]
            unproved = min(unproved, self._enumerated(search, part, prefixes, closely))
            if thread_time() > deadline:
                unproved = 0
                break
        proved = min(to, unproved - 1)
        self.empty_proved = unproved > 0 and self._empty_word(search, prefixes)
        for length in range(proved + 1):
            self.method.setdefault(length, set()).add(ENUMERATION)
        return search.most if to == search.most and unproved > to else proved

    def _empty_word(self, search: Search, prefixes: Prefixes) -> bool:
        """Is the decision before the first symbol right? No cell of the abstraction holds it."""
        start = self.spec.start
        if not self.spec.decided[start]:
            return True
        try:
            with np.errstate(all="ignore"):
                logits = prefixes.logits([self.spec.bos])
                return self.decisions.lower(logits, start) > 0
        except FloatingPointError:
            return False

    def _enumerated(
        self,
        search: Search,
        words: Sequence[Sequence[int]],
        prefixes: Prefixes,
        deadline: float,
    ) -> int:
        """The length of the shortest word of these that is not proved."""
        spec = self.spec
        longest = max(len(word) for word in words)
        ids = np.full((len(words), longest + 1), spec.bos, np.int64)
        states = np.full((len(words), longest + 1), spec.start, np.int64)
        real = np.zeros(ids.shape, bool)
        for at, word in enumerate(words):
            ids[at, 1 : len(word) + 1] = search.ids[list(word)]
            states[at, : len(word) + 1] = spec.run(word)
            real[at, : len(word) + 1] = True
        with np.errstate(all="ignore"):
            logits = bounded_logits(self.model, ids, search.offset, self.rounding)
            margins = self.decisions.proved(logits, states)
        lengths = np.broadcast_to(np.arange(longest + 1)[None], states.shape)
        if self.domain == "completable":
            lengths = lengths + spec.need[states]
        asked = real & spec.decided[states] & (lengths <= search.most)
        bad = asked & ~(margins > 0)
        if bad.any():
            self._closer(search, ids, states, bad, lengths, margins, prefixes, deadline)
            bad = asked & ~(margins > 0)
        good = asked & ~bad
        if good.any():
            for length in np.unique(lengths[good]):
                self.least.append((int(length), float(margins[good & (lengths == length)].min())))
        return int(lengths[bad].min(initial=search.most + 1))

    def _closer(
        self,
        search: Search,
        ids: Any,
        states: Any,
        bad: Any,
        lengths: Any,
        margins: Any,
        prefixes: Prefixes,
        deadline: float,
    ) -> None:
        """Walk the prefixes whose boxes were too coarse one by one, those of short words first."""
        exact = self.decisions.margins(forward(self.model, ids, search.offset), states)
        places = np.argwhere(bad)
        for row, at in places[np.argsort(lengths[bad], kind="stable")]:
            if not exact[row, at] > 0 or thread_time() > deadline:
                return
            try:
                with np.errstate(all="ignore"):
                    logits = prefixes.logits(ids[row, : at + 1].tolist())
                    margins[row, at] = self.decisions.lower(logits, int(states[row, at]))
            except FloatingPointError:
                return
            if not margins[row, at] > 0:
                return

    def _abstract(
        self,
        search: Search,
        offset: int,
        most: int,
        to: int,
        deadline: float,
        asked: list[Cell],
        known: dict[Cell, Outcome],
    ) -> None:
        """Prove the cells of longer words, and look for words in those that fail."""
        cells = cells_to(self.spec, most, self.domain)
        cells = [
            cell for cell in cells
            if max(self.spec.length(q, cell.read, self.domain) for q in cell.states) > to
        ]  # fmt: skip
        asked.extend(cells)
        engine = OneLayer(self.model, self.spec, offset, most, self.rounding)
        end = deadline - 0.2 * max(0.0, deadline - thread_time())
        for outcome in engine.prove(cells, self.domain, end):
            known[outcome.cell] = outcome
            self.show("symbols read", outcome.cell.read, most, f"{len(known):,} cells")
            if not outcome.proved and self._worth(outcome):
                self._report(search, search.guided(engine.first, outcome))
        self._meet(search, offset, known, deadline)

    def _worth(self, outcome: Outcome) -> bool:
        """A failed cell is searched unless a failure is known that shorter words show."""
        return self.failure is None or outcome.length < self.failure[0].length

    def _meet(
        self, search: Search, offset: int, known: Mapping[Cell, Outcome], deadline: float
    ) -> None:
        """Shrink the failure towards what is proved."""
        if self.failure is None or self.failure[1] != offset:
            if self.failure is None and any(not outcome.proved for outcome in known.values()):
                self._report(search, search.evolve(search.most, min(deadline, thread_time() + 10)))
            if self.failure is None:
                return
        first_bad = min(
            (outcome.length for outcome in known.values() if not outcome.proved),
            default=search.most + 1,
        )
        shorter = search.shrink(self.failure[0], first_bad - 1, deadline)
        self._report(search, shorter)

    def _deep(self, search: Search, most: int, deadline: float) -> None:
        """More than two layers: only searched."""
        if self.failure is None:
            self._report(search, search.evolve(most, deadline))
        if self.failure is not None:
            self._report(
                search, search.shrink(self.failure[0], -1, min(deadline, thread_time() + 20))
            )

    # Failures

    def _broken_at(self, offset: int) -> bool:
        return self.failure is not None and self.failure[1] == offset

    def _report(self, search: Search, found: Found | None) -> bool:
        """Keep a failure if it is one where it counts: in the stock class."""
        if found is None:
            return False
        if self.failure is not None and found.length >= self.failure[0].length:
            return False
        replayed = self._replayed(found, search.offset)
        if replayed is None:
            return False
        self.failure = (found, search.offset, replayed)
        return True

    def _replayed(self, found: Found, offset: int) -> Failure | None:
        if not self._looked:
            self._replay, self._looked = replay_of(self.model, self.dtype), True
        spec = self.spec
        ids = [spec.bos, *(spec.ids[k] for k in found.word)]
        if self._replay is not None:
            logits = self._replay.logits([ids], offset)[0, -1]
            margin, token = self.decisions.worst(logits, found.state)
            name: str | None = self._replay.name
        else:
            bounds = bounded_logits(self.model, np.array([ids]), offset, self.rounding)
            logits = bounds.centre[0, -1]
            margin, token = self.decisions.worst(logits, found.state)
            margin += 2 * float(bounds.error[0, -1].max())  # wrong in every kernel
            name = None
        allowed = token in spec.allowed[found.state]
        wrong = margin <= 0 if allowed else margin < 0
        if not wrong and not np.isnan(margin):
            return None
        way = spec.completion(found.state) if self.domain == "completable" else []
        return Failure(
            spec.shown([*found.word, *way]), len(found.word), spec.name_of(token), token,
            float(logits[token]), float(margin), offset, tuple(ids), name,
        )  # fmt: skip

    # The verdict

    def _account(
        self,
        search: Search,
        offset: int,
        most: int,
        to: int,
        asked: Sequence[Cell],
        known: Mapping[Cell, Outcome],
    ) -> None:
        """Turn the outcomes at an offset into lengths."""
        spec = self.spec
        self.words += search.tried
        self.found = min(self.found, search.least)
        self.cells += len(known)
        proved = most
        if to < most:
            proved = self._untried(asked, known) - 1 if asked else to
            for outcome in known.values():
                if outcome.proved:
                    self.least.append((outcome.length, outcome.margin))
                    continue
                proved = min(proved, outcome.length - 1)
                cell = outcome.cell
                margin = outcome.margin if np.isfinite(outcome.margin) else None
                self.open.append(
                    OpenCell(
                        cell.read, spec.symbols[cell.last], spec.names[cell.states[0]], offset,
                        outcome.length, margin,
                    )
                )  # fmt: skip
            proved = min(max(proved, to), most)
            if not self.empty_proved:
                proved = min(proved, spec.length(spec.start, 0, self.domain) - 1)
            for length in range(to + 1, proved + 1):
                self.method.setdefault(length, set()).add(ABSTRACTION)
        self.proved_to = proved if self.proved_to is None else min(self.proved_to, proved)

    def _untried(self, asked: Sequence[Cell], known: Mapping[Cell, Outcome]) -> int:
        """From which length on words count of which nothing was tried; beyond all if none."""
        seen: dict[tuple[int, int], set[int]] = {}
        for cell in known:
            seen.setdefault((cell.read, cell.last), set()).update(cell.states)
        lengths = [
            self.spec.length(state, cell.read, self.domain)
            for cell in asked
            for state in cell.states
            if state not in seen.get((cell.read, cell.last), ())
        ]
        return min(lengths, default=self.model.context + 1)

    def verdict(self, asked: int, offset: int | str, started: float) -> Verdict:
        proved = -1 if self.proved_to is None else self.proved_to
        failure = None if self.failure is None else self.failure[2]
        if failure is not None:
            proved = min(proved, failure.length - 1)
            status = "refuted"
        else:
            status = "proved" if proved >= asked and self.ended is None else "open"
        if status == "open" and self.ended is None and self.left <= 0:
            self.ended = "the budget is used up"
        margins = [margin for length, margin in self.least if length <= proved]
        method = {
            length: " and ".join(sorted(how))
            for length, how in sorted(self.method.items())
            if 0 <= length <= proved and how
        }
        return Verdict(
            status=status, proved_to=proved, asked=asked, broken_by=failure,
            least_margin=min(margins, default=None),
            least_found=float(self.found) if np.isfinite(self.found) else None,
            method=method, assumptions=self._assumptions(),
            open_cells=tuple(sorted(self.open, key=lambda c: (c.length, c.read, c.last, c.state))),
            cells=self.cells, words=self.words, seconds=round(thread_time() - started, 3),
            domain=self.domain, offset=offset, dtype=self.dtype, interrupted=self.ended,
        )  # fmt: skip

    def _assumptions(self) -> tuple[str, ...]:
        model = self.model
        said = [
            f"every step is computed in {self.dtype} or wider and rounded to nearest, sums in any "
            "order, with or without fused multiply-add: no TF32, no autocast, no quantisation",
            "attention is eager or one of the fused kernels of scaled_dot_product_attention; words "
            "stand alone or are padded on the right",
            f"exp, tanh, erf and pow are within {FUNCTION_ULPS} units in the last place, here and "
            "in the model",
            "results below the least normal number may be flushed to zero",
        ]
        if model.named != model.head:
            said.append(f"the class {model.named} computes what {model.head} computes")
        return tuple(said)
