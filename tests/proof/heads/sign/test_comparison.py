"""A comparison's numbers, against counts in every short word."""

from __future__ import annotations

from itertools import product

import numpy as np

import softhat
from softhat.proof.heads.sign import SignKind


def test_logits_lie_between_what_is_said_and_never_nearer_to_0() -> None:
    rng = np.random.default_rng(4)
    seen = 0
    for _ in range(20):
        a, b, c, i, n = (int(x) for x in rng.integers(-3, 4, 5))
        least = int(rng.integers(-6, 7))
        text = f"{a}*#(a) + {b}*#>(b) + {c}*#*(a) + {i}*i + {n}*n >= {least}"
        model = softhat.compile(text, alphabet="ab")
        heads = [head for head in model._proved[1].heads if isinstance(head.kind, SignKind)]
        if len(heads) != 1:
            continue
        (head,) = heads
        assert isinstance(head.kind, SignKind)
        seen += 1
        weights, compared = model.transformer.layers[head.layer], head.kind.comparison
        logits: dict[int, list[float]] = {}
        for m in range(1, 7):
            for word in product("ab", repeat=m):
                x = model.run(word).residual[head.layer][1 : m + 1]
                query, key = (
                    x @ side.dense()[head.head].T for side in (weights.query, weights.key)
                )
                logits.setdefault(m, []).extend((query * key).sum(axis=1).tolist())
        for start, end in ((1, 1), (3, 3), (6, 6), (1, 6), (2, 5)):
            some = [x for m in range(start, end + 1) for x in logits[m]]
            low, high = compared.logits(start, end)
            assert low - 1e-9 <= min(some) and max(some) <= high + 1e-9
            yes, no = compared.gaps(low, high)
            assert min([x for x in some if x > 0], default=yes) >= yes - 1e-9
            assert min([-x for x in some if x < 0], default=no) >= no - 1e-9
            assert start < end or compared.is_near(end) or not min(some) < 0 < max(some)
    assert seen > 5
