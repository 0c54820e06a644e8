"""From what was derived to a certificate: lengths for each number format, slack, reasons.

Whoever looks for the longest length (`softhat.proof.longest`) need not be believed: what it says is
asked again here, at the lengths that stand for all up to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from math import inf, isnan

from softhat.logic.syntax.nodes import Formula
from softhat.numbers.positions import Named
from softhat.numbers.rationals import grid_of
from softhat.numerics.formats import CAP, Format
from softhat.proof.certificate import (
    Certificate,
    HeadCertificate,
    OutputCertificate,
    WhenRead,
)
from softhat.proof.gates import Clip, GateSum, Threshold
from softhat.proof.heads import bound
from softhat.proof.heads.kind import Kind
from softhat.proof.softmax import Bound
from softhat.transformer.weights import Transformer

CONSIDERED = "the largest length considered"
ASSUMPTIONS = (
    "softhat's dense runtime: projections, scores, weights, head outputs, hidden units and the "
    "residual stream are rounded to the dtype; sums are taken in float32 (float64 for float64, for "
    "scores of more than three products and for sums of more than eight hidden units), in any "
    "order, fused or not, without TF32",
    "IEEE 754 arithmetic, rounding to nearest, ties to even",
    "softmax subtracts the row's maximum; exp(0) = 1 and exp is otherwise within 4 units in the "
    "last place; weights are divided by their sum last",
    "hidden units with equal incoming weights share one sum: the two units of a clip round alike",
    f"lengths are cut at 2^53 = {CAP}",
)


@dataclass(slots=True)
class ProvedHead:
    layer: int
    head: int
    label: str
    kind: Kind
    by_format: dict[str, Kind | str]
    """As each format stores it, or why that proves nothing."""
    slack: float = inf


@dataclass(slots=True)
class Proof:
    """What has been derived so far."""

    heads: list[ProvedHead] = field(default_factory=list)
    clips: dict[tuple[int, Clip], str] = field(default_factory=dict)
    outputs: list[tuple[str, Threshold | None, bool]] = field(default_factory=list)
    longest: int = CAP
    end: str = CONSIDERED
    """Why there is nothing beyond `longest`."""

    def unmet(self, what: str) -> list[str]:
        """A reason for each output that does not compute what it is claimed to."""
        return [
            f"output {output!r} does not compute {what}"
            for output, _, equal in self.outputs
            if not equal
        ]


class Report:
    """From what was derived to lengths."""

    def __init__(
        self,
        t: Transformer,
        formulas: Mapping[str, Formula | str],
        proof: Proof,
        reasons: list[str],
        formats: Mapping[str, Format],
    ) -> None:
        self.t, self.formulas, self.proof = t, formulas, proof
        self.reasons = reasons
        self.formats = formats
        self.scaled = t.attention == "temperature"
        self.limits: dict[tuple[object, str], tuple[int, str]] = {}
        self.bounds: dict[tuple[int, int, str], Bound | str] = {}
        """Of kinds, by their identity; for the worst of all lengths to n, -n stands for n."""
        self.landmarks = {form.name: list[int]() for form in formats.values()}
        """Limits that were found in each format, in order. Heads tend to share them."""
        self.also: list[Callable[[int, Format], str | None]] = []
        """Further reasons why a length may fail in a format."""

    def run(self) -> Certificate:
        proof = self.proof
        for (_, clip), _ in proof.clips.items():
            self._slack(clip.sum, min(clip.sum.top - clip.width, 1 - clip.sum.top))
        outputs = []
        for output, threshold, equal in proof.outputs:
            assert threshold is not None
            top = threshold.sum.top
            slack = self._slack(threshold.sum, min(top, 1 - top))
            outputs.append(OutputCertificate(output, self._formula(output), equal, slack))
            if slack <= 0:
                self.reasons.append(f"the read-out of {output!r} can be wrong by the leak alone")
        heads = tuple(self._head(head) for head in proof.heads if head.head >= 0)
        if any(head.slack <= 0 for head in heads):
            self.reasons.append("a gate can be wrong by the leak alone")
        max_length, binding = {}, {}
        for form in self.formats.values():
            n, why = self.limit(form) if not self.reasons else (0, "void")
            max_length[form.name], binding[form.name] = n, why
        return Certificate(
            attention=self.t.attention,
            max_length=max_length,
            binding=binding,
            heads=heads,
            outputs=tuple(outputs),
            assumptions=ASSUMPTIONS,
            every_length=not self.reasons and proof.longest == CAP,
            void=tuple(self.reasons),
        )

    def _formula(self, output: str) -> str:
        from softhat.logic.syntax.print import to_short  # a text beside the proof, no part of it

        claim = self.formulas[output]
        return claim if isinstance(claim, str) else to_short(claim, 200)

    # In the reals

    def _slack(self, total: GateSum, room: float) -> float:
        """What a sum tolerates beyond the leak of the heads in it, noted for each head."""
        leaks = [self.proof.heads[at].kind.leak for at, _ in total.raws]
        slack = room - sum(leaks)
        for at, _ in total.raws:
            head = self.proof.heads[at]
            head.slack = min(head.slack, slack)
        return slack

    def _head(self, head: ProvedHead) -> HeadCertificate:
        ends = cache(partial(self._ends_of, head.by_format))
        sharpness = self.t.layers[head.layer].sharpness[head.head]
        law = self.t.layers[head.layer].laws[head.head]
        reach = getattr(head.kind, "reach", None)
        return HeadCertificate(
            layer=head.layer,
            head=head.head,
            kind=head.kind.name,
            label=head.label,
            numbers=head.kind.numbers,
            min_gap=head.kind.min_gap,
            leak=head.kind.leak,
            holds_for="every n" if reach is None else f"n <= {reach}",
            beta=law.text
            if isnan(sharpness)
            else f"{sharpness:g}·P, P the next power of two >= n+2",
            slack=head.slack,
            max_length=WhenRead(lambda: {name: n for name, (n, _) in ends().items()}),
            reasons=WhenRead(lambda: {name: why for name, (_, why) in ends().items()}),
        )

    def _ends_of(self, by_format: Mapping[str, Kind | str]) -> dict[str, tuple[int, str]]:
        """For each format how far a head is proved alone, and what ends the proof there."""
        ends = {}
        for form in self.formats.values():
            kind = by_format[form.name]
            try:
                ends[form.name] = (
                    (0, kind) if isinstance(kind, str) else self._kind_limit(kind, form)
                )
            except ArithmeticError as error:
                ends[form.name] = 0, f"its bounds are beyond float64 ({error})"
        return ends

    # In floating point

    def _kind_limit(self, kind: Kind, form: Format, upto: int | None = None) -> tuple[int, str]:
        """How far a head is proved, to `upto` at most: all that matters where something else ends
        there, and one question instead of many."""
        key = (kind, form.name)
        if key not in self.limits:
            limit = self._search(lambda n: self._bound(kind, n, form), form, upto)
            if upto is not None and limit == (upto, CONSIDERED):
                return limit
            self.limits[key] = limit
        return self.limits[key]

    def _bound(self, kind: Kind, n: int, form: Format) -> Bound | str:
        key = (id(kind), n, form.name)
        if key not in self.bounds:
            self.bounds[key] = self.bound(kind, n, form)
        return self.bounds[key]

    def bound(self, kind: Kind, n: int, form: Format) -> Bound | str:
        """The error of a head's output in the runtime that this is about."""
        return bound(kind, n, form)

    def positions_held(self, form: Format) -> int:
        """The last position that the embedding holds."""
        grows = {Named("i"), Named("r")} & set(self.t.positions)
        return int(min(form.largest, CAP)) if grows and not self.scaled else CAP

    def _worst(self, kind: Kind, form: Format, upto: int) -> Bound | str:
        """At least the error at every length up to `upto`."""
        key = (id(kind), -upto, form.name)
        if key not in self.bounds:
            worst = Bound(0.0, 0.0, 0.0)
            for n in _ends(upto, self.scaled):
                at_n = self._bound(kind, n, form)
                if isinstance(at_n, str):
                    return at_n
                low, high = max(worst.low, at_n.low), max(worst.high, at_n.high)
                worst = Bound(low, high, max(worst.over, at_n.over))
            self.bounds[key] = worst
        return self.bounds[key]

    def limit(self, form: Format) -> tuple[int, str]:
        """The length up to which every head, gate and read-out is proved."""
        best, why = self.proof.longest, self.proof.end

        def take(limit: tuple[int, str], where: str) -> None:
            nonlocal best, why
            if limit[0] < best:
                best, why = limit[0], f"{where}: {limit[1]}"

        take((self.positions_held(form), "positions overflow"), "the embedding")
        asked = set[Kind]()
        for head in self.proof.heads:
            kind = head.by_format[form.name]
            if isinstance(kind, Kind) and kind in asked:
                continue  # its like is proved as far, or has ended the proof already
            where = f"layer {head.layer}, head {head.head} ({head.kind.name})"
            if head.head < 0:
                where = head.label
            if isinstance(kind, str):
                take((0, kind), where)
            else:
                asked.add(kind)
                take(self._kind_limit(kind, form, best), where)
        if best == 0:
            return best, why
        for (_, clip), where in self.proof.clips.items():
            take(self._sum_limit(clip.sum, clip, form, best), where)
        for output, threshold, _ in self.proof.outputs:
            assert threshold is not None
            take(self._sum_limit(threshold.sum, None, form, best), f"the read-out of {output!r}")
        for fails in self.also:
            take(self._search(_in_format(fails, form), form, best), "a numeric output")
        return best, why

    def _search(
        self, ask: Callable[[int], Bound | str | None], form: Format, upto: int | None = None
    ) -> tuple[int, str]:
        """The largest n to `upto` of which no length to n is answered by a reason why it fails, and
        the reason of n+1."""
        from softhat.proof.longest import longest  # whose answer is asked again

        most = self.proof.longest if upto is None else upto
        asked = cache(ask)
        ends, known = _ends(most, self.scaled), self.landmarks[form.name]
        n = min(most, longest(asked, most, ends, known, form.digits))
        if any(isinstance(asked(end), str) for end in _ends(n, self.scaled) if n):
            n = 0
        return n, CONSIDERED if n == most else str(asked(n + 1) or "")

    def _sum_limit(
        self, total: GateSum, clip: Clip | None, form: Format, upto: int
    ) -> tuple[int, str]:
        raws = []
        for at, positive in total.raws:
            kind = self.proof.heads[at].by_format[form.name]
            assert not isinstance(kind, str)
            raws.append((kind, positive))

        def wrong(errors: Iterable[Bound | str]) -> str | None:
            bounds: list[tuple[Bound, bool]] = []
            for error, (_, positive) in zip(errors, raws, strict=True):
                if isinstance(error, str):
                    return error
                bounds.append((error, positive))
            return clip_fails(clip, bounds, form) if clip else sum_fails(total, bounds, form)

        shape = (
            total.top,
            total.size,
            total.terms,
            total.weights,
            clip and (clip.width, clip.sink),
        )
        key = ((shape, tuple(sorted(raws, key=hash))), form.name)
        if key not in self.limits:
            # What holds with the worst of all errors at once holds with each length's own.
            if wrong(self._worst(kind, form, upto) for kind, _ in raws) is None:
                self.limits[key] = upto, CONSIDERED
            else:
                self.limits[key] = self._search(
                    lambda n: wrong(self._bound(kind, n, form) for kind, _ in raws), form, upto
                )
        return self.limits[key]


