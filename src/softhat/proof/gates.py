"""What a feed-forward layer stores and what a read-out decides, read off the weights.

A *clip* is two hidden units with equal incoming weights whose difference, times the outgoing
weight, is 0 up to a point and 1 from another on. Its incoming sum is a conjunction of literals:
all weights of bits and head outputs are 1 or -1, so only one assignment reaches the largest sum
and all others stay at least 1 below it. A stored bit is the sum of disjoint clips, or one minus
that sum, with a unit that takes the one off at the sinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from softhat.io.errors import VoidError
from softhat.numbers.rationals import power_of_two
from softhat.proof.atoms import Atoms
from softhat.proof.cells import (
    Bit,
    Cell,
    Chosen,
    Feature,
    Form,
    Groups,
    Mean,
    Raw,
    Share,
    Whole,
    Zero,
    bit_of,
    rows_of,
    written_rows,
)
from softhat.proof.heads.kind import Kind, ProgramParts
from softhat.proof.ledger import Ledger
from softhat.transformer.weights import Layer, Transformer


@dataclass(frozen=True, slots=True)
class GateSum:
    """A conjunction as a sum: `top` where all its literals hold, at least 1 less elsewhere.

    `raws` are the head outputs in it, with the sign of their weight; `size` bounds the positive
    and the negative terms of the sum, and so every partial sum; `terms` is how many there are;
    `weights` are all numbers that must be representable.
    """

    top: float
    raws: tuple[tuple[int, bool], ...]
    size: float
    terms: int
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Clip:
    """`sum.top` is what the first unit holds where the conjunction does; `width` is how much
    less the second holds; `sink` bounds the first at the sinks, where head outputs reach 1."""

    sum: GateSum
    width: float
    sink: float


@dataclass(frozen=True, slots=True)
class Threshold:
    """A read-out: the margin is `sum` (or minus it, for a disjunction)."""

    sum: GateSum


def feed_forward(
    t: Transformer,
    number: int,
    cells: list[Cell],
    atoms: Atoms,
    kinds: Sequence[Kind] = (),
    ledger: Ledger | None = None,
    parts: ProgramParts | None = None,
) -> tuple[list[Cell], list[Clip], list[Kind]]:
    """The coordinates after the feed-forward of a layer (counted from 1), its clips, and the
    counts it decodes, which are numbered after the heads of `kinds`."""
    return _FeedForward(t, number, cells, atoms, kinds, ledger or Ledger(t), parts).run()


class _FeedForward:
    def __init__(
        self,
        t: Transformer,
        number: int,
        cells: list[Cell],
        atoms: Atoms,
        kinds: Sequence[Kind],
        ledger: Ledger,
        parts: ProgramParts | None,
    ) -> None:
        self.t, self.number, self.cells, self.atoms = t, number, cells, atoms
        self.kinds, self.ledger, self.parts = kinds, ledger, parts
        self.decoded: list[Kind] = []
        self.layer: Layer = t.layers[number - 1]
        self.into = rows_of(self.layer.into)
        self.bias = self.layer.into_bias.tolist()
        self.clips: list[Clip] = []
        self.used: set[int] = set()

    def run(self) -> tuple[list[Cell], list[Clip], list[Kind]]:
        after = list(self.cells)
        out = written_rows(self.layer.out)
        out_bias = {
            int(at): float(self.layer.out_bias[at]) for at in self.layer.out_bias.nonzero()[0]
        }
        if self.bias:
            for at in sorted(out.keys() | out_bias.keys()):
                after[at] = self._written(at, out.get(at, {}), out_bias.get(at, 0.0))
                self.ledger.take(self.number - 1, "out", at)
                self.ledger.take(self.number - 1, "out_bias", at)
            unread = set(range(len(self.bias))) - self.used
            if unread:
                raise VoidError(
                    f"{self._where()} has a hidden unit {min(unread)} that writes nothing"
                )
            for unit in self.used:
                self.ledger.take(self.number - 1, "into", unit)
                self.ledger.take(self.number - 1, "into_bias", unit)
        elif out_bias:
            raise VoidError(f"{self._where()} has an outgoing bias but no hidden units")
        return after, self.clips, self.decoded

    def _where(self) -> str:
        return f"layer {self.number - 1}: the feed-forward"

    def _written(self, at: int, row: Form, bias: float) -> Cell:
        """What a coordinate holds after clips, clearing and the sinks' unit have been added."""
        where = f"layer {self.number - 1}: coordinate {at}"
        groups: Groups = {}
        for unit, weight in row.items():
            self.used.add(unit)
            incoming = frozenset(self.into[unit].items())
            groups.setdefault(incoming, []).append((self.bias[unit], weight))
        cleared = self._cleared(at, groups, where)
        if not cleared and not isinstance(self.cells[at], Zero):
            raise VoidError(f"{where} is written before it is cleared")
        at_sinks = self._taken_off_at_sinks(groups)
        counts = [count_of(incoming, self.cells) is not None for incoming in groups]
        if any(counts):
            if not all(counts) or bias or at_sinks or self.parts is None:
                raise VoidError(f"{where} adds steps of counts and something else")
            kinds = [*self.kinds, *self.decoded]
            kind, cell = self.parts.decode(groups, self.cells, self.atoms, kinds, where)
            self.decoded.append(kind)
            return cell
        if groups and isinstance(self.cells[at], Raw | Mean | Share | Whole | Chosen):
            raise VoidError(f"{where} is written over a head's output: its rounding would stay")
        function, signs = self.atoms.space.false, set[int]()
        for incoming, units in groups.items():
            sign, clip, term = self._clip(dict(incoming), units, where)
            signs.add(sign)
            self.clips.append(clip)
            if self.atoms.space.both(function, term) != self.atoms.space.false:
                raise VoidError(f"{where} adds two clips that can both be 1")
            function = self.atoms.space.either(function, term)
        if not groups and not bias and not at_sinks:
            return Zero()
        if signs <= {1} and bias == 0.0 and not at_sinks:
            return Bit(function)
        if signs <= {-1} and bias == 1.0 and at_sinks:
            return Bit(self.atoms.space.negation(function))
        raise VoidError(f"{where} is neither a sum of clips nor one minus such a sum")

    def _cleared(
        self,
        at: int,
        groups: Groups,
        where: str,
    ) -> bool:
        """Whether units take off what the coordinate held: ReLU(x), and ReLU(-x) if signed."""
        down = _take_unbiased(groups, frozenset({(at, 1.0)}))
        up = _take_unbiased(groups, frozenset({(at, -1.0)}))
        if down is None and up is None:
            return False
        cell = self.cells[at]
        signed = isinstance(cell, Mean | Share | Whole | Chosen) or (
            isinstance(cell, Raw) and cell.signed
        )
        if isinstance(cell, Feature) or down != [(0.0, -1.0)]:
            raise VoidError(f"{where} is not cleared by one unit ReLU(x)")
        if up != ([(0.0, 1.0)] if signed else None):
            raise VoidError(f"{where} is not cleared by the unit ReLU(-x) exactly if it is signed")
        return True

    def _taken_off_at_sinks(self, groups: Groups) -> bool:
        """Whether a unit ReLU(1 - ordinary) takes 1 off at the sinks: one such unit, taken out.

        Any other unit that reads `ordinary` stays among the groups, and a second one too: it
        must be accounted for by what follows.
        """
        alone = [incoming for incoming, units in groups.items() if units == [(1.0, -1.0)]]
        reads = sorted(
            c for incoming in alone if len(incoming) == 1 for c, w in incoming if w == -1.0
        )
        for c in reads:
            if self.cells[c] == Feature("ordinary", 0):
                del groups[frozenset({(c, -1.0)})]
                return True
        return False

    def _clip(
        self, incoming: Form, units: list[tuple[float, float]], where: str
    ) -> tuple[int, Clip, int]:
        if len(units) != 2:
            raise VoidError(f"{where} is written by units that are not a clip")
        (high, first), (low, second) = sorted(units, reverse=True)
        width = high - low
        exact = power_of_two(abs(first)) and abs(first) * width == 1.0
        if first != -second or not exact or high > 0:
            raise VoidError(f"{where} is written by two units that do not clip between 0 and 1")
        total, term, sink = conjunction(incoming, high, self.cells, self.atoms, where)
        # In the reals: false sums stay where both units are 0, true ones where both are not.
        if not (total.top - 1 < 0 < total.top - width and sink <= 0):
            raise VoidError(f"{where} has a clip that does not separate its sums, or not the sinks")
        weights = (*total.weights, low, first)
        total = replace(total, weights=weights)
        return (1 if first > 0 else -1), Clip(total, width, sink), term


