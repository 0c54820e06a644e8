"""For which number formats and lengths a stock export is proved right: `certificate.json`.

What the weights compute is derived and bounded in the rooms of the architectures; here is what that
adds up to, and what all of them assume of the software that runs the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import exp, inf
from typing import Any, Protocol, TypeVar

import numpy as np

from softhat.io.errors import VoidError
from softhat.logic.sources import Weights
from softhat.numerics.formats import Format
from softhat.numerics.kernels import EVEN, FAR, NEAR, SDPA
from softhat.proof.document import document
from softhat.proof.stock.automata import Claimed
from softhat.proof.stock.checkpoint import StockCheckpoint
from softhat.proof.stock.derivation import StockDerivation, derive
from softhat.proof.stock.ledger import check_ledger
from softhat.proof.stock.plain_bounds import PlainBounds
from softhat.proof.stock.storage import STORAGES
from softhat.proof.void import UNPROVED, reason_of
from softhat.transformer.directions import Directions

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FormatVerdict:
    """What is proved for one storage format: the longest word, and why not more."""

    max_length: int
    reason: str
    bounds: dict[str, float]


Verdicts = dict[str, FormatVerdict]
NAMES = tuple(storage.name for storage in STORAGES)


@dataclass(frozen=True, slots=True)
class StockCertificate:
    """Lengths of words (without `<bos>`) for which every answer is proved right."""

    target: str
    context: int
    kernel: str
    margin: float | None
    verdicts: dict[str, FormatVerdict]
    assumptions: tuple[str, ...]
    not_left: tuple[str, ...]
    """Formats in which words of a batch must not be padded on the left."""
    void: tuple[str, ...] = ()
    """Why the weights are not proved to compute the formulas at all; empty if they are."""
    disguised: bool = False
    weights: Weights | None = None
    """The log-weights of a language model's tokens, where it states any."""
    activation: str | None = None
    greedy: bool = False
    """Is exactly one token allowed after every history?"""
    tokens: int = 0
    """How many the vocabulary has."""

    @property
    def max_length(self) -> dict[str, int]:
        return {name: verdict.max_length for name, verdict in self.verdicts.items()}

    def padding(self, name: str) -> list[str]:
        """The sides on which words of a batch may be padded, where anything is proved."""
        if not self.verdicts[name].max_length:
            return []
        return ["right"] if name in self.not_left else ["left", "right"]

    def run(self) -> dict[str, Any] | None:
        """What is proved of a machine's runs, where the checkpoint is a machine."""
        if not self.greedy or self.margin is None:
            return None
        longest = max(self.max_length.values())
        return {
            "next": "after every history exactly one token is allowed (decided)",
            "length": "max_length counts the tokens of the prompt and the generated ones, without "
            "<bos>",
            "decoding": "greedy: the allowed token's logit is `margin` above all others",
            "cache": "with a cache of keys and values, or without",
            "sampling_error": longest * self.tokens * exp(-self.margin),
        }

    def to_json(self) -> dict[str, Any]:
        optional = {
            "activation": self.activation,
            "margin": self.margin,
            "weights": self.weights,
            "run": self.run(),
        }
        return document(
            "export",
            self.max_length,
            self.assumptions,
            self.void,
            target=self.target,
            disguised=self.disguised,
            context=self.context,
            kernel=self.kernel,
            **{name: value for name, value in optional.items() if value is not None},
            formats={
                name: {
                    "certified": verdict.max_length == self.context - 1,
                    "max_length": verdict.max_length,
                    "padding": self.padding(name),
                    "reason": verdict.reason,
                    "bounds": verdict.bounds,
                }
                for name, verdict in self.verdicts.items()
            },
        )


def or_reason(read: Callable[[], T]) -> T | str:
    """What was read, or why that is not known."""
    try:
        return read()
    except UNPROVED as error:
        return reason_of(error)


def or_void(prove: Callable[[], Verdicts]) -> tuple[Verdicts, tuple[str, ...]]:
    """What is proved, or that nothing is in any format, and why."""
    proved = or_reason(prove)
    if isinstance(proved, str):
        return dict.fromkeys(NAMES, FormatVerdict(0, proved, {})), (proved,)
    return proved, ()


def only_wide(wide: FormatVerdict) -> Verdicts:
    """A dense basis is for float32; what float64 computes with the same weights errs less."""
    narrow = FormatVerdict(0, "a disguised checkpoint is proved in float32 and float64 only", {})
    return {storage.name: wide if storage.wide else narrow for storage in STORAGES}


def longest(
    check: Callable[[int], None],
    most: int,
    bounds: dict[str, float],
    first: Callable[[], None] | None = None,
) -> FormatVerdict:
    """The longest words that pass: errors only grow with the length, so bisect. `first` checks what
    does not depend on it. `check` writes its bounds into `bounds`: the verdict has those of the
    longest words that pass or, where none do, those of the last trial."""
    reach, too_long, reason = 0, most + 1, ""
    try:
        if first is not None:
            first()
    except VoidError as failure:
        return FormatVerdict(0, str(failure), {})
    trial, sizes = most, bounds
    while too_long - reach > 1:
        try:
            check(trial)
            reach, sizes = trial, dict(bounds)
        except VoidError as failure:
            too_long, reason = trial, str(failure)
        trial = (reach + too_long) // 2
    return FormatVerdict(reach, reason, {name: float(f"{x:.6g}") for name, x in sizes.items()})


class LengthBounds(Protocol):
    """Bounds that hold for words up to some length."""

    bounds: dict[str, float]

    def check(self, n: int) -> None: ...


