"""Certified error of the softmax model on given words: the bounds of one row, layer by layer.

For each word the exact run is known, so each row's argmax set, gaps and values are exact; what
softmax adds is an error whose tracked functionals are bounded from both sides. Theorem 33. With M =
W_Qᵀ W_K and input errors e, the score of key j moves, against a reference key of the argmax set, by
e_iᵀM(x_j - x_ref) + (x_i + e_i)ᵀM(e_j - e_ref); weights follow, and the head's error is the largest
weighted mean of v_j - o + (error of v_j). Sums over all words of a length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.functionals import ErrorPlan, HeadPlan
from softhat.ahat.bounds.head_work import along
from softhat.ahat.bounds.means import largest_mean, weights
from softhat.ahat.bounds.relu import through_forward
from softhat.ahat.exact import ExactTrace
from softhat.numerics.exact import HeadTrace, Scaled, add, linear, ratio, scaled

Floats = npt.NDArray[np.float64]
REMEMBERED = 4
"""Of each head: as it is, as it is tried, and as it was before that."""


@dataclass(frozen=True, slots=True)
class ExactRows:
    """What the bounds of a head's rows rest on, whatever β and the errors are."""

    gaps: Floats  # (W, T, T): to the best score
    reference: npt.NDArray[np.int64]  # (W, T): the first key that has it
    along: Floats  # (W, T, T, 2r'): v_j - o along the directions that the head moves


@dataclass(frozen=True, slots=True)
class WordErrors:
    """Bounds for a batch of words of one length."""

    high: Floats  # (W, n): soft value - exact value ≤ high
    low: Floats  # ≥ low
    leaks: Mapping[tuple[int, int], float]  # greatest leak of each head
    head_errors: Mapping[tuple[int, int], float]  # greatest error a head adds to what is tracked


class HeadMemory:
    """The latest errors of each head of one batch: a search changes one β after another, and heads
    whose β and inputs are the same err as before."""

    def __init__(self) -> None:
        self._latest: dict[tuple[int, int], dict[tuple[float, bytes], tuple[Floats, float]]] = {}
        self._rows: dict[tuple[int, int], ExactRows] = {}

    def rows(self, name: tuple[int, int], plan: HeadPlan, seen: HeadTrace) -> ExactRows:
        """What is the same at every β."""
        if name not in self._rows:
            self._rows[name] = exact_rows(plan, seen)
        return self._rows[name]

    def recall(
        self,
        name: tuple[int, int],
        read: Floats,
        beta: float,
        computed: Callable[[], tuple[Floats, float]],
    ) -> tuple[Floats, float]:
        """What a head gives for the errors that it reads, at a β."""
        known, key = self._latest.setdefault(name, {}), (beta, read.tobytes())
        latest = known.pop(key, None) or computed()
        known[key] = latest
        while len(known) > REMEMBERED:
            known.pop(next(iter(known)))
        return latest


def word_errors(
    plan: ErrorPlan,
    trace: ExactTrace,
    betas: Mapping[tuple[int, int], float],
    memory: HeadMemory | None = None,
) -> WordErrors:
    """Bounds on softmax minus average-hard values, for every word of the batch; the memory is of
    the same batch."""
    words, length = trace.residual.num.shape[:2]
    rows = words * length
    error = np.zeros((words, length, 2 * len(plan.start.rows)))
    leaks: dict[tuple[int, int], float] = {}
    by_head: dict[tuple[int, int], float] = {}
    for l, (layer, exact) in enumerate(zip(plan.layers, trace.layers, strict=True)):
        middle = error @ layer.residual
        for h, (head, seen) in enumerate(zip(layer.heads, exact.heads, strict=True)):
            beta = betas.get((l, h), 1.0)
            read = np.concatenate([head.query, head.key, head.value], axis=1).any(axis=1)
            if memory is None:
                known = partial(exact_rows, head.narrowed[0], seen)
                added, leaks[l, h] = head_error(head, seen, exact.before, error, beta, known)
            else:
                known = partial(memory.rows, (l, h), head.narrowed[0], seen)
                compute = partial(head_error, head, seen, exact.before, error, beta, known)
                added, leaks[l, h] = memory.recall((l, h), error[..., read], beta, compute)
            by_head[l, h] = float(added.max(initial=0.0))
            middle = middle + added
        pre = None if exact.pre is None else exact.pre.floats().reshape(rows, -1)
        error = through_forward(layer, middle.reshape(rows, -1), pre)
        error = error.reshape(words, length, -1)
    value = (error @ plan.value)[:, trace.own]
    return WordErrors(value[..., 0], -value[..., 1], leaks, by_head)


