"""Comparisons: the largest partial sum of a score, against the sums of real words."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest

import softhat
from softhat.proof.arithmetic import FORMATS
from softhat.proof.heads import sign
from softhat.proof.scores import Row, row_of, scale

MIXED = (
    "2*#(a) >= #*(a)", "#(a) >= #>(b)", "#*(b) = 5*#(a)", "3*#(a) - #>(b) > #*(a) + 1",
    "#(a) + 2 >= n", "4*#(b) + #*(a) <= n", "#>(a) + i > 2*#>(b)", "2*#(a) >= i", "#(a) >= 2",
)  # fmt: skip


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("formula", MIXED)
def test_no_partial_sum_is_larger(
    formula: str, attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Positive products at j = i, added up, are the largest partial sum in any order."""
    model = softhat.compile(formula, alphabet="ab", attention=attention)
    kinds: list[sign.Sign] = []
    bound = sign.Sign.bound

    def noted(kind: sign.Sign, n: int, form: object) -> object:
        kinds.append(kind)
        return bound(kind, n, form)  # type: ignore[arg-type]

    monkeypatch.setattr(sign.Sign, "bound", noted)
    assert model.certificate.max_length["float32"] > 0
    (layer,) = (k for k, layer in enumerate(model.transformer.layers) if "Sign" in layer.kinds)
    weights = model.transformer.layers[layer]
    tightest = inf
    for n in range(1, 8):
        scaled = scale(model.transformer.attention, n)
        for word in product("ab", repeat=n):
            x = model.run(word).residual[layer]
            for head, kind in enumerate(dict.fromkeys(kinds)):
                at = np.arange(1, n + 1)
                query, key = (x[at] @ side.dense()[head].T for side in (weights.query, weights.key))
                products = query * key * scaled  # (position, row)
                logits = products.sum(axis=1) * kind.scores.sharpness
                lines = [
                    sign._line(q, k, n, scaled, row)
                    for q, k in kind.scores.rows
                    if not any(entry.base == "mean" for entry in q)
                    for row in [row_of(q, k, n, scaled, FORMATS["float64"])]
                    if isinstance(row, Row)
                ]
                for row, logit in zip(products, logits, strict=True):
                    said = sign._largest_sum(kind, [], lines, n, inf, abs(logit))
                    true = max(row[row > 0].sum(), -row[row < 0].sum())
                    assert true <= said * (1 + 1e-12)
                    tightest = min(tightest, said / max(true, 1e-9))
    assert tightest < 1.5
