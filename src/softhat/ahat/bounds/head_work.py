"""What all rows of one head share over the reachable sets: its options, and errors at a β."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.functionals import HeadPlan
from softhat.numerics.exact import Integers, Scaled, linear, scaled

Floats = npt.NDArray[np.float64]
Members = npt.NDArray[np.int64]  # the queries (flat vectors) that share a row


class HeadOptions:
    """What a head reads of every vector that some position can hold; independent of β."""

    def __init__(self, plan: HeadPlan, x: Scaled) -> None:
        self.plan = plan
        exact_key = linear(x, scaled(plan.head.key))
        exact_values = linear(x, scaled(plan.head.value))
        self.exact_key: Integers = exact_key.num
        self.exact_key_den = exact_key.den
        self.exact_values: Integers = exact_values.num
        self.exact_values_den = exact_values.den
        self.key = exact_key.floats()  # (P, d_k)
        self.query = linear(x, scaled(plan.head.query)).floats()
        self.values = exact_values.floats()  # (P, d_v)
        spread = np.ptp(self.values, axis=0) if len(self.values) else np.zeros(0)
        widest = spread @ np.abs(plan.output.T)
        self.widest = np.concatenate([widest, widest])  # |v - o| along each tracked direction
        exact = np.concatenate([self.exact_key, self.exact_values], axis=1).tolist()
        known: dict[tuple[int, ...], int] = {}
        self.kind_of = np.array([known.setdefault(tuple(v), len(known)) for v in exact])
        """Numbers the vectors by what a row reads of them as keys: equal number, equal part."""


class HeadWork:
    """One head at one β, given the error before its layer."""

    def __init__(self, options: HeadOptions, error: Floats, beta: float) -> None:
        self.options, self.plan, self.beta = options, options.plan, beta
        d_k = len(self.plan.head.query)
        self.value_error = error @ self.plan.value  # (P, 2r)
        self.erring = bool(error.shape[1]) and not self.plan.fact.uniform
        if self.erring:
            q, k = error @ self.plan.query, error @ self.plan.key
            self.q_high, self.q_low = q[:, :d_k], -q[:, d_k:]
            self.k_high, self.k_low = k[:, :d_k], -k[:, d_k:]
            self.k_size = np.maximum(np.abs(self.k_low), np.abs(self.k_high))
            self.erring = bool(q.any() or k.any())

        # Greatest |v - o + error| along each tracked direction, for what is dropped as negligible.
        self.widest = options.widest + np.abs(self.value_error).max(axis=0)

    def kinds(self) -> npt.NDArray[np.int64]:
        """Numbers the vectors by all that a row reads of them as keys, errors included."""
        errors = [self.value_error]
        if self.erring:
            errors += [self.k_low, self.k_high]
        known: dict[tuple[int, bytes], int] = {}
        return np.array(
            [
                known.setdefault((kind, floats.tobytes()), len(known))
                for kind, floats in zip(
                    self.options.kind_of.tolist(), np.concatenate(errors, axis=1), strict=True
                )
            ]
        )


def along(plan: HeadPlan, apart: Floats) -> Floats:
    """v - o along the tracked directions and their negatives, rounded up."""
    moved = apart @ plan.output.T
    slack = rounded_by(plan, apart)
    return np.concatenate([moved + slack, slack - moved], axis=-1)


def rounded_by(plan: HeadPlan, values: Floats) -> Floats:
    """How far values along the tracked directions may be off: a sum of d_v products is off by d_v
    roundings of Σ|products|, in any order, and either factor was rounded once; one more rounding
    covers this product of sizes itself, another the squares."""
    roundings = values.shape[-1] + 4
    size: Floats = np.abs(values) @ np.abs(plan.output.T)
    return roundings * 2.0**-53 * size
