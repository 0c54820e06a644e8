"""A language model with log-weights: its logits are the stated ones, up to one shift.

Theorem 28. If every allowed token's logit is within ε of its log-weight plus one shift, and every
forbidden one's at least m below every allowed one's, then with V tokens each allowed token's
probability is within the factors e^(-2ε)/(1 + V·e^-m) and e^(2ε) of the stated one, and a forbidden
one's at most e^-m: numerators move by e^±ε, and so does their sum, to which forbidden tokens add at
most V·e^-m of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import exp

from softhat.io.errors import VoidError
from softhat.logic.semantics.empty import at_empty_prefix
from softhat.logic.sources import ALWAYS, Weights
from softhat.proof.stock.automata import formulas_alone
from softhat.proof.stock.checkpoint import StockCheckpoint
from softhat.proof.stock.readout import Readout, token_names
from softhat.proof.stock.storage import need
from softhat.proof.stock.variables import BitCell, Form, Split, TableCell, split


@dataclass(frozen=True, slots=True)
class StatedLogits:
    """What exact arithmetic makes of the lm head."""

    slack: float
    """How far logits of allowed tokens are from log-weight plus shift: the rounding of weights."""
    least: float
    """No allowed token's logit is smaller."""
    forbidden: float
    """No forbidden token's logit is larger."""
    largest: float
    """No logit is larger in size."""


def distribution_bounds(
    stated: StatedLogits, error: float, margin: float, tokens: int
) -> dict[str, float]:
    """What is certified of logits that are off by at most `error`, if the margin is kept."""
    margin_left = stated.least - stated.forbidden - 2 * error
    need(margin_left >= margin, "read-out: the margin may not be kept")
    logit = stated.slack + error
    off = probability_error(logit, margin, tokens)
    return {"logit": logit, "probability, in units of it": off}


def probability_error(logit: float, margin: float, tokens: int) -> float:
    """How far probabilities may be off the stated ones, in units of them."""
    return max(exp(2 * logit) - 1, 1 - exp(-2 * logit) / (1 + tokens * exp(-margin)))


def stated_logits(
    rows: list[Form], symbols: tuple[str, ...], weights: Weights, readout: Readout
) -> StatedLogits:
    """Read the lm head's rows against the log-weights that are claimed."""
    names = token_names(rows, symbols)
    if set(weights) != {name for name in names if name is not None}:
        raise VoidError("the log-weights are not those of the tokens")
    reader = _BitReader(readout)
    read = [
        _Row(reader, row, name, None if name is None else weights[name])
        for row, name in zip(rows, names, strict=True)
    ]
    shifts = [row.shift for row in read if row.shift is not None]
    if not shifts:
        raise VoidError("no token is ever allowed")
    shift = shifts[0]
    for row in read:
        row.compare(shift)
    return StatedLogits(
        slack=float(max(row.slack for row in read)),
        least=float(min(x for row in read for x in row.allowed)),
        forbidden=float(max(x for row in read for x in row.forbidden)),
        largest=float(max(row.largest for row in read)),
    )


@dataclass(frozen=True, slots=True)
class ReadHead:
    """What exact arithmetic makes of a head's rows."""

    sizes: tuple[float, ...] = ()
    """Of a classifier: how large each logit is."""
    margin: float | None = None
    """Of a language model: between logits of allowed and forbidden tokens."""
    stated: StatedLogits | None = None
    """Of one with log-weights."""


def read_head(c: StockCheckpoint, rows: list[Form], biased: bool, readout: Readout) -> ReadHead:
    """Check a head's rows against what they are claimed to compute."""
    if c.head != "lm":
        if biased:
            raise VoidError("the classifier has a bias")
        return ReadHead(readout.classifier(rows, c.head == "multi-label"))
    if c.propositional or c.bos != len(c.symbols):
        raise VoidError("the lm head has not one row for each token")
    if c.weights is None:
        return ReadHead(margin=readout.language_model(rows, c.symbols, c.greedy))
    if c.greedy:
        raise VoidError("a machine's tokens have no log-weights")
    stated = stated_logits(rows, c.symbols, c.weights, readout)
    return ReadHead(margin=stated.least - stated.forbidden, stated=stated)


