"""Words in exact numbers and in intervals, against the definition."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from softhat.ahat.file import dumps
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from softhat.numbers import positions
from softhat.proof.simulations import runs
from softhat.proof.simulations.source import Matrix, SourceModel, Vector, read
from tests.ahat.definition import evaluate
from tests.proof.simulations.fresh import fresh

getcontext().prec = 60


def source_of(model: AHAT) -> SourceModel:
    return read(json.loads(dumps(model)))


def sample(source: SourceModel, n: int, seed: int) -> npt.NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, len(source.alphabet), (4, n))


@pytest.mark.parametrize("name", ["sort", "leftmost-b", "rightmost-b", "dyck-argmin", "histogram"])
def test_hard_attention_is_that_of_the_model(name: str) -> None:
    model = GALLERY[name]()
    source = source_of(model)
    for n in (1, 2, 5):
        words = sample(source, n, n)
        values = runs.hard(source, words)
        for word, row in zip(words, values.fractions(), strict=True):
            assert row == evaluate(model, [source.alphabet[k] for k in word]).values


def number(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def dot(a: Sequence[Decimal], b: Sequence[Decimal]) -> Decimal:
    return sum((x * y for x, y in zip(a, b, strict=True)), Decimal(0))


def apply(matrix: Matrix, v: Sequence[Decimal], bias: Vector | None = None) -> list[Decimal]:
    made = [dot([number(w) for w in row], v) for row in matrix]
    return made if bias is None else [m + number(b) for m, b in zip(made, bias, strict=True)]


SHOWN: dict[str, Callable[[int, int], bool]] = {
    "none": lambda j, i: True,
    "<=": lambda j, i: j <= i,
    "<": lambda j, i: j < i,
    ">=": lambda j, i: j >= i,
    ">": lambda j, i: j > i,
}


def softmax(source: SourceModel, word: list[int], beta: Fraction) -> list[Decimal]:
    """By the definition, to sixty digits; every head has the same β."""
    bos, eos = source.bos is not None, source.eos is not None
    features = positions.exact(source.features, len(word), bos=bos, eos=eos)
    sinks = [[v] if v is not None else [] for v in (source.bos, source.eos)]
    tokens = [*sinks[0], *(source.tokens[k] for k in word), *sinks[1]]
    x = [
        [number(a) + b for a, b in zip(t, apply(source.places, list(map(number, f))), strict=True)]
        for t, f in zip(tokens, features, strict=True)
    ]
    for layer in source.layers:
        after = [list(v) for v in x]
        for head in layer.heads:
            query, key, value = (
                [apply(m, v) for v in x] for m in (head.query, head.key, head.value)
            )
            for i in range(len(x)):
                keys = [j for j in range(len(x)) if SHOWN[head.mask](j, i)]
                if not keys:
                    continue
                scores = {j: number(beta) * dot(query[i], key[j]) for j in keys}
                top = max(scores.values())
                weights = {j: (s - top).exp() for j, s in scores.items()}
                total = sum(weights.values(), Decimal(0))
                mean = [
                    sum((weights[j] * value[j][k] for j in keys), Decimal(0)) / total
                    for k in range(len(head.value))
                ]
                after[i] = [a + b for a, b in zip(after[i], apply(head.output, mean), strict=True)]
        x = after
        if layer.forward is not None:
            ff = layer.forward
            for i, v in enumerate(x):
                hidden = [max(z, Decimal(0)) for z in apply(ff.into, v, ff.into_bias)]
                x[i] = [a + b for a, b in zip(v, apply(ff.out, hidden, ff.out_bias), strict=True)]
    own = x[int(bos) : int(bos) + len(word)]
    return [apply((source.weights,), v, (source.bias,))[0] for v in own]


def inside(model: AHAT, seed: int) -> None:
    source = source_of(model)
    for n, beta in ((1, Fraction(3)), (3, Fraction(17, 2)), (4, Fraction(1000))):
        if source.longest is not None and n > source.longest:
            continue
        words = sample(source, n, seed)
        values = runs.soft(source, words, dict.fromkeys(source.heads, beta))
        low, high = values.low, values.high
        for row, word in enumerate(words):
            for at, exact in enumerate(softmax(source, word.tolist(), beta)):
                if math.isfinite(low[row, at]) and math.isfinite(high[row, at]):
                    assert Decimal(low[row, at]) <= exact <= Decimal(high[row, at])
        assert np.isfinite(low).all() and (high - low).max() < 1e-6


@pytest.mark.parametrize("name", ["sort", "leftmost-b", "dyck-argmin", "induction-average"])
def test_softmax_lies_in_its_interval(name: str) -> None:
    inside(GALLERY[name](), 3)


def test_softmax_of_fresh_models_lies_in_its_interval() -> None:
    for seed in range(12):
        inside(fresh(seed), seed)


def test_every_word_is_run_once() -> None:
    source = source_of(GALLERY["histogram"]())
    words = [tuple(w) for chunk in runs.chunks(source, 6) for w in chunk.tolist()]
    assert len(words) == len(set(words)) == len(source.alphabet) ** 6
