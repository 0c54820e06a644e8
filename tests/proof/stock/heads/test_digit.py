"""Digit: the sign of a sine, position by position."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.io.errors import VoidError
from softhat.proof.stock.heads import recognise
from softhat.proof.stock.heads.digit import DigitHead
from softhat.proof.stock.kind import HeadForms
from softhat.proof.stock.variables import Form, TableCell
from tests.proof.stock.heads.made import BOS, ONE, ORDINARY, B, head_forms, stream, weights

CONTEXT = 16
ON_THE_WORD = Form({ORDINARY: 1.0}, 0.0)


def digit(b: int, value: Form = ON_THE_WORD) -> HeadForms:
    """`<bos>` has the score 40·sin(π(i + 1/2)/2^b)."""
    half = np.pi / 2 ** (b + 1)
    query = Form({ONE: 40 * np.sin(half)}, 0.0), Form({ONE: -40 * np.cos(half)}, 0.0)
    return head_forms([(query, Form({BOS: 1.0}, 0.0))], CONTEXT, [np.pi / 2**b], (value,))


@pytest.mark.parametrize("b", range(4))
def test_digits_of_the_position(b: int) -> None:
    atoms, cells = stream(CONTEXT)
    h = digit(b)
    head, (cell,) = recognise(h, cells, atoms)
    assert isinstance(head, DigitHead) and isinstance(cell, TableCell)
    shares = weights(h, cells, [0] * (CONTEXT - 1))
    for i in range(1, CONTEXT):
        assert (cell.values[i] > 0) == bool(i >> b & 1)
        decision = abs(head.scores[i])
        assert abs(1 - shares[i, 0] - (i >> b & 1)) <= CONTEXT * np.exp(-decision)


def test_a_value_that_is_not_1_on_the_word() -> None:
    atoms, cells = stream(CONTEXT)
    with pytest.raises(VoidError, match="not 1 on the word"):
        recognise(digit(1, Form({B: 0.5, ONE: 0.5}, 0.0)), cells, atoms)
