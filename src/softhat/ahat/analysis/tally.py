"""Rows, gaps and critical β of exact runs, added up batch by batch."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.rows import Profile, critical_betas
from softhat.ahat.analysis.structure import structure
from softhat.ahat.exact import ExactTrace, run
from softhat.ahat.model import AHAT, Word
from softhat.ahat.words import all_words
from softhat.numerics.exact import HeadTrace, ratio

HeadId: TypeAlias = tuple[int, int]
Layers: TypeAlias = tuple[tuple[HeadTrace, ...], ...]
Gap: TypeAlias = Fraction | float  # float only for inf
PART = 4_000_000  # scores looked at together
FEW_ROWS = 32  # whose critical β are computed one by one


@dataclass(frozen=True, slots=True)
class TiedRow:
    """A tied row. `row` and `positions` are 0-based indices into the word (with `<bos>` first,
    where the model has one); `scores` has None for masked keys."""

    word: Word
    layer: int
    head: int
    row: int
    positions: tuple[int, ...]
    scores: tuple[Fraction | None, ...]


class Tally:
    """Adds up the rows of exact runs, batch by batch."""

    def __init__(self, model: AHAT, leak: float) -> None:
        self.model, self.leak = model, leak
        self._equal = {name for name, fact in structure(model).items() if fact.equal_scores}
        self.rows: dict[int, dict[HeadId, tuple[int, int, int]]] = {}
        self.gaps: dict[int, dict[HeadId, Gap]] = {}
        self.profiles: dict[int, dict[HeadId, Profile]] = {}
        self.betas: dict[int, dict[HeadId, float]] = {}
        self.first: dict[int, TiedRow] = {}
        self.varying = dict.fromkeys(model.heads, False)
        self.several = dict.fromkeys(model.heads, False)  # some argmax set has two keys or more

    def add(self, trace: ExactTrace) -> None:
        """Count the rows of words of one length."""
        self._add(trace.codes, tuple(layer.heads for layer in trace.layers), 0)

    def add_last(self, codes: npt.NDArray[np.int64], layers: Layers) -> None:
        """Count the last row of each word only."""
        self._add(codes, layers, codes.shape[1] - 1 + int(self.model.bos))

    def _add(self, codes: npt.NDArray[np.int64], layers: Layers, first: int) -> None:
        n = codes.shape[1]
        tied_rows: list[tuple[int, int, int, int]] = []
        for l, heads in enumerate(layers):
            for h, head in enumerate(heads):
                tied = self._head(n, (l, h), head)
                if tied is not None:
                    tied_rows.append((tied[0], tied[1], l, h))
        if tied_rows and n not in self.first:
            word, row, l, h = min(tied_rows)
            self.first[n] = _counterexample(
                self.model.spell(codes[word]), layers[l][h], word, row, first, (l, h)
            )

    def add_prefixes(self, n: int, shorter: Tally) -> None:
        """Where only last rows of length n were counted: the other rows of a model that looks back
        are those of length n - 1, each in as many words as there are symbols."""
        times = len(self.model.alphabet)
        for name in self.model.heads:
            pairs = zip(shorter.rows[n - 1][name], self.rows[n][name], strict=True)
            uniform, tieless, tied = (times * old + new for old, new in pairs)
            self.rows[n][name] = (uniform, tieless, tied)
            self.gaps[n][name] = min(self.gaps[n][name], shorter.gaps[n - 1][name])
            if shorter.betas[n - 1][name] >= self.betas[n][name]:
                self.betas[n][name] = shorter.betas[n - 1][name]
                known = shorter.profiles.get(n - 1, {}).get(name)
                if known is not None:
                    self.profiles.setdefault(n, {})[name] = known
            self.varying[name] |= shorter.varying[name]
            self.several[name] |= shorter.several[name]
        if n - 1 in shorter.first:
            self._first(n, shorter.first[n - 1])

    def _first(self, n: int, tied: TiedRow) -> None:
        """The first word of length n with a tied row: one with a tied prefix, or tied at last."""
        (codes,) = self.model.codes([tied.word])
        longer = np.append(codes, 0)
        if n in self.first:
            (other,) = self.model.codes([self.first[n].word])
            if other.tolist() < longer.tolist():
                return
        word, scores = self.model.spell(longer), (*tied.scores, None)
        self.first[n] = replace(tied, word=word, scores=scores)

    def join(self, other: Tally) -> None:
        """Add the tally of other lengths."""
        self.rows |= other.rows
        self.gaps |= other.gaps
        self.profiles |= other.profiles
        self.betas |= other.betas
        self.first |= other.first
        for name in self.model.heads:
            self.varying[name] |= other.varying[name]
            self.several[name] |= other.several[name]

    def _head(self, n: int, name: HeadId, head: HeadTrace) -> tuple[int, int] | None:
        """Count one head's rows; the first tied (word, row), if there is one."""
        keys = head.mask.sum(axis=1)  # (T,)
        if name in self._equal:
            self._equal_scores(n, name, head, keys)
            return None
        best = head.highest.sum(axis=2)  # (W, T)
        uniform = best == keys
        tied = ~uniform & (best > 1)
        counts = self.rows.setdefault(n, {}).get(name, (0, 0, 0))
        new = (int(uniform.sum()), int((~uniform & ~tied).sum()), int(tied.sum()))
        self.rows[n][name] = (counts[0] + new[0], counts[1] + new[1], counts[2] + new[2])
        self.gaps.setdefault(n, {}).setdefault(name, math.inf)
        self.betas.setdefault(n, {}).setdefault(name, 0.0)
        where = np.argwhere(~uniform)
        step = max(1, PART // head.mask.shape[1])
        for start in range(0, len(where), step):
            self._gaps(n, name, head, where[start : start + step])
        several = best > 1
        if several.any():
            self.several[name] = True
            self.varying[name] = self.varying[name] or _varies(head, several)
        if tied.any() and self.model.layers[name[0]].heads[name[1]].ties == "average":
            word, row = np.argwhere(tied)[0]
            return int(word), int(row)
        return None

    def _equal_scores(
        self, n: int, name: HeadId, head: HeadTrace, keys: npt.NDArray[np.int64]
    ) -> None:
        """Every row is uniform, whatever the word."""
        before = self.rows.setdefault(n, {}).get(name, (0, 0, 0))
        uniform = int((head.highest.sum(axis=2) == keys).sum())
        others = head.highest.shape[0] * len(keys) - uniform  # none, if the structure is right
        self.rows[n][name] = (before[0] + uniform, before[1] + others, 0)
        self.gaps.setdefault(n, {})[name] = math.inf
        self.betas.setdefault(n, {})[name] = 0.0
        several = keys > 1
        if several.any():
            self.several[name] = True
            rows = np.broadcast_to(several, head.highest.shape[:2])
            self.varying[name] = self.varying[name] or _varies(head, rows)

    def _gaps(self, n: int, name: HeadId, head: HeadTrace, where: npt.NDArray[np.int64]) -> None:
        scores = head.scores.num[where[:, 0], where[:, 1]]  # (rows, T)
        best = head.highest[where[:, 0], where[:, 1]]
        mask = head.mask[where[:, 1]]
        top = np.where(best, scores, scores.min()).max(axis=1, keepdims=True)
        below = mask & ~best
        gaps = top - scores
        nearest = np.where(below, gaps, gaps.max() + 1).min(axis=1)
        least = Fraction(int(nearest.min()), head.scores.den)
        self.gaps[n][name] = min(self.gaps[n][name], least)
        winners = best.sum(axis=1)
        # With all its keys at the nearest gap, most rows would leak too little at the greatest β.
        known = self.betas[n][name]
        leaks = np.log(gaps.shape[1]) - known * ratio(nearest, head.scores.den)
        hard = np.flatnonzero(leaks > np.log(winners * (self.leak / (1 - self.leak))))
        if not len(hard):
            return
        gaps, below, winners = gaps[hard], below[hard], winners[hard]
        floats = np.where(below, ratio(gaps, head.scores.den), np.inf)
        candidates = _hardest(floats, winners, self.leak, known)
        betas = critical_betas(floats[candidates], self.leak, winners[candidates])
        hardest = candidates[int(betas.argmax())]
        if betas.max() > self.betas[n][name] or name not in self.profiles.get(n, {}):
            self.betas[n][name] = float(betas.max())
            chosen = [int(g) for g, b in zip(gaps[hardest], below[hardest], strict=True) if b]
            counted = tuple(
                (Fraction(g, head.scores.den), count)
                for g, count in sorted(Counter(chosen).items())
            )
            profile = Profile(int(winners[hardest]), counted)
            self.profiles.setdefault(n, {})[name] = profile


def _hardest(
    gaps: npt.NDArray[np.float64], winners: npt.NDArray[np.int64], leak: float, beta: float
) -> npt.NDArray[np.int64]:
    """The candidates for the greatest critical β: rows that leak too much at another row's.

    If no row needs more than the given β, any row will do.
    """
    target = np.log(winners * (leak / (1 - leak)))
    rows = np.arange(len(gaps))
    while len(rows) > FEW_ROWS:
        with np.errstate(under="ignore", divide="ignore"):
            here = np.exp(-beta * gaps[rows]) if beta else np.isfinite(gaps)
            excess = np.log(here.sum(axis=1)) - target[rows]
        worst = rows[[int(excess.argmax())]]
        if excess.max() <= 1e-9:  # its own, and nobody's is greater
            return worst
        rows = rows[excess >= 0]
        beta = float(critical_betas(gaps[worst], leak, winners[worst])[0])
    return rows


def _counterexample(
    spelled: Word, head: HeadTrace, word: int, row: int, first: int, name: HeadId
) -> TiedRow:
    scores = tuple(
        Fraction(int(s), head.scores.den) if allowed else None
        for s, allowed in zip(head.scores.num[word, row], head.mask[row], strict=True)
    )
    positions = tuple(int(j) for j in np.flatnonzero(head.highest[word, row]))
    return TiedRow(spelled, *name, first + row, positions, scores)


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


def chunk(n: int) -> int:
    """Words a batch, so that scores of a batch stay near a million entries."""
    return max(64, 1_000_000 // ((n + 1) ** 2))


def row_tally(model: AHAT, n: int, leak: float) -> Tally:
    """Rows, gaps and critical β of each head over all words of length n."""
    tally = Tally(model, leak)
    for codes in all_words(len(model.alphabet), n, chunk(n)):
        tally.add(run(model, codes))
    return tally
