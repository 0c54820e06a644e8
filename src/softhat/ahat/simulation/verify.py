"""Test a simulation against exact evaluation: all short words, and random longer ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.ahat.exact import ExactTrace, run
from softhat.ahat.model import Word
from softhat.ahat.simulation.simulation import Simulation
from softhat.ahat.words import all_words, feasible_length, random_words
from softhat.numerics.masks import allowed
from softhat.transformer.weights import inverse_temperature

FAR = 64  # how long words get of a simulation for every length, unless told


@dataclass(frozen=True, slots=True)
class Violation:
    """A word on which the simulation is not what its certificate says."""

    word: Word
    position: int  # 0-based
    expected: float  # the AHAT's exact value
    value: float  # the softmax model's
    reason: str


@dataclass(frozen=True, slots=True)
class SimulationVerification:
    """The result of `verify_simulation`."""

    ok: bool
    words: int
    exhaustive_length: int
    counterexample: Violation | None
    max_leak: float
    min_margin: float  # least |softmax value|, on the right side of the threshold
    max_error: float
    runtime: str = "dense"  # what ran the words


def verify_simulation(
    simulation: Simulation,
    exhaustive: int = 10,
    random: int = 1000,
    seed: int = 0,
    max_length: int | None = None,
    max_words: int = 2_000_000,
    dtype: str = "float64",
    run: Callable[[npt.NDArray[np.int64]], npt.NDArray[Any]] | None = None,
    certified: Mapping[str, int] | None = None,
) -> SimulationVerification:
    """Run words and compare with exact values: error within ε (or decisions equal), to length N.

    Lengths never pass the certificate of the dtype, and `exhaustive` ends where there would be
    more than `max_words` words. `run` runs words in place of the dense runtime (an export, by what
    it is for); then `certified` is what is proved of that.
    """
    model, certificate = simulation.source, simulation.certificate
    proved = certificate.max_length if certified is None else certified
    limit = proved.get(dtype, 0) or certificate.length or FAR
    if certificate.length is None:
        limit = min(limit, max_length or FAR)
    top = min(limit, max_length) if max_length else limit
    reached = feasible_length(len(model.alphabet), min(exhaustive, top), max_words)
    state = _State(simulation, dtype, run)
    for n in range(1, reached + 1):
        for codes in all_words(len(model.alphabet), n, max(16, 400_000 // (n + 1) ** 2)):
            state.add(codes)
            if state.violation is not None:
                return state.result(reached)
    lengths = range(reached + 1, top + 1) if reached < top else range(top, top + 1)
    share = -(-random // max(1, len(lengths)))
    for n in lengths if random else ():
        state.add(random_words(len(model.alphabet), n, share, seed))
        if state.violation is not None:
            break
    return state.result(reached)


class _State:
    def __init__(
        self,
        simulation: Simulation,
        dtype: str,
        run: Callable[[npt.NDArray[np.int64]], npt.NDArray[Any]] | None,
    ) -> None:
        self.simulation, self.dtype = simulation, dtype
        self.run = run if run is not None else partial(simulation.run_batch, dtype=dtype)
        self.words, self.leak, self.margin, self.error = 0, 0.0, np.inf, 0.0
        self.violation: Violation | None = None

    def add(self, codes: npt.NDArray[np.int64]) -> None:
        source = self.simulation.source
        trace = run(source, codes)
        exact = trace.output.floats()[:, trace.own]
        positive = (trace.output.num[:, trace.own] > 0).astype(bool)
        values = self.run(codes)[..., 0].astype(np.float64)
        errors = np.abs(values - exact)
        margins = np.where(positive, values, -values)
        self.words += len(codes)
        self.error = max(self.error, float(errors.max()))
        self.margin = min(self.margin, float(margins.min()))
        self.leak = max(self.leak, measured_leak(self.simulation, codes, trace))
        epsilon = self.simulation.certificate.epsilon
        wrong = (values > 0) != positive if epsilon is None else errors > epsilon
        wrong |= np.isnan(values)
        if wrong.any():
            w, i = (int(k) for k in np.argwhere(wrong)[0])
            reason = (
                "the decision differs" if epsilon is None
                else f"the error {errors[w, i]:.3g} is more than epsilon = {epsilon:g}"
            )  # fmt: skip
            word = source.spell(codes[w])
            self.violation = Violation(word, i, float(exact[w, i]), float(values[w, i]), reason)

    def result(self, reached: int) -> SimulationVerification:
        return SimulationVerification(
            self.violation is None,
            self.words,
            reached,
            self.violation,
            self.leak,
            self.margin,
            self.error,
        )


def measured_leak(simulation: Simulation, codes: npt.NDArray[np.int64], trace: ExactTrace) -> float:
    """The greatest attention weight outside the exact argmax sets, over these words."""
    ready = simulation.ready("float64")
    x = ready.embed(codes)
    words, rows, d_model = x.shape
    worst = 0.0
    for l, layer in enumerate(ready.layers):
        flat = np.ascontiguousarray(x.transpose(2, 1, 0)).reshape(d_model, rows * words)
        for h, head in enumerate(layer.heads):
            q, k = (m(flat).reshape(-1, rows, words) for m in (head.query, head.key))
            scores = inverse_temperature(head.law, codes.shape[1]) * np.einsum("riw,rjw->wij", q, k)
            scores = np.where(allowed(head.mask, rows), scores, -np.inf)
            top = scores.max(axis=2, keepdims=True)
            weights = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
            outside = np.where(trace.layers[l].heads[h].highest, 0.0, weights).sum(axis=2)
            total = weights.sum(axis=2)
            leak = outside / np.where(total == 0, 1.0, total)
            worst = max(worst, float(leak.max(initial=0.0)))
        x, _ = ready.step(layer, x, keep=False)
    return worst
