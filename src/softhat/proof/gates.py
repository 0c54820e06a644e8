"""What a feed-forward layer stores and what a read-out decides, read off the weights.

A *clip* is two hidden units with equal incoming weights whose difference, times the outgoing
weight, is 0 up to a point and 1 from another on. Its incoming sum is a conjunction of literals:
all weights of bits and head outputs are 1 or -1, so only one assignment reaches the largest sum
and all others stay at least 1 below it. A stored bit is the sum of disjoint clips, or one minus
that sum, with a unit that takes the one off at the sinks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from softhat.io.errors import VoidError
from softhat.numbers.rationals import power_of_two
from softhat.proof.atoms import Atoms
from softhat.proof.cells import (
    Bit,
    Cell,
    Feature,
    Form,
    Groups,
    Mean,
    Number,
    Raw,
    Zero,
    bit_of,
)


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


def stored(
    at: int,
    units: Groups,
    bias: float,
    cells: list[Cell],
    atoms: Atoms,
    decode: Callable[[Groups, list[Cell]], Cell],
) -> tuple[Cell, list[Clip]]:
    """What a coordinate holds when these units and the bias have been added to it, and the clips
    among the units. What steps of numbers add up to is for `decode` to say."""
    if not _cleared(at, units, cells) and not isinstance(cells[at], Zero):
        raise VoidError("it is written before it is cleared")
    at_sinks = _taken_off_at_sinks(units, cells)
    if any(isinstance(cells[c], Number) for incoming in units for c, _ in incoming):
        if bias or at_sinks:
            raise VoidError("it adds steps of numbers and something else")
        return decode(units, cells), []
    if units and isinstance(cells[at], Raw | Mean | Number):
        raise VoidError("it is written over a head's output: its rounding would stay")
    space, function = atoms.space, atoms.space.false
    clips, signs = list[Clip](), set[int]()
    for incoming, pair in units.items():
        sign, clip, term = _clip(dict(incoming), pair, cells, atoms)
        signs.add(sign)
        clips.append(clip)
        if space.both(function, term) != space.false:
            raise VoidError("it adds two clips that can both be 1")
        function = space.either(function, term)
    if not units and not bias and not at_sinks:
        return Zero(), []
    if signs <= {1} and bias == 0.0 and not at_sinks:
        return Bit(function), clips
    if signs <= {-1} and bias == 1.0 and at_sinks:
        return Bit(space.negation(function)), clips
    raise VoidError("it is neither a sum of clips nor one minus such a sum")


def _cleared(at: int, units: Groups, cells: list[Cell]) -> bool:
    """Whether units take off what the coordinate held: ReLU(x), and ReLU(-x) if signed."""
    down = _take_unbiased(units, frozenset({(at, 1.0)}))
    up = _take_unbiased(units, frozenset({(at, -1.0)}))
    if down is None and up is None:
        return False
    cell = cells[at]
    signed = isinstance(cell, Mean | Number) or (isinstance(cell, Raw) and cell.signed)
    if isinstance(cell, Feature) or down != [(0.0, -1.0)]:
        raise VoidError("it is not cleared by one unit ReLU(x)")
    if up != ([(0.0, 1.0)] if signed else None):
        raise VoidError("it is not cleared by the unit ReLU(-x) exactly if it is signed")
    return True


def _take_unbiased(
    units: Groups, incoming: frozenset[tuple[int, float]]
) -> list[tuple[float, float]] | None:
    """The units without a bias that read this, taken out of the others; steps have biases."""
    group = units.pop(incoming, [])
    plain = [unit for unit in group if unit[0] == 0.0]
    if len(plain) < len(group):
        units[incoming] = [unit for unit in group if unit[0] != 0.0]
    return plain or None


def _taken_off_at_sinks(units: Groups, cells: list[Cell]) -> bool:
    """Whether a unit ReLU(1 - ordinary) takes 1 off at the sinks: one such unit, taken out.

    Any other unit that reads `ordinary` stays, and a second one too: it must be accounted for by
    what follows.
    """
    alone = [incoming for incoming, group in units.items() if group == [(1.0, -1.0)]]
    for c in sorted(c for incoming in alone if len(incoming) == 1 for c, w in incoming if w == -1):
        if cells[c] == Feature("ordinary", 0):
            del units[frozenset({(c, -1.0)})]
            return True
    return False


def _clip(
    incoming: Form, units: list[tuple[float, float]], cells: list[Cell], atoms: Atoms
) -> tuple[int, Clip, int]:
    """The sign of a clip, the clip, and the conjunction where it is 1."""
    if len(units) != 2:
        raise VoidError("it is written by units that are not a clip")
    (high, first), (low, second) = sorted(units, reverse=True)
    width = high - low
    exact = power_of_two(abs(first)) and abs(first) * width == 1.0
    if first != -second or not exact or high > 0:
        raise VoidError("it is written by two units that do not clip between 0 and 1")
    total, term, sink = conjunction(incoming, high, cells, atoms)
    # In the reals: false sums stay where both units are 0, true ones where both are not.
    if not (total.top - 1 < 0 < total.top - width and sink <= 0):
        raise VoidError("it has a clip that does not separate its sums, or not the sinks")
    total = replace(total, weights=(*total.weights, low, first))
    return (1 if first > 0 else -1), Clip(total, width, sink), term


def conjunction(
    form: Form, bias: float, cells: list[Cell], atoms: Atoms
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
                raise VoidError(f"it reads {type(cells[at]).__name__.lower()} coordinate {at}")
        positive, negative = positive + max(weight, 0.0), negative + max(-weight, 0.0)
    weights = (*sorted(set(form.values())), bias)
    total = GateSum(top, tuple(raws), max(positive, negative), len(form) + 1, weights)
    return total, space.every(literals), sink


def read_out(form: Form, bias: float, cells: list[Cell], atoms: Atoms) -> tuple[Threshold, int]:
    """The function that a read-out decides: a conjunction, or the negation of one."""
    total, function, _ = conjunction(form, bias, cells, atoms)
    if 0 < total.top < 1:
        return Threshold(total), function
    negated = {at: -weight for at, weight in form.items()}
    total, function, _ = conjunction(negated, -bias, cells, atoms)
    if 0 < total.top < 1:
        return Threshold(total), atoms.space.negation(function)
    raise VoidError("it is not the threshold of a conjunction")
