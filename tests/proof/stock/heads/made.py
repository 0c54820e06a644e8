"""Heads made by hand: forms over a few variables, and what softmax makes of them, by definition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.proof.boolean import Space
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.kind import HeadForms
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell, Form, TableCell

ONE, BOS, ORDINARY, A, B, DIGIT = range(6)
"""Variables: constants, the bits of the symbols a and b, from DIGIT on digits of the position."""
Matrix = NDArray[np.float64]
NOTHING = Form({}, 0.0)
VALUE = Form({B: 0.5, ONE: 0.5}, 0.0)
"""Is the symbol b? 0 at `<bos>`."""


def stream(context: int) -> tuple[BoundedAtoms, list[Cell]]:
    """What the variables hold, of words over a, b and c."""
    atoms = BoundedAtoms(Space(("a", "b", "c"), False), context - 1, has_recalls=True)
    index = np.arange(context)
    cells: list[Cell] = [ConstantCell(1.0, 1.0), ConstantCell(0.0, 1.0), ConstantCell(1.0, 0.0)]
    cells += [BitCell(atoms.space.symbols(1)), BitCell(atoms.space.symbols(2))]
    for b in range((context - 1).bit_length()):
        digit = np.where(index >> b & 1, 1.0, -1.0)
        cells.append(TableCell(atoms.table(digit[1:] > 0, b), digit))
    return atoms, cells


def held(cells: list[Cell], word: Any) -> Matrix:
    """(positions, variables) of a word of codes, `<bos>` first."""
    n = len(word) + 1
    rows = np.zeros((n, len(cells)))
    for at, cell in enumerate(cells):
        match cell:
            case ConstantCell(ordinary, bos):
                rows[:, at] = [bos] + [ordinary] * (n - 1)
            case TableCell(values=values):
                rows[:, at] = values[:n]
            case _:
                rows[:, at] = [-1.0, *np.where(np.asarray(word) == at - A, 1.0, -1.0)]
    return rows


def head_forms(
    rows: list[tuple[Any, Any]], context: int, frequencies: Any = None, values: Any = (VALUE,)
) -> HeadForms:
    """A head of these (query, key), each a form or the forms of a pair."""

    def both(given: Any) -> tuple[Form, Form]:
        return given if isinstance(given, tuple) else (given, NOTHING)

    return HeadForms(
        block=0,
        head=0,
        number=0,
        query=[both(query) for query, _ in rows],
        key=[both(key) for _, key in rows],
        values=list(values),
        targets=[2.0] * len(values),
        frequencies=np.zeros(len(rows)) if frequencies is None else np.asarray(frequencies),
        root=1.0,
        context=context,
        raw=False,
    )


def weights(h: HeadForms, cells: list[Cell], word: Any) -> Matrix:
    """Softmax over j <= i of the scores of a word, from the formula in the books."""
    x = held(cells, word)

    def read(form: Form) -> Matrix:
        total = np.full(len(x), form.constant)
        for at, w in form.weights.items():
            total = total + w * x[:, at]
        return total

    away = np.subtract.outer(np.arange(len(x)), np.arange(len(x)))
    total = np.zeros((len(x), len(x)))
    for (q1, q2), (k1, k2), w in zip(h.query, h.key, h.frequencies, strict=True):
        query, key = read(q1) + 1j * read(q2), read(k1) + 1j * read(k2)
        total += (np.outer(query, key.conj()) * np.exp(1j * w * away)).real / h.root
    total[away < 0] = -np.inf
    shares = np.exp(total - total.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
