"""What every kind of head promises: a bound for n symbols holds of all shorter words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import softhat
from softhat.numerics.formats import FORMATS, Format
from softhat.proof.check import certify
from softhat.proof.heads import bound
from softhat.proof.heads.kind import Kind
from softhat.proof.heads.sign import SignKind
from softhat.proof.lengths import Proof
from softhat.proof.scores import scale
from softhat.proof.softmax import Bound
from tests.slices import every, sizes

FORMULAS = (
    "(a S b) & Y a & X b", "Y Y Y a | mod(3, 1)", "#(a) >= 2*#(b) - 3", "n >= 5 & a",
    "3*n - i > 20", "#(a) + n > 9", "2*#(a) > i", "n + i >= 12 | #>(b) > 4", "5*i - 2*n >= 31",
    "#*(a) - #(b) + 3*i >= 17", "7 > n - i",
)  # fmt: skip


def kinds(text: str, attention: str) -> Iterator[tuple[Kind, Format]]:
    """Of the heads of a formula; comparisons also with logits near the threshold, as weights that
    somebody changed would give them."""
    model = softhat.compile(text, "ab", attention=attention)
    proof = Proof()
    certify(model.transformer, model.formulas, proof=proof)
    for kind in dict.fromkeys(head.kind for head in proof.heads):
        weaker: list[Kind] = [kind]
        if isinstance(kind, SignKind):
            compared = kind.comparison
            nearer = replace(compared, up=compared.up / 4, down=compared.down / 4)
            weaker.append(replace(kind, comparison=nearer))
        yield from product(weaker, (FORMATS["float16"], FORMATS["float32"]))


@pytest.mark.parametrize(
    ("text", "attention"), every(5, product(FORMULAS, ("unbounded", "temperature")))
)
@pytest.mark.parametrize("count", sizes(1, 8))
def test_shorter_words_are_no_worse(text: str, attention: str, count: int) -> None:
    rng = np.random.default_rng(count)
    known = 0
    for kind, form in kinds(text, attention):
        for n in {
            *rng.integers(1, 40, count).tolist(),
            *(2 ** rng.uniform(5, 26, count)).astype(int).tolist(),
        }:
            said = bound(kind, n, form)
            if isinstance(said, str):
                continue
            known += 1
            for shorter in {1, 2, 3, 4, 5, 6, *rng.integers(1, n + 1, count).tolist()}:
                if shorter <= n and scale(attention, shorter) == scale(attention, n):
                    assert _holds(kind, shorter, form, said), (kind, form.name, shorter, n)
    assert known


def _holds(kind: Kind, n: int, form: Format, said: Bound) -> bool:
    """Is what is said of longer words at least what is said of words of just this length?"""
    if isinstance(kind, SignKind):
        own = kind.row_of_lengths(n, n, form).bound(form)
    else:
        own = kind.bound(n, form)
    return said.or_worse(own) == said


def test_words_next_to_a_threshold_count_however_long_others_are() -> None:
    """n >= 5 is far from being undecided in long words."""
    model = softhat.compile("n >= 5 & a", "ab")
    proof = Proof()
    certify(model.transformer, model.formulas, proof=proof)
    (kind,) = (head.kind for head in proof.heads if isinstance(head.kind, SignKind))
    assert isinstance(kind, SignKind)
    compared = kind.comparison
    compared = replace(compared, up=0.5, down=0.5, constant=compared.constant - 7.5)
    weak = replace(kind, comparison=compared)
    form = FORMATS["float32"]
    assert isinstance(bound(weak, 3, form), Bound)
    for n in (5, 6, 100, 10**6):
        assert bound(weak, n, form) == "its error exceeds 1/4"
