"""A head's weights as a bilinear form of what its coordinates hold: what kinds are read from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softhat.io.errors import VoidError
from softhat.proof.atoms import Atoms, Direction
from softhat.proof.cells import Bit, Cell, Feature, Form, Mean, Zero, literal
from softhat.proof.scores import Scores, Side, WeightEntry
from softhat.transformer.weights import Attention, Mask

Key = str | int
"""A feature's base name, or the coordinate of a bit or a mean."""
Terms = dict[tuple[Key, Key, int], Fraction]
"""(query, key, power of P) -> coefficient of the logit."""

NO_KIND = "its scores have a term that no kind of head has"


@dataclass(frozen=True, slots=True)
class HeadWeights:
    """One head: its rows over coordinates."""

    attention: Attention
    sinks: int
    mask: Mask
    sharpness: float
    query: tuple[Form, ...]
    key: tuple[Form, ...]
    value: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A head, and its scores as terms (what they are) and as rows (how they are added up)."""

    head: HeadWeights
    cells: list[Cell]
    number: int
    """Of the head, over all layers."""
    atoms: Atoms
    level: int
    terms: Terms
    scores: Scores
    direction: Direction
    here: str
    """The position feature that falls with the distance: i for the past, r for the future."""

    def values(self) -> list[int]:
        """The functions of its values, each a stored bit or the negation of one."""
        values = []
        for form in self.head.value:
            function = literal(self.cells, form, self.atoms)
            if function is None:
                raise VoidError("its value is not a stored bit or the negation of one")
            values.append(function)
        return values

    def what(self, at: int) -> tuple[Key, int]:
        """What a coordinate is in a score: a feature with its power of P, or itself."""
        return what(self.cells, at)


def read(head: HeadWeights, cells: list[Cell], number: int, atoms: Atoms, level: int) -> Reading:
    """The scores of a head; an error if no kind can have them."""
    if head.mask not in ("<=", "<") and head.sinks < 2:
        raise VoidError("it looks to the right, but there is no sink at the end")
    terms, scores = _logits(head, cells), _scores(head, cells)
    if scores.rows and not terms:
        raise VoidError("its scores cancel: rounding would decide")
    if scores.rows and head.mask == "none":
        raise VoidError("it has scores but no mask")
    direction: Direction = "future" if head.mask in (">=", ">") else "past"
    here = "r" if direction == "future" else "i"
    return Reading(head, cells, number, atoms, level, terms, scores, direction, here)


def slope_of(terms: Terms, here: str) -> Fraction:
    """What a step away from the query's position costs, taken out of the terms."""
    slope = terms.pop(("1", here, 0), Fraction(0))
    anchor = terms.pop((here, "1", 0), Fraction(0))
    if slope <= 0 or anchor != -slope:
        raise VoidError(
            f"its scores do not fall by one slope with the distance ({slope}, {anchor})"
        )
    return slope


def refuse_averages(scores: Scores) -> None:
    if any(entry.base == "mean" for row in scores.rows for side in row for entry in side):
        raise VoidError("its scores read an average, and it compares nothing")


def what(cells: list[Cell], at: int) -> tuple[Key, int]:
    match cells[at]:
        case Feature(base, power):
            return base, power
        case Bit() | Mean() | Zero():
            return at, 0
        case _:
            raise VoidError(f"it reads coordinate {at}, a head's raw output")


def _logits(head: HeadWeights, cells: list[Cell]) -> Terms:
    """Σ_r query_r ⊗ key_r, with the inverse temperature C·P multiplied in."""
    scaled = head.attention == "temperature"
    if scaled and head.sharpness <= 0:
        raise VoidError("its inverse temperature is not positive")
    factor = Fraction(head.sharpness) if scaled else Fraction(1)
    terms: Terms = {}
    for query, key in zip(head.query, head.key, strict=True):
        if bool(query) != bool(key):
            raise VoidError("a query row and its key row do not both have weights")
        for q_at, q_weight in query.items():
            for k_at, k_weight in key.items():
                (q, q_power), (k, k_power) = what(cells, q_at), what(cells, k_at)
                at = (q, k, q_power + k_power + scaled)
                product = factor * Fraction(q_weight) * Fraction(k_weight)
                terms[at] = terms.get(at, Fraction(0)) + product
    return {at: value for at, value in terms.items() if value}


def _scores(head: HeadWeights, cells: list[Cell]) -> Scores:
    def side(form: Form) -> Side:
        entries = []
        for at, weight in form.items():
            match cells[at]:
                case Feature(base, power):
                    entries.append(WeightEntry(base, power, weight))
                case Bit() | Zero():
                    entries.append(WeightEntry("bit", 0, weight))
                case _:
                    entries.append(WeightEntry("mean", 0, weight))
        return tuple(sorted(entries, key=lambda e: (e.base, e.power, e.weight)))

    rows = tuple(
        (side(query), side(key)) for query, key in zip(head.query, head.key, strict=True) if query
    )
    # Without temperature scaling the runtime does not read the sharpness.
    sharpness = head.sharpness if head.attention == "temperature" else 1.0
    return Scores(head.attention, sharpness, rows)