def clip_fails(clip: Clip, errors: list[tuple[Bound, bool]], form: Format) -> str | None:
    """Why a clip may not be exactly 0 or 1, or None.

    False sums leave both units at 0. A true sum leaves them in one binade, [1/2, 1], so that
    both are rounded by the same amount (where sums are stored as they are, nothing is rounded)
    and their difference is exactly the width. The outgoing sum then has terms up to 8.
    """
    total = clip.sum
    if any(form.stored(weight) != weight for weight in total.weights):
        return "a weight of a gate is not representable"
    *_, high, low, out = total.weights
    if abs(out) < 8 or any((bias * 128) % 1 for bias in (high, low)):
        return "a gate's clip is too wide to be exact"
    loss, gain, over = _spread(total, (*total.weights[:-1],), errors, form)
    least = total.top - loss - clip.width
    if least < 0.5 if form.u else least <= 0:
        return "a gate's sum is too low where it should be 1"
    if total.top + over > 7 / 8 or total.top - 1 + gain > 0 or clip.sink + over > 0:
        return "a gate's sum is too high"
    return None


def sum_fails(total: GateSum, errors: list[tuple[Bound, bool]], form: Format) -> str | None:
    """Why a read-out's margin may have the wrong sign, or be stored as 0, or None."""
    *weights, bias = total.weights
    if any(form.stored(weight) != weight for weight in weights):
        return "a weight of the read-out is not representable"
    off = abs(form.stored(bias) - bias)
    loss, gain, _ = _spread(total, (*weights, form.stored(bias)), errors, form)
    here = total.size * 2.0**-48  # more than these sums of float64's are off by themselves
    if min(total.top - loss, 1 - total.top - gain) - off <= form.smallest + here:
        return "the margin is too small"
    return None


