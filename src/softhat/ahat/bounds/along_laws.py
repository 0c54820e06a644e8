"""The error of softmax at one length and given β, from the gap laws and ranges alone.

The same inequality of one row that temperature laws are made of (Theorem 12), with numbers for
laws: total variation of a row ≤ (T-1)·e^(-β(γ-η)) + tanh(βη/4), errors passed on through absolute
weights. Looser than the bounds on words and sets, independent of how many there are, and quick at
any length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.gap_laws import HeadId, gap_laws
from softhat.ahat.analysis.peaks import crowd
from softhat.ahat.model import AHAT
from softhat.numbers.growth import Polynomial
from softhat.numbers.laws import Law
from softhat.numerics.exact import floats
from softhat.proof.simulations.residual import Sight

Floats = npt.NDArray[np.float64]
WIDER = 1 + 1e-11  # covers the rounding of this computation itself


@dataclass(frozen=True, slots=True)
class LawErrors:
    """Bounds for every word of a length."""

    error: float
    leaks: Mapping[HeadId, float]
    added: Mapping[HeadId, float]  # the greatest error that a head adds to a coordinate


class AlongLaws:
    """Bounds at every length of one model; what does not depend on n and β is kept."""

    def __init__(self, model: AHAT) -> None:
        self.model = model
        self.laws = gap_laws(model)
        self._heads = {
            name: None
            if law is None
            else _LawHead(view, law, self.laws.portrait.copies[name], model)
            for (name, view), law in zip(
                self.laws.portrait.views.items(), self.laws.gap.values(), strict=True
            )
        }
        d = model.d_model
        self._values = [
            [np.abs(floats(h.output) @ floats(h.value, d)) for h in layer.heads]
            for layer in model.layers
        ]
        self._forwards = [
            None
            if layer.feed_forward is None
            else np.abs(floats(layer.feed_forward.out_weights))
            @ np.abs(floats(layer.feed_forward.in_weights, d))
            for layer in model.layers
        ]
        self._output = np.abs(floats((model.output_weights,))[0])

    def errors(self, n: int, betas: Mapping[HeadId, float]) -> LawErrors:
        """The certified error over all words of length n."""
        error = np.zeros(self.model.d_model)
        leaks: dict[HeadId, float] = {}
        added: dict[HeadId, float] = {}
        with np.errstate(over="ignore", invalid="ignore"):
            for l, layer in enumerate(self.model.layers):
                after = error.copy()
                for h in range(len(layer.heads)):
                    head = self._heads[l, h]
                    passed = self._values[l][h] @ error
                    leaks[l, h] = 0.0
                    if head is not None:
                        moved, leaks[l, h] = head.moved(n, betas.get((l, h), 1.0), error)
                        passed = passed + moved * head.widths(n)
                    added[l, h] = float(passed.max(initial=0.0))
                    after = after + passed
                forward = self._forwards[l]
                error = after if forward is None else after + forward @ after
        total = float(self._output @ error) * WIDER
        return LawErrors(total if math.isfinite(total) else math.inf, leaks, added)


class _LawHead:
    """One head that is not uniform: its gap law, its crowd, and the ranges of what it reads."""

    def __init__(self, view: Sight, gap: Law, copies: bool, model: AHAT) -> None:
        self.gap, self.copies, self.keys = gap, copies, model.sinks
        self.crowd = crowd(view)
        d, state, head = model.d_model, view.stream, view.head
        self.query = np.abs(floats(head.query, d))
        self.key = np.abs(floats(head.key, d))
        self.apart = [state.range(k).width for k in view.key]
        self.size = [state.range(q).size for q in view.query]
        self.written = [
            state.range(
                state.read(
                    tuple(
                        sum((o * row[c] for o, row in zip(out, head.value, strict=True)), start)
                        for c in range(d)
                    )
                )
            ).width
            for out in head.output
            for start in [model.output_bias * 0]
        ]
        self._at: dict[int, tuple[Floats, Floats, Floats, float]] = {}

    def widths(self, n: int) -> Floats:
        return self._known(n)[0]

    def moved(self, n: int, beta: float, error: Floats) -> tuple[float, float]:
        """Total variation against hard attention, and the leak."""
        _, apart, size, gap = self._known(n)
        q, k = self.query @ error, self.key @ error
        off = beta * float(q @ (apart + 2 * k) + size @ (2 * k)) * WIDER
        exponent = beta * gap - off
        if self.crowd is not None:
            steep = beta * gap  # every multiple of the gap is off by the same at most
            rest = self.crowd / math.expm1(steep) if 0 < steep < 700 else 0.0
            rest = math.inf if steep <= 0 else rest * math.exp(min(off, 700.0))
        else:
            rest = (n + self.keys - 1) * math.exp(min(-exponent, 700.0))
        leak = rest / (1 + rest) if math.isfinite(rest) else 1.0
        tilt = 0.0 if self.copies else math.tanh(off / 4)
        return min(1.0, leak + tilt) * WIDER, min(1.0, leak * WIDER)

    def _known(self, n: int) -> tuple[Floats, Floats, Floats, float]:
        if n not in self._at:
            self._at[n] = (
                _at(self.written, n), _at(self.apart, n), _at(self.size, n),
                math.exp(self.gap.log_at(n)) / WIDER,
            )  # fmt: skip
        return self._at[n]


def _at(polynomials: list[Polynomial], n: int) -> Floats:
    return np.array([float(p.at(n)) for p in polynomials], dtype=np.float64) * WIDER