def count_of(incoming: frozenset[tuple[int, float]], cells: list[Cell]) -> Share | Whole | None:
    """The count that units read, if they read one and nothing else."""
    if len(incoming) != 1:
        return None
    ((at, weight),) = incoming
    cell = cells[at]
    if isinstance(cell, Share) and weight == -1.0:
        return cell
    return cell if isinstance(cell, Whole) and weight == 1.0 else None


def _take_unbiased(
    groups: Groups,
    incoming: frozenset[tuple[int, float]],
) -> list[tuple[float, float]] | None:
    """The units without a bias that read this, taken out of the groups; steps have biases."""
    units = groups.pop(incoming, [])
    plain = [unit for unit in units if unit[0] == 0.0]
    if len(plain) < len(units):
        groups[incoming] = [unit for unit in units if unit[0] != 0.0]
    return plain or None


def conjunction(
    form: Form, bias: float, cells: list[Cell], atoms: Atoms, where: str
) -> tuple[GateSum, int, float]:
    """A form plus a bias as the sum of a conjunction; the conjunction; a bound at the sinks."""
    space = atoms.space
    top = sink = bias
    raws: list[tuple[int, bool]] = []
    literals: list[int] = []
    positive, negative = max(bias, 0.0), max(-bias, 0.0)
    for at, weight in form.items():
        match cells[at]:
            case Feature("1", 0):
                top, sink = top + weight, sink + weight
            case Feature("ordinary", 0):
                top += weight
            case (Bit() | Raw() | Zero()) as cell if abs(weight) == 1.0:
                function = cell.function if isinstance(cell, Raw) else bit_of(cell, atoms)
                literals.append(function if weight > 0 else space.negation(function))
                top += max(weight, 0.0)
                if isinstance(cell, Raw):
                    raws.append((cell.head, weight > 0))
                    sink += max(weight, 0.0)
            case _:
                raise VoidError(f"{where} reads {type(cells[at]).__name__.lower()} coordinate {at}")
        positive, negative = positive + max(weight, 0.0), negative + max(-weight, 0.0)
    weights = (*sorted(set(form.values())), bias)
    total = GateSum(top, tuple(raws), max(positive, negative), len(form) + 1, weights)
    return total, space.every(literals), sink


def read_out(
    form: Form, bias: float, cells: list[Cell], atoms: Atoms, where: str
) -> tuple[Threshold, int]:
    """The function that a read-out decides: a conjunction, or the negation of one."""
    total, function, _ = conjunction(form, bias, cells, atoms, where)
    if 0 < total.top < 1:
        return Threshold(total), function
    negated = {at: -weight for at, weight in form.items()}
    total, function, _ = conjunction(negated, -bias, cells, atoms, where)
    if 0 < total.top < 1:
        return Threshold(total), atoms.space.negation(function)
    raise VoidError(f"{where} is not the threshold of a conjunction")