def _spread(
    total: GateSum, weights: tuple[float, ...], errors: list[tuple[Bound, bool]], form: Format
) -> tuple[float, float, float]:
    """How far a sum can be below its value where true, above it where false, above 1.

    Where the conjunction is false one literal is, and is off by its own error only, the others by
    what they are above 1: more false literals lower the sum by more than they can be off. Bits
    times weights are multiples of the weights' grid: they add up exactly while that is no finer
    than the spacing of the largest partial sum; where it is, every term may be rounded, not only
    head outputs.
    """
    spacing = form.grid(total.size + len(errors))
    exact = spacing <= min(map(grid_of, weights))
    rounding = (len(errors) if exact else total.terms) * spacing
    over = sum(error.over for error, _ in errors) + rounding
    loss = sum(e.low if positive else e.high for e, positive in errors) + rounding
    false = ((e.high if positive else e.low) - e.over for e, positive in errors)
    return loss, max(false, default=0.0) + over, over


def _in_format(
    fails: Callable[[int, Format], str | None], form: Format
) -> Callable[[int], str | None]:
    return lambda n: fails(n, form)


def _ends(upto: int, scaled: bool) -> Iterator[int]:
    """Lengths to `upto` that stand for all: the last one with each P, the scale of positions.

    Bounds grow with n as long as P is the same, but weights on features that are divided by P
    matter less as P grows. (`scaled`: there is a P.)
    """
    scale = 4
    while scaled and scale - 2 < upto:
        yield scale - 2
        scale *= 2
    yield upto