class _BitReader:
    """Where the stored bits of formulas are."""

    def __init__(self, readout: Readout) -> None:
        self.cells, self.atoms = readout.cells, readout.atoms
        self.claims, self.formulas = readout.claims, formulas_alone(readout.formulas)
        self._bits: dict[str, tuple[int | None, int]] = {}

    def form(self, row: Form, where: str) -> Split:
        parts = split(row, self.cells)
        if parts.others:
            raise VoidError(f"{where} reads something that is not a stored bit")
        return parts

    def bit(self, name: str) -> tuple[int | None, int]:
        """The variable that is ±1 as the formula says, and its sign; or a constant's sign."""
        if name not in self.formulas:
            raise VoidError(f"there is no formula for {name!r}")
        if name not in self._bits:
            self._bits[name] = self._bit(name)
        return self._bits[name]

    def _bit(self, name: str) -> tuple[int | None, int]:
        space = self.atoms.space
        for sign, function in ((1, space.true), (-1, space.false)):
            if self.claims.met(name, function):
                return None, sign
        for p, cell in enumerate(self.cells):
            if isinstance(cell, BitCell | TableCell):
                if self.claims.met(name, cell.function):
                    return p, 1
                if self.claims.met(name, space.negation(cell.function)):
                    return p, -1
        raise VoidError(f"output {name!r} does not compute its formula")

    def holds(self, name: str) -> tuple[Fraction, dict[int, Fraction]]:
        """[the formula holds] as a constant and weights on variables."""
        p, sign = self.bit(name)
        if p is None:
            return Fraction(int(sign > 0)), {}
        return Fraction(1, 2), {p: Fraction(sign, 2)}


class _Row:
    """One token's logit: log-weight + shift - drop·(1 - allowed), and what is left over."""

    def __init__(
        self, reader: _BitReader, row: Form, name: str | None, parts: Mapping[str, float] | None
    ) -> None:
        self.read = reader.form(row, f"the logit of {name or '<bos>'}")
        self.slack = Fraction(0)
        self.allowed: list[Fraction] = []
        self.forbidden: list[Fraction] = []
        spread = sum(map(abs, self.read.bits.values()), Fraction(0))
        self.largest = max(abs(self.read.ordinary) + spread, abs(self.read.bos))
        self.shift: Fraction | None = None
        self.name, self.parts = name, parts
        if name is None or parts is None:
            self.forbidden = [self.read.ordinary + spread, self.read.bos]
            return
        # What the row reads beyond the log-weight.
        self.constant = self.read.ordinary - Fraction(parts[ALWAYS])
        self.bits = dict(self.read.bits)
        self.low = self.high = Fraction(parts[ALWAYS])
        self.start = Fraction(parts[ALWAYS])
        for feature, value in parts.items():
            if feature == ALWAYS:
                continue
            constant, bits = reader.holds(feature)
            w = Fraction(value)
            self.constant -= w * constant
            for p, share in bits.items():
                self.bits[p] = self.bits.get(p, Fraction(0)) - w * share
            self.low, self.high = self.low + min(w, Fraction(0)), self.high + max(w, Fraction(0))
            self.start += w * at_empty_prefix(reader.formulas[feature])
        self.starts = at_empty_prefix(reader.formulas[name])
        self.own, self.sign = reader.bit(name)
        self.drop = Fraction(0)
        if self.own is not None:
            self.drop = 2 * self.sign * self.bits.pop(self.own, Fraction(0))
            self.constant += self.drop / 2
            if self.drop < 0:
                raise VoidError(f"{name!r} is more likely where it is forbidden")
        if self.own is not None or self.sign > 0:
            self.shift = self.constant
        elif self.starts:
            self.shift = self.read.bos - self.start

    def compare(self, shift: Fraction) -> None:
        """Find what is left over, once the shift is known."""
        if self.parts is None:
            return
        rest = sum(map(abs, self.bits.values()), Fraction(0))
        ever = self.own is not None or self.sign > 0
        off = rest + abs(self.constant - shift)
        if ever:
            self.slack = off
            self.allowed.append(self.low + shift - off)
        if self.own is not None or not ever:
            self.forbidden.append(self.high + self.constant + rest - self.drop)
        if self.starts:
            at_bos = abs(self.read.bos - self.start - shift)
            self.slack = max(self.slack, at_bos)
            self.allowed.append(self.start + shift - at_bos)
        else:
            self.forbidden.append(self.read.bos)
