"""What kind of AHAT is it? Row types, gaps, gap profiles, critical β, with their guarantees.

A statement about all words to a length is *exhaustive* if every word was run exactly,
*proved_to_length* if it was derived from the sets of residual vectors that words can produce
(`gaps`), *proved_all* if it follows from the weights for every length, and *sampled* if only the
given words were run. A sample never yields a gap for other words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.fits import Law, fit_law
from softhat.ahat.analysis.gaps import ProvedGaps, proved_gaps
from softhat.ahat.analysis.rows import Profile, critical_betas
from softhat.ahat.analysis.structure import HeadStructure, structure
from softhat.ahat.exact import ExactTrace, HeadTrace, ratio, run
from softhat.ahat.model import AHAT, Word
from softhat.ahat.words import all_words, feasible_length
from softhat.errors import SofthatError

Guarantee: TypeAlias = Literal["proved_all", "proved_to_length", "exhaustive", "sampled"]
HeadId: TypeAlias = tuple[int, int]
Gap: TypeAlias = Fraction | float  # float only for inf
LEAK = 1e-3


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A tied row. `row` and `positions` are 0-based indices into the word (with `<bos>` first,
    where the model has one); `scores` has None for masked keys."""

    word: Word
    layer: int
    head: int
    row: int
    positions: tuple[int, ...]
    scores: tuple[Fraction | None, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of `analyze`. Heads are named (layer, head), both from 0."""

    model: AHAT = field(repr=False)
    uniform_tieless: bool
    guarantee: Guarantee
    up_to: int
    exhaustive_length: int
    counterexample: Counterexample | None
    counterexamples: Mapping[int, Counterexample]  # the first of each length
    rows: Mapping[int, Mapping[HeadId, tuple[int, int, int]]]
    gaps: Mapping[int, Mapping[HeadId, Gap]]
    min_gap: Mapping[HeadId, Gap]
    profiles: Mapping[int, Mapping[HeadId, Profile]]  # of the row with the greatest critical β
    critical_beta: Mapping[int, Mapping[HeadId, float]]
    leak: float
    laws: Mapping[HeadId, Law]
    structure: Mapping[HeadId, HeadStructure]
    varying_ties: Mapping[HeadId, bool]  # some argmax set holds values that differ
    proved: Mapping[int, ProvedGaps]
    notes: tuple[str, ...]


def analyze(
    model: AHAT,
    up_to: int = 8,
    words: Iterable[Word] | None = None,
    leak: float = LEAK,
    max_words: int = 300_000,
    progress: Callable[[int, int], None] | None = None,
) -> Analysis:
    """Row types, minimum gaps and critical β of every head.

    All words to length `up_to` are run where there are at most `max_words` of a length; longer
    lengths are proved from the sets of reachable vectors, as far as these stay small. With
    `words`, only those are run, and the result says `sampled`.
    """
    if words is None and up_to < 1:
        raise SofthatError(f"up_to must be at least 1, not {up_to}")
    facts = structure(model)
    tally = Tally(model, leak)
    notes: list[str] = []
    if words is not None:
        groups: dict[int, list[Word]] = {}
        for word in words:
            groups.setdefault(len(model.symbols(word)), []).append(word)
        if not groups:
            raise SofthatError("no words to analyse: give at least one")
        for n in sorted(groups):
            tally.add(run(model, model.codes(groups[n])))
        top, exhaustive = max(groups), 0
        proved: dict[int, ProvedGaps] = {}
    else:
        top = min(up_to, model.longest or up_to)
        if top < up_to:
            notes.append(f"the position tables end at length {top}: nothing is said beyond")
        exhaustive = feasible_length(len(model.alphabet), top, max_words)
        total = sum(len(model.alphabet) ** n for n in range(1, exhaustive + 1))
        done = 0
        for n in range(1, exhaustive + 1):
            for codes in all_words(len(model.alphabet), n, _chunk(model, n)):
                tally.add(run(model, codes))
                done += len(codes)
                if progress is not None:
                    progress(done, total)
        proved = {}
        for n in range(1, top + 1):
            result = proved_gaps(model, n, leak)
            if not result.complete:
                notes.append(f"length {n}: {result.reason}; no proof from this length on")
                break
            proved[n] = result
    guarantee, tieless, reached = _verdict(tally, facts, proved, exhaustive, top, words is not None)
    if words is None and reached < top:
        notes.append(
            f"there are more than {max_words} words of length {exhaustive + 1}, and no proof "
            f"for length {reached + 1}: the statement ends at length {reached}"
        )
    return Analysis(
        model=model,
        uniform_tieless=tieless,
        guarantee=guarantee,
        up_to=reached,
        exhaustive_length=exhaustive,
        counterexample=tally.first.get(min(tally.first)) if tally.first else None,
        counterexamples=tally.first,
        rows=tally.rows,
        gaps=tally.gaps,
        min_gap=_least(model, tally, proved, facts),
        profiles=tally.profiles,
        critical_beta=_betas(tally, proved),
        leak=leak,
        laws=_laws(model, tally, proved),
        structure=facts,
        varying_ties=tally.varying,
        proved=proved,
        notes=tuple(notes),
    )


class Tally:
    """Adds up the rows of exact runs, batch by batch."""

    def __init__(self, model: AHAT, leak: float) -> None:
        self.model, self.leak = model, leak
        self.rows: dict[int, dict[HeadId, tuple[int, int, int]]] = {}
        self.gaps: dict[int, dict[HeadId, Gap]] = {}
        self.profiles: dict[int, dict[HeadId, Profile]] = {}
        self.betas: dict[int, dict[HeadId, float]] = {}
        self.first: dict[int, Counterexample] = {}
        self.varying = dict.fromkeys(model.heads, False)
        self.several = dict.fromkeys(model.heads, False)  # some argmax set has two keys or more

    def add(self, trace: ExactTrace) -> None:
        n = trace.codes.shape[1]
        found: list[tuple[int, int, int, int]] = []
        for l, layer in enumerate(trace.layers):
            for h, head in enumerate(layer.heads):
                tied = self._head(n, (l, h), head)
                if tied is not None:
                    found.append((tied[0], tied[1], l, h))
        if found and n not in self.first:
            word, row, l, h = min(found)
            self.first[n] = _counterexample(self.model, trace, word, row, l, h)

    def _head(self, n: int, name: HeadId, head: HeadTrace) -> tuple[int, int] | None:
        """Count one head's rows; the first tied (word, row), if there is one."""
        keys = head.mask.sum(axis=1)  # (T,)
        best = head.highest.sum(axis=2)  # (W, T)
        uniform = best == keys
        tied = ~uniform & (best > 1)
        counts = self.rows.setdefault(n, {}).get(name, (0, 0, 0))
        new = (int(uniform.sum()), int((~uniform & ~tied).sum()), int(tied.sum()))
        self.rows[n][name] = (counts[0] + new[0], counts[1] + new[1], counts[2] + new[2])
        self.gaps.setdefault(n, {}).setdefault(name, math.inf)
        self.betas.setdefault(n, {}).setdefault(name, 0.0)
        where = np.argwhere(~uniform)
        if len(where):
            self._gaps(n, name, head, where)
        several = best > 1
        if several.any():
            self.several[name] = True
            self.varying[name] |= _varies(head, several)
        if tied.any() and self.model.layers[name[0]].heads[name[1]].ties == "average":
            word, row = np.argwhere(tied)[0]
            return int(word), int(row)
        return None

    def _gaps(self, n: int, name: HeadId, head: HeadTrace, where: npt.NDArray[np.int64]) -> None:
        scores = head.scores.num[where[:, 0], where[:, 1]]  # (rows, T)
        best = head.highest[where[:, 0], where[:, 1]]
        mask = head.mask[where[:, 1]]
        top = np.where(best, scores, scores.min()).max(axis=1, keepdims=True)
        below = mask & ~best
        gaps = top - scores
        least = int(np.where(below, gaps, gaps.max() + 1).min())
        self.gaps[n][name] = min(self.gaps[n][name], Fraction(least, head.scores.den))
        floats = np.where(below, ratio(gaps, head.scores.den), np.inf)
        winners = best.sum(axis=1)
        _, kept = np.unique(
            np.column_stack([np.sort(floats, axis=1), winners]), axis=0, return_index=True
        )
        betas = critical_betas(floats[kept], self.leak, winners[kept])
        hardest = kept[int(betas.argmax())]
        if betas.max() > self.betas[n][name] or name not in self.profiles.get(n, {}):
            self.betas[n][name] = float(betas.max())
            chosen = [int(g) for g, b in zip(gaps[hardest], below[hardest], strict=True) if b]
            counted = tuple(
                (Fraction(g, head.scores.den), chosen.count(g)) for g in sorted(set(chosen))
            )
            profile = Profile(int(winners[hardest]), counted)
            self.profiles.setdefault(n, {})[name] = profile


def _counterexample(
    model: AHAT, trace: ExactTrace, word: int, row: int, l: int, h: int
) -> Counterexample:
    head = trace.layers[l].heads[h]
    scores = tuple(
        Fraction(int(s), head.scores.den) if allowed else None
        for s, allowed in zip(head.scores.num[word, row], head.mask[row], strict=True)
    )
    positions = tuple(int(j) for j in np.flatnonzero(head.highest[word, row]))
    return Counterexample(model.spell(trace.codes[word]), l, h, row, positions, scores)


def _varies(head: HeadTrace, tied: npt.NDArray[np.bool_]) -> bool:
    """Do the values differ inside some tied argmax set?"""
    words, rows = np.nonzero(tied)
    best = head.best[words, rows][..., None]  # (rows, T, 1)
    values = head.values.num[words]  # (rows, T, d_v)
    if values.shape[-1] == 0:
        return False
    low, high = values.min() - 1, values.max() + 1
    spread = np.where(best, values, low).max(axis=1) != np.where(best, values, high).min(axis=1)
    return bool(spread.any())


def _verdict(
    tally: Tally,
    facts: Mapping[HeadId, HeadStructure],
    proved: Mapping[int, ProvedGaps],
    exhaustive: int,
    top: int,
    sampled: bool,
) -> tuple[Guarantee, bool, int]:
    """The level of the statement, whether it is uniform-tieless, and to which length."""
    if sampled:
        return "sampled", not tally.first, top
    if all(fact.uniform for fact in facts.values()):
        return "proved_all", True, top
    if tally.first:
        return "exhaustive", False, max(exhaustive, 1)
    reached = exhaustive
    while reached + 1 in proved and not any(proved[reached + 1].may_tie.values()):
        reached += 1
    if reached == exhaustive and all(
        n in proved and not any(proved[n].may_tie.values()) for n in range(1, exhaustive + 1)
    ):
        return "proved_to_length", True, reached
    return ("proved_to_length" if reached > exhaustive else "exhaustive"), True, reached


def _least(
    model: AHAT,
    tally: Tally,
    proved: Mapping[int, ProvedGaps],
    facts: Mapping[HeadId, HeadStructure],
) -> dict[HeadId, Gap]:
    """The least gap of each head over the lengths that were run, or else proved."""
    result: dict[HeadId, Gap] = {}
    for name in model.heads:
        measured = [gaps[name] for gaps in tally.gaps.values()]
        beyond = [p.gaps[name] for n, p in proved.items() if n not in tally.gaps]
        result[name] = math.inf if facts[name].uniform else min([*measured, *beyond, math.inf])
    return result


def _betas(tally: Tally, proved: Mapping[int, ProvedGaps]) -> dict[int, dict[HeadId, float]]:
    result = {n: dict(betas) for n, betas in tally.betas.items()}
    for n, proof in proved.items():
        if n not in result:
            result[n] = dict(proof.critical_beta)
    return result


def _laws(model: AHAT, tally: Tally, proved: Mapping[int, ProvedGaps]) -> dict[HeadId, Law]:
    betas = _betas(tally, proved)
    laws = {}
    for name in model.heads:
        points = {n: b[name] for n, b in sorted(betas.items()) if b[name] > 0}
        law = fit_law(points)
        if law is not None:
            laws[name] = law
    return laws


def _chunk(model: AHAT, n: int) -> int:
    """Words a batch, so that scores of a batch stay near a million entries."""
    return max(64, 1_000_000 // ((n + 1) ** 2))


def row_tally(model: AHAT, n: int, leak: float) -> Tally:
    """Rows, gaps and critical β of each head over all words of length n."""
    tally = Tally(model, leak)
    for codes in all_words(len(model.alphabet), n, _chunk(model, n)):
        tally.add(run(model, codes))
    return tally
