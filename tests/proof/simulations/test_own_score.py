"""Heads that return their own score: the bounds of one row, who is such a head, what is claimed."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import softhat
from softhat.ahat import Builder, Expr
from softhat.ahat.bounds.along_laws import along_laws
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT, MASKS, TIES, Head
from softhat.ahat.simulation.temperature import NoTemperatureError
from softhat.io.errors import SofthatError
from softhat.numbers.laws import Constant
from softhat.proof.simulations.own_score import OwnScore, mean_below, own_score, temperature
from tests.ahat import running
from tests.ahat.definition import evaluate, softmax_values
from tests.ahat.models import random_deep, random_model, random_program
from tests.proof.simulations.claims import claims_of, source_of, streams_of
from tests.slices import sizes

# One row


def below(gaps: list[float]) -> Any:
    """How far the mean of -gaps under softmax is below 0, in 40 digits."""
    with mpmath.workdps(40):
        weights = [mpmath.exp(-mpmath.mpf(g)) for g in gaps]
        return sum(w * g for w, g in zip(weights, gaps, strict=True)) / sum(weights)


@pytest.mark.parametrize("keys", [2, 3, 8, 9, 20, 41, 300, 10**4, 10**6, 10**9])
def test_the_greatest_distance(keys: int) -> None:
    """M solves M·e^M = (T-1)/e; it is attained where all other keys lie at 1 + M."""
    most = float(mpmath.lambertw((keys - 1) / mpmath.e).real)
    assert most <= math.log((keys + 19) / 8) and 1 + most <= math.log((2 * keys + 7) / 3)
    assert most <= mean_below(keys, 1.0, 0.0) <= most * (1 + 1e-9) + 1e-9
    if keys <= 300:
        assert abs(below([0.0] + [1 + most] * (keys - 1)) - most) < 1e-9


def test_no_row_is_further_off() -> None:
    rng = random.Random(1)
    for _ in range(600):
        keys, winners = rng.randint(1, 40), rng.randint(1, 3)
        beta, gap = math.exp(rng.uniform(-2, 4)), math.exp(rng.uniform(-4, 1))
        few = [
            gap + abs(rng.gauss(0, rng.choice([0.01, 0.3, 3]))) for _ in range(rng.randint(1, 3))
        ]
        gaps = [0.0] * min(winners, keys)
        gaps += [rng.choice([*few, gap]) for _ in range(keys - len(gaps))]
        off = below([beta * g for g in gaps]) / beta
        assert off <= mean_below(keys, beta, gap) * (1 + 1e-9)
        assert off <= mean_below(keys, beta, 0.0) * (1 + 1e-9)


@pytest.mark.parametrize("sinks", [0, 1, 2])
@pytest.mark.parametrize("gap", ["5", "1", "1/10", "1/1000", "1/1000000"])
@pytest.mark.parametrize("strict", ["1/2", "3", "1000"])
def test_temperatures_leave_what_is_asked(sinks: int, gap: str, strict: str) -> None:
    """The worst row has all other keys at one distance: tried from the gap to far beyond."""
    law = temperature(Constant(Fraction(gap)), Constant(Fraction(strict)), sinks)
    for n in (1, 2, 3, 7, 40, 1000):
        beta, others = float(law.at(n)), n + sinks - 1
        least = beta * float(Fraction(gap))
        for x in (least, *np.linspace(least, least + 40, 400)):
            rest = others * x / (math.exp(x) + others) if others else 0.0
            assert rest / beta <= 1 / Fraction(strict) * Fraction(1 + 1e-9)


# Who is such a head


def found(model: AHAT) -> dict[tuple[int, int], OwnScore]:
    _, sights = streams_of(source_of(model))
    owns = {name: own_score(sight) for name, sight in sights.items()}
    return {name: own for name, own in owns.items() if own is not None}


def one_head(
    value: Callable[[Builder], dict[str, Expr]],
    score: Callable[[Builder], list[tuple[Any, Any]]],
    bos: bool = False,
) -> AHAT:
    b = Builder("abc", bos=bos)
    written = b.head("<=", value=value(b), score=score(b), name="it")
    b.output(sum(written.values(), Expr()))
    return b.build()


def numbered(b: Builder) -> Expr:
    return b.token("a") + 2 * b.token("b") + Fraction(1, 3) * b.position("1/i")


ACCEPTED: dict[str, AHAT] = {
    "the same": one_head(lambda b: {"x": numbered(b)}, lambda b: [(1, numbered(b))]),
    "a multiple": one_head(lambda b: {"x": -3 * numbered(b)}, lambda b: [(2, numbered(b))]),
    "and more": one_head(
        lambda b: {"x": numbered(b) + 7 * b.position("n") - 1}, lambda b: [(1, numbered(b))]
    ),
    "two values": one_head(
        lambda b: {"x": numbered(b), "y": 5 - numbered(b)}, lambda b: [(1, numbered(b))]
    ),
    "two rows": one_head(
        lambda b: {"x": numbered(b)},
        lambda b: [(1, b.token("a") + Fraction(1, 3) * b.position("1/i")), (2, b.token("b"))],
    ),
    "a sink": one_head(lambda b: {"x": numbered(b)}, lambda b: [(1, numbered(b))], bos=True),
}
REFUSED: dict[str, AHAT] = {
    "another weight": one_head(
        lambda b: {"x": numbered(b) + Fraction(1, 10**9) * b.token("c")},
        lambda b: [(1, numbered(b))],
    ),
    "on some symbols": one_head(
        lambda b: {"x": b.token("a") + 3 * b.token("b")},
        lambda b: [(1, b.token("a") + 2 * b.token("b"))],
    ),
    "a value that is not": one_head(
        lambda b: {"x": numbered(b), "y": b.token("a")}, lambda b: [(1, numbered(b))]
    ),
    "a position more": one_head(
        lambda b: {"x": numbered(b) + b.position("i/n")}, lambda b: [(1, numbered(b))]
    ),
    "a query that varies": one_head(
        lambda b: {"x": numbered(b)}, lambda b: [(b.token("a") + 1, numbered(b))]
    ),
    "a query that is a number of its own": one_head(
        lambda b: {"x": numbered(b)}, lambda b: [(b.position("n"), numbered(b))]
    ),
    "a sink that is another": one_head(
        lambda b: {"x": numbered(b) + b.embed("s", {"<bos>": 1})},
        lambda b: [(1, numbered(b))],
        bos=True,
    ),
    "no scores": one_head(lambda b: {"x": numbered(b)}, lambda b: [(0, numbered(b))]),
    "equal scores": one_head(lambda b: {"x": numbered(b)}, lambda b: [(1, b.position("n"))]),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_heads_that_return_their_score(name: str) -> None:
    model = ACCEPTED[name]
    assert (0, 0) in found(model)
    simulation = softhat.simulate(model, epsilon=1e-3)
    assert simulation.laws[0, 0] is not None and "min" in simulation.laws[0, 0].text
    for n in (1, 2, 3, 4):
        for word in itertools.product("abc", repeat=n):
            soft = softmax_values(simulation.source, simulation.betas_at(n), word)
            hard = evaluate(model, word).values
            assert max(abs(float(x) - y) for x, y in zip(hard, soft, strict=True)) <= 1e-3


@pytest.mark.parametrize("name", REFUSED)
def test_heads_that_return_something_else(name: str) -> None:
    assert (0, 0) not in found(REFUSED[name])


def random_finder(rng: random.Random) -> AHAT:
    """Heads that mostly return what they look for, one layer after the other."""
    b = Builder(rng.choice(["ab", "abc"]), bos=rng.random() < 0.3)
    names = ("i/n", "1/i", "(-1)^i", "first", "n")
    pool = [b.token(s) for s in b.alphabet] + [b.position(rng.choice(names)) for _ in range(2)]
    pool += b.head("<=", value={"mean": rng.choice(pool) - rng.choice(pool)}).values()

    def some() -> Expr:
        return sum((Fraction(rng.choice([1, 2, -1, -3]), rng.choice([1, 3])) * rng.choice(pool)
                    for _ in range(rng.randint(1, 2))), Expr())  # fmt: skip

    for k in range(rng.randint(1, 3)):
        sought = some()
        value = sought * rng.choice([1, -2]) + rng.choice([0, 1]) if rng.random() < 0.8 else some()
        pool += b.head(
            rng.choice(MASKS), value={f"h{k}": value}, score=[(rng.choice([1, 2, -1]), sought)],
            ties=rng.choice(TIES),
        ).values()  # fmt: skip
        if rng.random() < 0.4:
            pool.append(b.relu(f"r{k}", pool[-1] - Fraction(1, 3)))
    b.output(pool[-1] - Fraction(1, 7))
    return b.build()


MAKERS = (random_finder, random_finder, random_deep, random_model, random_program)


@pytest.mark.parametrize("count", sizes(60, 2_000))
def test_what_is_recognised_is_so(count: int) -> None:
    """By the definition: in every row of every short word the value is λ·score + b."""
    rng, seen = random.Random(5), 0
    for k in range(count):
        model = MAKERS[k % len(MAKERS)](rng)
        for (l, h), own in found(model).items():
            seen += 1
            for n in range(1, 4):
                for word in itertools.product(model.alphabet, repeat=n):
                    scores = evaluate(model, word).rows[l, h]
                    for r, slope in enumerate(own.slopes):
                        values = values_of(model, l, h, r, word)
                        if any(row[r] for row in model.layers[l].heads[h].output):
                            for row in scores:
                                rest = {values[j] - slope * s for j, s in row.items()}
                                assert len(rest) <= 1
    assert seen > count / 3


def values_of(model: AHAT, l: int, h: int, r: int, word: tuple[str, ...]) -> dict[int, Fraction]:
    """Row r of the value at each position, as the key of a head with the query 1 scores it."""
    head = model.layers[l].heads[h]
    wide = replace(
        model,
        embedding=tuple((*v, Fraction(1)) for v in model.embedding),
        bos_embedding=None if model.bos_embedding is None else (*model.bos_embedding, Fraction(1)),
        eos_embedding=None if model.eos_embedding is None else (*model.eos_embedding, Fraction(1)),
        position_embedding=(*model.position_embedding, (Fraction(0),) * len(model.positions)),
        output_weights=(*model.output_weights, Fraction(0)),
        names=(),
        layers=tuple(
            replace(
                layer,
                heads=tuple(_wide(x) for x in layer.heads)
                + ((_probe(head, r, model.d_model),) if m == l else ()),
                feed_forward=None if (ff := layer.feed_forward) is None else replace(
                    ff,
                    in_weights=tuple((*row, Fraction(0)) for row in ff.in_weights),
                    out_weights=(*ff.out_weights, (Fraction(0),) * len(ff.in_weights)),
                    out_bias=(*ff.out_bias, Fraction(0)),
                ),
            )
            for m, layer in enumerate(model.layers)
        ),
    )  # fmt: skip
    rows = evaluate(wide, word).rows[l, len(model.layers[l].heads)]
    return rows[0]


def _wide(head: Head) -> Head:
    query, key, value = (
        tuple((*row, Fraction(0)) for row in m) for m in (head.query, head.key, head.value)
    )
    nothing = (Fraction(0),) * len(head.value)
    return replace(head, query=query, key=key, value=value, output=(*head.output, nothing))


def _probe(head: Head, r: int, d: int) -> Head:
    one = (Fraction(0),) * d + (Fraction(1),)
    key = ((*head.value[r], Fraction(0)),)
    return Head("none", (one,), key, (), tuple(() for _ in range(d + 1)))


# What is claimed


@pytest.mark.parametrize("count", sizes(15, 400))
def test_simulations_are_within_epsilon(count: int) -> None:
    """By the definition on short words, in long doubles on longer ones."""
    rng, own = random.Random(7), 0
    for _ in range(count):
        model = random_finder(rng)
        try:
            simulation = softhat.simulate(model, epsilon=1e-2)
        except NoTemperatureError:
            continue
        heads = simulation.certificate.evidence["layers"]  # type: ignore[index]
        own += any(h is not None and h["inside"] is None for layer in heads for h in layer["heads"])
        for n in (1, 2, 3, 4):
            betas = simulation.betas_at(n)
            for word in itertools.islice(itertools.product(model.alphabet, repeat=n), 0, 81, 3):
                soft = softmax_values(simulation.source, betas, word)
                hard = evaluate(model, word).values
                assert max(abs(float(x) - y) for x, y in zip(hard, soft, strict=True)) <= 1e-2
        betas = {name: float(beta) for name, beta in simulation.betas_at(12).items()}
        codes = np.random.default_rng(1).integers(0, len(model.alphabet), (30, 12))
        soft_values = running.values(simulation.source, betas, codes, "longdouble")
        hard_values = [model.values([model.alphabet[c] for c in word]) for word in codes]
        exact = np.array([[np.longdouble(float(x)) for x in row] for row in hard_values])
        assert np.abs(soft_values - exact).max() <= 1e-2 + 1e-12
    assert own > count / 4


@pytest.mark.parametrize("count", sizes(6, 300))
def test_floats_are_within_epsilon(count: int) -> None:
    """In every format to the length that is certified, and no further than 9."""
    rng = random.Random(13)
    for _ in range(count):
        model = random_finder(rng)
        try:
            simulation = softhat.simulate(model, max_length=rng.choice([None, 6]), epsilon=1e-2)
        except NoTemperatureError:
            continue
        for dtype, length in simulation.certificate.max_length.items():
            for n in range(1, min(length, 9) + 1):
                codes = np.random.default_rng(n).integers(0, len(model.alphabet), (60, n))
                soft = simulation.run_batch(codes, dtype)[..., 0].astype(np.float64)
                hard = [model.values([model.alphabet[c] for c in word]) for word in codes]
                exact = np.array([[float(x) for x in row] for row in hard])
                assert np.abs(soft - exact).max() <= 1e-2


@pytest.mark.parametrize("count", sizes(40, 600))
def test_errors_that_come_from_before_are_bounded(count: int) -> None:
    """At any β, where earlier layers err, in scores and values alike."""
    rng = random.Random(9)
    for _ in range(count):
        model = random_finder(rng)
        betas = {name: math.exp(rng.uniform(-1, 6)) for name in model.heads}
        averaged = replace(model, layers=tuple(
            replace(layer, heads=tuple(replace(h, ties="average") for h in layer.heads))
            for layer in model.layers
        ))  # fmt: skip
        bounds = along_laws(averaged)
        for n in (2, 3, 5):
            codes = np.array(list(itertools.product(range(len(model.alphabet)), repeat=n)))[::3]
            soft = running.values(averaged, betas, codes, "longdouble")
            hard = [averaged.values([model.alphabet[c] for c in word]) for word in codes]
            exact = np.array([[np.longdouble(float(x)) for x in row] for row in hard])
            error = bounds.errors(n, betas).error
            assert np.abs(soft - exact).max() <= error * (1 + 1e-12) + 1e-14


def test_a_claim_of_another_head_is_refused() -> None:
    """A head that does not return its score, one whose score errs, and one that claims more."""
    for name in ("last-token", "a-b-c-in-equal-numbers", "bounded-dyck-2"):
        claims = claims_of(GALLERY[name]())
        for l, layer in enumerate(claims.evidence["layers"]):
            for h, head in enumerate(layer["heads"]):
                if head is None or head["inside"] is None:
                    continue
                changed = json.loads(json.dumps(claims.evidence))
                changed["layers"][l]["heads"][h]["inside"] = None
                with pytest.raises(SofthatError):
                    replace(claims, evidence=changed).check()


@pytest.mark.parametrize("key", ["gap", "leak"])
@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(2)])
def test_other_numbers_are_refused(key: str, factor: Fraction) -> None:
    """Temperatures are those of the gap and the leak; a smaller leak or a wider gap is not so."""
    claims = claims_of(GALLERY["dyck-argmin"]())
    claims.check()
    head = claims.evidence["layers"][1]["heads"][0]
    head[key] = {"product": [str(factor), head[key]]}
    with pytest.raises(SofthatError):
        claims.check()


def test_a_value_that_is_nearly_the_score_is_refused() -> None:
    claims = claims_of(GALLERY["dyck-argmin"]())
    head = claims.document["layers"][1]["heads"][0]
    for c in (0, 1, 2, 5):  # two tokens, the average, 1/i; the others are the same everywhere
        changed = json.loads(json.dumps(claims.document))
        more = Fraction(head["value"][0][c]) + Fraction(1, 10**6)
        changed["layers"][1]["heads"][0]["value"][0][c] = str(more)
        with pytest.raises(SofthatError):
            replace(claims, document=changed).check()


def test_beta_over_the_least_grows_no_more() -> None:
    """dyck-argmin: β is n times warmer than by the gap, and at most a logarithm beyond."""
    laws = softhat.simulate(GALLERY["dyck-argmin"](), epsilon=1e-3).laws
    law = laws[1, 0]
    assert law is not None
    assert [float(law.at(n)) for n in (8, 16, 32)] == [164, 608, 1984]
    assert float(law.at(10**6)) < 9 * float(law.at(32))
