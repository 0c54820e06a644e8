"""The kinds of attention head that the proof knows, one file each.

A file says how a kind is recognised from query and key weights, what it computes (an atom of the
proof's logic), what leaks in the reals and how far its output can be off in a number format; each
bound cites its theorem. The kinds and labels that a model carries are not trusted. A new kind is
one more file, listed in `KINDS`. Those that only programs of values have are in `proof.values`.
"""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType

from softhat.io.errors import VoidError
from softhat.numerics.formats import Format
from softhat.proof.atoms import Atoms
from softhat.proof.cells import Cell
from softhat.proof.heads import average, latest, previous, shift, sign
from softhat.proof.heads.kind import Kind
from softhat.proof.heads.reading import HeadWeights, read
from softhat.proof.softmax import Bound

KINDS: tuple[ModuleType, ...] = (average, previous, shift, latest, sign)
"""Each has `NAMES` (what its heads are called and do), `fits` and `recognise`; the first that
fits is taken, and what does not meet its theorem's conditions voids the certificate. Of a strict
mask there is one kind."""


def recognise(
    head: HeadWeights,
    cells: list[Cell],
    number: int,
    atoms: Atoms,
    level: int,
) -> tuple[Kind, list[Cell]]:
    """The head's kind, and what each of its value rows makes it return."""
    reading = read(head, cells, number, atoms, level)
    for kind in KINDS:
        if kind is latest if head.mask in latest.STRICT else kind.fits(reading):
            recognised: tuple[Kind, list[Cell]] = kind.recognise(reading)
            return recognised
    raise VoidError("its scores have none of the known forms")


@lru_cache(maxsize=1 << 16)
def bound(kind: Kind, n: int, form: Format) -> Bound | str:
    """The error of a head's output for every word of length at most n, or why it is not known."""
    try:
        return kind.bound(n, form)
    except VoidError as error:
        return str(error)
    except ArithmeticError as error:
        return f"its bound leads to numbers that float64 does not hold ({error})"
