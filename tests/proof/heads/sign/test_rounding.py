"""What the proof says of a comparison's scores in floats, against scores of real models."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import softhat
from softhat.numerics.formats import FORMATS
from softhat.proof.heads.sign import SignKind
from softhat.proof.heads.sign.rounding import ScoreErrors, SignRounding
from softhat.proof.scores import ScoreRow, WeightEntry, scale
from softhat.transformer.weights import Attention
from tests.slices import every

MIXED = (
    "2*#(a) >= #*(a)", "#(a) >= #>(b)", "#*(b) = 5*#(a)", "3*#(a) - #>(b) > #*(a) + 1",
    "#(a) + 2 >= n", "4*#(b) + #*(a) <= n", "#>(a) + i > 2*#>(b)", "2*#(a) >= i", "#(a) >= 2",
    "3*#(a) - 2*#>(b) + #*(a) >= 12*i - 5", "3*i >= #>(b) + 2*n - 4",
)  # fmt: skip
ATTENTIONS: tuple[Attention, ...] = ("unbounded", "temperature")


@pytest.mark.parametrize(("formula", "attention"), every(3, product(MIXED, ATTENTIONS)))
def test_no_partial_sum_is_larger(formula: str, attention: Attention) -> None:
    """Positive products at j = i, added up, are the largest partial sum in any order; of words of
    a length, and of words of at most that length and one scale."""
    model = softhat.compile(formula, alphabet="ab", attention=attention)
    proved = [head for head in model._proved[1].heads if isinstance(head.kind, SignKind)]
    assert proved
    form, tightest = FORMATS["float64"], np.inf
    for head, n in product(proved, range(1, 8)):
        kind, weights = head.kind, model.transformer.layers[head.layer]
        assert isinstance(kind, SignKind)
        scaled = scale(model.transformer.attention, n)
        rounding = SignRounding(kind.comparison, kind.scores, scaled, form)
        shorter = [m for m in range(1, n + 1) if scale(attention, m) == scaled]
        errors = []
        for start in (n, shorter[0]):
            rows = [row.row(n) for row in rounding.products]
            errors.append(ScoreErrors(rounding, start, n, rows))
        for word in product("ab", repeat=n):
            x = model.run(word).residual[head.layer][1 : n + 1]
            query, key = (x @ side.dense()[head.head].T for side in (weights.query, weights.key))
            products = query * key * scaled  # (position, row)
            logits = products.sum(axis=1) * kind.scores.sharpness
            for row, logit in zip(products, logits, strict=True):
                true = max(row[row > 0].sum(), -row[row < 0].sum())
                for of_lengths in errors:
                    said = of_lengths.largest_sum(of_lengths.near, abs(logit))
                    assert true <= said * (1 + 1e-12)
                tightest = min(tightest, said / max(true, 1e-9))
    assert tightest < 1.5


def test_magnitudes_cover_every_position_of_every_length() -> None:
    """Rows without means, at j = i, in words of any of some lengths."""
    rng = np.random.default_rng(3)
    for number in range(60):
        a, i, n = (int(x) for x in rng.integers(-4, 5, 3))
        text = f"{a}*#(a) + {i}*i + {n}*n >= {int(rng.integers(-30, 30))}"
        model = softhat.compile(text, alphabet="ab", attention=ATTENTIONS[number % 2])
        for head in model._proved[1].heads:
            if not isinstance(head.kind, SignKind):
                continue
            first, last = int(rng.integers(1, 4)), int(rng.integers(4, 20))
            scaled = scale(head.kind.scores.attention, last)
            rounding = SignRounding(
                head.kind.comparison, head.kind.scores, scaled, FORMATS["float64"]
            )
            for of in rounding.products:
                start, end = of.magnitudes(first, last, of.row(last))
                for m in range(first, last + 1):
                    for at in range(1, m + 1):
                        held = {"i": at, "r": m + 1 - at, "1": 1, "ordinary": 1}
                        one, other = (
                            sum(e.weight * held[e.base] * scaled**e.power for e in side.side)
                            for side in (of.query, of.key)
                        )
                        size = abs(one * other * scaled)
                        assert size <= max(start, end)
                        assert (at > 1 or size <= start) and (at < m or size <= end)


def test_a_row_that_crosses_0_is_as_large_as_in_the_shortest_word() -> None:
    """2·(r - 3i) is -4, -2, 0, 2 where i = 1, in words of 1 to 4 symbols."""
    query = (WeightEntry("i", 0, -3.0), WeightEntry("r", 0, 1.0))
    row = ScoreRow(query, (WeightEntry("ordinary", 0, 2.0),), 1.0, FORMATS["float64"])
    assert row.magnitudes(4, 4, row.row(4)) == (2.0, 22.0)
    assert row.magnitudes(1, 4, row.row(4)) == (4.0, 22.0)
