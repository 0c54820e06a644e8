"""Words on which softmax is far from hard attention, by local search."""

from __future__ import annotations

import itertools

import numpy as np

from softhat.ahat.simulation.recheck.definition import Codes
from softhat.ahat.simulation.recheck.tensors import Tensors


def attack(
    model: Tensors, symbols: int, n: int, starts: int, rng: np.random.Generator
) -> list[Codes]:
    """Words of length n with large error: local search from random and periodic words."""
    first = [tuple(int(s) for s in rng.integers(0, symbols, n)) for _ in range(starts)]
    for period in range(1, 4):
        for block in itertools.islice(itertools.product(range(symbols), repeat=period), 6):
            first.append(tuple(itertools.islice(itertools.cycle(block), n)))
    rare = [(s,) * (n - 1) + (t,) for s in range(symbols) for t in range(symbols)]
    pool = list(dict.fromkeys([*first, *rare]))
    score = model.errors(pool)
    order = [pool[k] for k in np.argsort(-score)[:3]]
    result = []
    for word in order:
        best = float(model.errors([word])[0])
        for _ in range(4):
            near = [
                (*word[:k], s, *word[k + 1 :])
                for k in range(n)
                for s in range(symbols)
                if s != word[k]
            ]
            errors = model.errors(near)
            if float(errors.max()) <= best:
                break
            word, best = near[int(errors.argmax())], float(errors.max())
        result.append(word)
    return result