@dataclass(frozen=True)
class Prover:
    """What is proved of a checkpoint that is claimed to compute `formulas`."""

    checkpoint: StockCheckpoint
    formulas: Mapping[str, Claimed]
    kernel: str
    margin: float | None
    dense: Callable[[Directions], Callable[[], LengthBounds]]
    """What sets up the bounds of the checkpoint in a dense basis, whose directions are these."""

    @property
    def fused(self) -> bool:
        return self.kernel == "sdpa"

    def plain(self) -> tuple[Verdicts, tuple[str, ...]]:
        """For each format how far, and why the weights compute something else at all: float32
        holds every weight, and float64 stores what float32 does."""
        derived = or_reason(lambda: self._derived(self.checkpoint))
        if isinstance(derived, str):
            return dict.fromkeys(NAMES, FormatVerdict(0, derived, {})), (derived,)
        verdicts = {}
        for storage in STORAGES:
            stored = derived if storage.wide else self._stored(derived, storage)
            if isinstance(stored, str):
                verdicts[storage.name] = FormatVerdict(0, stored, {})
            else:
                bounds = PlainBounds(stored, self.fused, storage, self.margin)
                most = stored.architecture.context - 1
                verdicts[storage.name] = longest(
                    bounds.check_length, most, bounds.bounds, bounds.check
                )
        return verdicts, ()

    def _derived(self, c: StockCheckpoint) -> StockDerivation:
        """What the weights compute."""
        self._check_finite(c)
        check_ledger(c)
        return derive(c, self.formulas, reuse=c.architecture.raw)

    def _check_finite(self, c: StockCheckpoint) -> None:
        """All weights are finite, read or not."""
        for name in c.tensors:
            c.tensor(name)

    def _stored(self, derived: StockDerivation, storage: Format) -> StockDerivation | str:
        """What they compute as a small format stores them, or why that is not known. Norms and the
        read-out are no part of what is derived block by block."""
        c = self.checkpoint
        with np.errstate(over="ignore"):
            cast = {n: t.astype(storage.storage).astype(np.float32) for n, t in c.tensors.items()}
        rounded = [n for n, t in c.tensors.items() if not np.array_equal(t, cast[n])]
        for name in rounded:
            if not np.isfinite(cast[name]).all():
                return f"{name} has an entry that {storage.name} does not hold as a finite number"
        stored = replace(c, tensors=cast)
        if all(c.NORM in name or name == c.readout for name in rounded):
            return or_reason(lambda: derived.with_readout(stored))
        again = or_reason(lambda: self._derived(stored))
        if isinstance(again, str):
            return f"{rounded[0]} has entries that {storage.name} cannot hold exactly: {again}"
        return again

    def not_left(self) -> tuple[str, ...]:
        """The formats in which padding on the left is not proved."""
        return () if self.fused else self.checkpoint.ASSUMED.not_left

    def verdicts(self, directions: Directions | None) -> tuple[Verdicts, tuple[str, ...]]:
        """What is proved of a checkpoint, which is disguised if it has directions.

        A margin is a claim as well. One that is not above 0 says nothing: wrong logits have it too.
        """
        if self.margin is not None and not 0 < self.margin < inf:
            reason = f"the margin that is claimed is {self.margin:g}, not a number above 0"
            return dict.fromkeys(NAMES, FormatVerdict(0, reason, {})), (reason,)
        if directions is None:
            return self.plain()

        def prove() -> Verdicts:
            self._check_finite(self.checkpoint)
            bounds = self.dense(directions)
            return dense_verdicts(bounds, self.checkpoint.architecture.context - 1)

        return or_void(prove)

    def assumptions(self, disguised: bool) -> tuple[str, ...]:
        """What the proof takes for granted."""
        assumed = self.checkpoint.ASSUMED
        attention = attention_assumptions(self.kernel, disguised)
        running = running_assumptions(self.not_left())
        return (assumed.sums, *attention, *assumed.others, *running)


def dense_verdicts(bounds: Callable[[], LengthBounds], most: int) -> Verdicts:
    """What is proved of a checkpoint in a dense basis. Bounds that cannot even be set up prove
    nothing."""
    try:
        dense = bounds()
    except VoidError as failure:
        return only_wide(FormatVerdict(0, str(failure), {}))
    return only_wide(longest(dense.check, most, dense.bounds))


def attention_assumptions(kernel: str, disguised: bool) -> list[str]:
    """What the proof takes for granted of an attention kernel."""
    fused = (
        f"scores and softmax in float32, scores not rounded to the storage format; sums over keys "
        f"within ({SDPA.block} + n/{SDPA.block})·2^-24 of the sum of magnitudes (PyTorch's fused "
        f"CPU kernel adds blocks of {SDPA.block}); divided by the sum of weights last"
    )
    eager = (
        "scores and weights are rounded to the storage format, the softmax itself and all sums "
        "are in float32 in any order; weights are normalised before they are summed"
    )
    near_zero = f"exp has a relative error of at most {NEAR}·2^-24 between -{2 * EVEN:g} and 0"
    return [
        fused if kernel == "sdpa" else eager,
        f"softmax subtracts the row's maximum; exp has a relative error of at most 1/{1 / FAR:g}, "
        "and exp(0) = 1",
        *([near_zero] if disguised else []),
    ]


def running_assumptions(not_left: tuple[str, ...]) -> list[str]:
    """What it takes for granted of how the checkpoint is run."""
    but = f"(but not in {' and '.join(not_left)}) " if not_left else ""
    return [
        f"<bos> is the first token, at position 0; padding stands on the right, or {but}on the "
        "left, masked, with position_ids that start at <bos>",
        "evaluation mode (dropout is 0 in the configuration)",
    ]
