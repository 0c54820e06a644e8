"""What a residual coordinate holds, as far as the weights prove it: at the word's own positions and
at the sinks.

Weights that do not fit any known form end the proof with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softhat.io.errors import VoidError
from softhat.numbers.positions import DigitFeature, Holds, Mod, Named, text
from softhat.proof.atoms import Atoms, Range
from softhat.transformer.weights import Transformer


@dataclass(frozen=True, slots=True)
class Zero:
    """0 at every position: nothing was written here yet."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A position feature: `base`·P^power, P the scale of positions."""

    base: str
    power: int


@dataclass(frozen=True, slots=True)
class Bit:
    """Exactly 0 or 1: `function` at the word's own positions, 0 at the sinks."""

    function: int


@dataclass(frozen=True, slots=True)
class Raw:
    """What head `head` (numbered over all layers) returns: `function` up to its error."""

    function: int
    head: int
    signed: bool = False
    """Whether it may be negative."""
    mean: tuple[int, int] | None = None
    """(selection, bit) if it is also the mean of a bit over a selection."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of Σ a·bit over a range, the sink (where it is 0) included."""

    over: Range
    terms: tuple[tuple[Fraction, int], ...]
    head: int


class Number:
    """Any other number, of which only programs have some; it may be negative."""

    __slots__ = ()


Cell = Zero | Feature | Bit | Raw | Mean | Number
Form = dict[int, float]
"""A row of a matrix, or a bias: where it is not 0, and what it is there."""
Rows = dict[int, Form]
"""The rows of a matrix that have weights."""
Groups = dict[frozenset[tuple[int, float]], list[tuple[float, float]]]
"""Hidden units by what they read: incoming weights -> (bias, outgoing weight) of each."""

_SCALED = ("i", "r", "ordinary", "(-1)^i")
"""Features that may be divided by P, the scale of positions."""
_PLAIN = ("1", *_SCALED)
"""Those that may stand as they are."""
_LEVEL = 1 << 19
"""Of predicates of the position, in decision diagrams: above what heads compute."""


def embedded(t: Transformer, symbols: Rows, positions: Rows, atoms: Atoms) -> list[Cell]:
    """The coordinates before the first layer, of which both say what is added: a feature, a set of
    symbols, or nothing."""
    cells: list[Cell] = [Zero() for _ in range(t.d_model)]
    for at, row in symbols.items():
        cells[at] = _tokens(t, row, f"coordinate {at}", atoms)
    for at, row in positions.items():
        if at in symbols:
            raise VoidError(f"coordinate {at} mixes a position feature and symbols")
        cells[at] = _position(t, row, f"coordinate {at}", atoms)
    return cells


def _position(t: Transformer, row: Form, where: str, atoms: Atoms) -> Cell:
    if len(row) != 1 or next(iter(row.values())) != 1.0:
        raise VoidError(f"{where} is not one position feature with weight 1")
    feature = t.positions[next(iter(row))]
    match feature:
        case Named(base, False) if base in _PLAIN:
            return Feature(base, 0)
        case Named(base, True) if base in _SCALED:
            return Feature(base, -1)
        case Named("first", False):
            return Bit(atoms.edge["past"])
        case Named("last", False):
            return Bit(atoms.edge["future"])
        case Mod(modulus, remainder, False) if not 0 <= remainder < modulus:
            raise VoidError(f"{where} is the impossible position feature {text(feature)}")
        case Mod(modulus, remainder, False):
            return Bit(atoms.residue(modulus, remainder, _LEVEL))
        case DigitFeature(bit, position, length, constant):
            return Bit(atoms.digit(bit, position, length, constant, _LEVEL))
        case Holds(predicate):
            return Bit(atoms.holds(predicate, _LEVEL))
    raise VoidError(f"{where} is {text(feature)}, a position feature unknown to the proof")


def _tokens(t: Transformer, column: Form, where: str, atoms: Atoms) -> Cell:
    if any(value != 1.0 for value in column.values()):
        raise VoidError(f"{where} embeds a symbol with a weight other than 0 and 1")
    sinks = [t.tokens[row] for row in column if row >= len(t.symbols)]
    if sinks:
        raise VoidError(f"{where} is not 0 at the sink {sinks[0]}")
    if t.propositional:
        if len(column) != 1:
            raise VoidError(f"{where} adds several propositions")
        return Bit(atoms.space.symbol(t.symbols[next(iter(column))]))
    return Bit(atoms.space.symbols(sum(1 << row for row in column)))


def literal(cells: list[Cell], form: Form, atoms: Atoms) -> int | None:
    """The function of a form that is a stored bit or its negation (0 at the sinks), else None."""
    if not form:
        return atoms.space.false
    bits = {at: w for at, w in form.items() if isinstance(cells[at], Bit | Zero)}
    rest = [(cells[at], w) for at, w in form.items() if at not in bits]
    ordinary = rest == [(Feature("ordinary", 0), 1.0)]
    if not bits and ordinary:
        return atoms.space.true
    if len(bits) != 1:
        return None
    ((at, w),) = bits.items()
    function = bit_of(cells[at], atoms)
    if not rest and w == 1.0:
        return function
    if ordinary and w == -1.0:
        return atoms.space.negation(function)
    return None


def bit_of(cell: Cell, atoms: Atoms) -> int:
    """The function of a bit; what holds nothing is false."""
    return cell.function if isinstance(cell, Bit) else atoms.space.false


def bits_of(form: Form, cells: list[Cell], atoms: Atoms) -> list[tuple[float, int]]:
    """A sum of stored bits: the weight of each, and its function; `ordinary` is a true one."""
    terms = []
    for at, weight in form.items():
        match cells[at]:
            case (Bit() | Zero()) as cell:
                terms.append((weight, bit_of(cell, atoms)))
            case Feature("ordinary", 0):
                terms.append((weight, atoms.space.true))
            case _:
                raise VoidError("its value is neither a stored bit nor a sum of them")
    return terms