def head_error(
    plan: HeadPlan,
    seen: HeadTrace,
    before: Scaled,
    error: Floats,
    beta: float,
    rows: Callable[[], ExactRows],
) -> tuple[Floats, float]:
    """The head's error along the directions tracked after it, (W, T, 2r), and its greatest leak."""
    words, length = seen.best.shape[:2]
    outputs = plan.output.shape[0]
    plan, moved = plan.narrowed
    value_error = error @ plan.value  # (W, T, 2r'), r' of the directions that the head moves
    valid = np.broadcast_to(seen.mask, seen.best.shape)
    if plan.fact.uniform:
        count = np.maximum(seen.mask.sum(axis=1), 1)[:, None]
        mean = np.einsum("ij,wjr->wir", seen.mask.astype(float), value_error) / count
        return _spread(mean * (1 + 1e-14), moved, outputs), 0.0
    known = rows()
    low, high = _exponents(plan, seen, before, error, beta, known)
    w_low, w_high = weights(low, high)
    best = seen.best
    rest = np.where(valid & ~best, w_high, 0.0).sum(axis=2)
    winning = np.where(best, w_low, 0.0).sum(axis=2)
    with np.errstate(invalid="ignore"):
        leaked = np.where(np.isfinite(rest), rest / np.maximum(winning + rest, 1e-300), 1.0)
    leak = float(leaked.max(initial=0.0))
    if not len(moved):
        return np.zeros((words, length, 2 * outputs)), leak
    # Inside an argmax set of exactly equal weights the values average to o: only their own
    # errors remain, and no rounding of v - o may spoil that.
    equal = np.all(np.where(best, (low == 0) & (high == 0), True), axis=2)
    z = (
        np.where((best & equal[..., None])[..., None], 0.0, known.along)
        + value_error[:, None, :, :]
    )
    flat = (words * length, length)
    result = largest_mean(
        w_low.reshape(flat), w_high.reshape(flat), z.reshape(*flat, -1), valid.reshape(flat)
    )
    return _spread(result.reshape(words, length, -1), moved, outputs), leak


def _spread(error: Floats, moved: npt.NDArray[np.int64], outputs: int) -> Floats:
    """Bounds along all directions, and their negatives, from those that a head moves."""
    result = np.zeros((*error.shape[:2], 2 * outputs))
    result[..., np.concatenate([moved, moved + outputs])] = error
    return result


def _exponents(
    plan: HeadPlan,
    seen: HeadTrace,
    before: Scaled,
    error: Floats,
    beta: float,
    known: ExactRows,
) -> tuple[Floats, Floats]:
    """β times (score moved - best score), from below and above; (W, T, T)."""
    gaps, reference = known.gaps, known.reference
    shift_low = shift_high = np.zeros_like(gaps)
    if plan.query.any() or plan.key.any():
        shift_low, shift_high = _shifts(plan, before, error, reference)
    low = beta * (shift_low - gaps)
    high = beta * (shift_high - gaps)
    itself = np.zeros_like(gaps, dtype=bool)
    np.put_along_axis(itself, reference[..., None], True, axis=2)
    masked = ~np.broadcast_to(seen.mask, gaps.shape)
    return (
        np.where(itself | masked, 0.0, low),
        np.where(itself | masked, 0.0, high),
    )


def exact_rows(plan: HeadPlan, seen: HeadTrace) -> ExactRows:
    """Gaps and values, exactly and then as floats."""
    reference = seen.best.argmax(axis=2)
    top = np.take_along_axis(seen.scores.num, reference[..., None], axis=2)
    apart = add(
        Scaled(seen.values.num[:, None, :, :], seen.values.den),
        Scaled(-seen.mean.num[:, :, None, :], seen.mean.den),
    )
    gaps = ratio(top - seen.scores.num, seen.scores.den)
    return ExactRows(gaps, reference, along(plan, apart.floats()))


def _shifts(
    plan: HeadPlan, before: Scaled, error: Floats, reference: npt.NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Bounds on how the score of j moves against the reference key's, (W, T, T)."""
    query = linear(before, scaled(plan.head.query)).floats()  # (W, T, d_k)
    key = linear(before, scaled(plan.head.key))
    d_k = query.shape[-1]
    q_error, k_error = error @ plan.query, error @ plan.key
    q_high, q_low = q_error[..., :d_k], -q_error[..., d_k:]
    k_high, k_low = k_error[..., :d_k], -k_error[..., d_k:]
    words = np.arange(len(query))[:, None]
    chosen = Scaled(key.num[words, reference][:, :, None, :], key.den)
    apart = add(Scaled(key.num[:, None, :, :], key.den), Scaled(-chosen.num, chosen.den)).floats()
    first = interval_times(q_low[:, :, None], q_high[:, :, None], apart, apart)
    ref_low, ref_high = k_low[words, reference][:, :, None], k_high[words, reference][:, :, None]
    full_low, full_high = (query + q_low)[:, :, None], (query + q_high)[:, :, None]
    second = interval_times(
        full_low, full_high, k_low[:, None] - ref_high, k_high[:, None] - ref_low
    )
    low, high = (first[0] + second[0]).sum(axis=3), (first[1] + second[1]).sum(axis=3)
    size = np.abs(np.stack([*first, *second])).sum(axis=(0, 4)) * 1e-14
    return low - size, high + size


def interval_times(
    a_low: Floats, a_high: Floats, b_low: Floats, b_high: Floats
) -> tuple[Floats, Floats]:
    """Interval product, entry by entry."""
    corners = (a_low * b_low, a_low * b_high, a_high * b_low, a_high * b_high)
    low = np.minimum(np.minimum(corners[0], corners[1]), np.minimum(corners[2], corners[3]))
    high = np.maximum(np.maximum(corners[0], corners[1]), np.maximum(corners[2], corners[3]))
    return low, high
