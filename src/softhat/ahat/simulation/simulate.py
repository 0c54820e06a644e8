"""Simulating an AHAT by softmax attention with temperature scaling.

`simulate` chooses an inverse temperature β for every head and returns a softmax transformer with
the same layers, whose certificate says how far its values can be from the AHAT's, for which
lengths and in which arithmetic. It is saved as a model folder: `ahat.json` (the source),
`model.safetensors` (float64 weights, β folded into the queries), `config.json`,
`certificate.json`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.structure import nested_averages
from softhat.ahat.model import AHAT, Word
from softhat.ahat.simulation import soft
from softhat.ahat.simulation.certificate import Certificate, certify
from softhat.ahat.simulation.lengths import FEW_WORDS, MANY_WORDS, Lengths
from softhat.ahat.simulation.snap import snapped
from softhat.ahat.simulation.temperature import Choice, NoTemperatureError, choose
from softhat.ahat.simulation.unique import tie_broken
from softhat.ahat.words import feasible_length
from softhat.errors import CertificateError, CertificateWarning, SofthatError
from softhat.runtime.trace import Trace

HeadId = tuple[int, int]
OUTPUT = "value"
BATCH = 1 << 22  # scores of one head at a time


@dataclass(frozen=True, slots=True)
class Size:
    """What the model is made of; `heads` is the total, `parameters` counts stored entries."""

    layers: int
    heads: int
    d_model: int
    d_ff: int
    parameters: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """A softmax transformer that simulates `source`: its β and its certificate."""

    source: AHAT
    betas: Mapping[HeadId, float]
    length: int  # to which it was made
    _certificate: list[Certificate] = field(default_factory=list, repr=False)
    _pending: Callable[[], Certificate] | None = field(default=None, repr=False)

    @property
    def certificate(self) -> Certificate:
        """What is proved about it; computed when first asked for."""
        if not self._certificate:
            if self._pending is None:
                raise SofthatError("this simulation has no certificate: make it with simulate")
            self._certificate.append(self._pending())
        return self._certificate[0]

    @property
    def alphabet(self) -> tuple[str, ...]:
        return self.source.alphabet

    @property
    def size(self) -> Size:
        layers = self.source.layers
        widths = [len(x.feed_forward.in_weights) for x in layers if x.feed_forward is not None]
        from softhat.ahat.simulation.folder import tensors

        stored = sum(t.size for t in tensors(self.source, self.betas).values())
        heads = sum(len(layer.heads) for layer in layers)
        return Size(len(layers), heads, self.source.d_model, max(widths, default=0), stored)

    def values(
        self, word: Word, dtype: str = "float64", strict: bool = False
    ) -> npt.NDArray[np.float64]:
        """The softmax model's value at each position (not at `<bos>`)."""
        return self.margins_many([word], dtype, strict=strict)[0]

    def truth(
        self,
        word: Word,
        dtype: str = "float64",
        output: str | None = None,
        runtime: str = "auto",
        strict: bool = False,
    ) -> npt.NDArray[np.bool_]:
        """The decisions value > 0."""
        return self.margins(word, dtype, output, runtime, strict) > 0

    def truth_many(
        self,
        words: Iterable[Word],
        dtype: str = "float64",
        output: str | None = None,
        runtime: str = "auto",
        strict: bool = False,
    ) -> list[npt.NDArray[np.bool_]]:
        """The decisions on many words, batched by length."""
        return [row > 0 for row in self.margins_many(words, dtype, output, runtime, strict)]

    def margins(
        self,
        word: Word,
        dtype: str = "float64",
        output: str | None = None,
        runtime: str = "auto",
        strict: bool = False,
    ) -> npt.NDArray[np.float64]:
        """Signed distance from the threshold: the values themselves, > 0 iff true."""
        return self.margins_many([word], dtype, output, runtime, strict)[0]

    def margins_many(
        self,
        words: Iterable[Word],
        dtype: str = "float64",
        output: str | None = None,
        runtime: str = "auto",
        strict: bool = False,
    ) -> list[npt.NDArray[np.float64]]:
        """`margins` of each word; words of equal length run together."""
        if output not in (None, OUTPUT):
            raise SofthatError(f"no output {output!r}: a simulation has one, {OUTPUT!r}")
        if runtime not in ("auto", "dense"):
            raise SofthatError(f"a simulation runs densely: runtime cannot be {runtime!r}")
        parts = [self.source.symbols(word) for word in words]
        result: list[npt.NDArray[np.float64]] = [np.zeros(0)] * len(parts)
        for n in sorted({len(p) for p in parts}):
            self._within(n, dtype, strict)
            chosen = [k for k, p in enumerate(parts) if len(p) == n]
            step = max(1, BATCH // (n + 1) ** 2)
            for start in range(0, len(chosen), step):
                batch = chosen[start : start + step]
                codes = self.source.codes([parts[k] for k in batch])
                found = soft.values(self.source, self.betas, codes, dtype)
                for k, row in zip(batch, found, strict=True):
                    result[k] = row
        return result

    def accepts(
        self, word: Word, at: str | None = None, dtype: str = "float64", output: str | None = None
    ) -> bool:
        """The decision at the last position (or the first, `at="first"`)."""
        where = 0 if self.acceptance(output, at) == "first" else -1
        return bool(self.truth(word, dtype, output)[where])

    def acceptance(
        self, output: str | None = None, at: str | None = None
    ) -> Literal["first", "last"]:
        """Where acceptance is read off."""
        if at not in (None, "first", "last"):
            raise SofthatError(f"at must be first or last, not {at!r}")
        return "first" if at == "first" else "last"

    def run(self, word: Word, dtype: str = "float64") -> Trace:
        """One forward pass: attention, scores (after β and masking), residual, head names."""
        return soft.run(self.source, self.betas, self.source.symbols(word), dtype)

    def save(self, path: str | Path) -> None:
        """Write the model folder."""
        from softhat.ahat.simulation.folder import save

        save(self, Path(path))

    def _within(self, n: int, dtype: str, strict: bool) -> None:
        """Past the certificate: a warning, or an error if strict.

        A certificate that nobody asked for yet is computed here only where the answer depends on
        it: in float64, to the length that was asked of `simulate`, it is not.
        """
        soft.known_dtype(dtype)
        if not self._certificate and not strict and dtype == "float64" and n <= self.length:
            return
        reached = self.certificate.max_length.get(dtype, 0)
        if n <= reached:
            return
        text = f"length {n} is past the certificate, which ends at {reached} in {dtype}"
        if strict:
            raise CertificateError(text)
        warnings.warn(text, CertificateWarning, stacklevel=4)


def simulate(
    model: AHAT,
    max_length: int = 64,
    epsilon: float | None = 1e-3,
    snap: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Simulation:
    """A softmax transformer within ε of the AHAT on every word to `max_length`.

    With `epsilon=None` the decisions value > 0 have to agree instead, which needs the error to
    stay below the least distance of an exact value from 0. `snap` adds feed-forward layers that
    set the error to 0 before heads whose scores would carry it. Raises NoTemperatureError, with the
    reason and the numbers, where no temperature can be certified.
    """
    if max_length < 1:
        raise SofthatError(f"max_length must be at least 1, not {max_length}")
    if epsilon is not None and not (epsilon > 0 and math.isfinite(epsilon)):
        raise SofthatError(f"epsilon must be a positive number, not {epsilon}")
    longest = model.longest
    if longest is not None and longest < max_length:
        raise SofthatError(
            f"the position tables end at length {longest}: max_length cannot be {max_length}"
        )
    model = tie_broken(model, max_length)
    if snap:
        model = snapped(model, max_length)
    lengths = Lengths(model, max_length)
    reached = _reachable(lengths, max_length)
    if reached < max_length:
        raise NoTemperatureError(
            f"no certificate to length {max_length}: at length {reached + 1}, "
            f"{lengths.reason(reached + 1)}{_hint(lengths, reached)}"
        )
    try:
        choice = _choice(lengths, max_length, epsilon, progress)
    except NoTemperatureError:
        if lengths.method(max_length) != "sets" or not _runnable(model, max_length):
            raise
        lengths = Lengths(model, max_length, MANY_WORDS)  # slower, but tight
        choice = _choice(lengths, max_length, epsilon, progress)
    return _finished(model, lengths, choice, epsilon)


def _choice(
    lengths: Lengths,
    max_length: int,
    epsilon: float | None,
    progress: Callable[[str], None] | None,
) -> Choice:
    target = _decision_margin(lengths, max_length) if epsilon is None else epsilon
    return choose(lengths, max_length, target * (1 - 1e-6), progress)


def _runnable(model: AHAT, n: int) -> bool:
    return len(model.alphabet) ** n <= MANY_WORDS


def _finished(model: AHAT, lengths: Lengths, choice: Choice, epsilon: float | None) -> Simulation:
    def pending() -> Certificate:
        return certify(lengths, choice, epsilon)

    return Simulation(model, dict(choice.betas), max(choice.bounds), [], pending)


def _reachable(lengths: Lengths, max_length: int) -> int:
    """The greatest length to which every length can be bounded."""
    if lengths.uniform or lengths.method(max_length) == "sets":
        return max_length  # shorter words reach no more vectors
    n = feasible_length(len(lengths.model.alphabet), max_length, MANY_WORDS)
    while n < max_length and lengths.method(n + 1) != "none":
        n += 1
    return n


def _hint(lengths: Lengths, reached: int) -> str:
    """What can be had, the least gap there, and the heads whose gaps are hopeless."""
    text = ""
    for l, h in nested_averages(lengths.model):
        text += (
            f". Layer {l} head {h} scores averages of averages: their gaps shrink exponentially, "
            "about a bit a token, and no temperature helps long words"
        )
    if reached < 1:
        return text
    shown = feasible_length(len(lengths.model.alphabet), reached, FEW_WORDS)
    gaps = lengths.gaps(shown)
    name = min(gaps, key=lambda key: gaps[key])
    needed = math.log(1000) / float(gaps[name])
    return (
        f"{text}. At length {shown} the least gap is {gaps[name]} "
        f"(layer {name[0]} head {name[1]}), which takes β near {needed:.3g} for a leak of 1e-3; "
        f"max_length={reached} can be had"
    )


def _decision_margin(lengths: Lengths, max_length: int) -> float:
    """The least |exact value|: an error below it changes no decision."""
    if lengths.uniform:
        return 1.0  # no error at all
    margin, word = min(lengths.exact_margin(n) for n in range(1, max_length + 1))
    if margin == 0:
        raise NoTemperatureError(
            f"the exact value can be 0 ({word}), on the threshold itself: any error may change "
            "the decision there; give an epsilon, or add a bias that keeps values off 0"
        )
    return margin * (1 - 1e-9)


def load(path: str | Path) -> Simulation:
    """Read a simulation from its model folder."""
    from softhat.ahat.simulation.folder import load as read

    return read(path)
