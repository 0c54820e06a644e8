"""Unique-hard heads whose tied keys agree: the same values, warmer laws, nothing else accepted."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import pytest

import softhat
from softhat.ahat import Builder
from softhat.ahat.analysis.averaging import averaging
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.every_length import derived
from softhat.ahat.simulation.temperature import NoTemperatureError
from softhat.ahat.simulation.unique import require_broken, tie_broken
from softhat.io.errors import SofthatError
from tests.ahat.definition import evaluate, softmax_values
from tests.ahat.models import random_deep
from tests.slices import sizes


def random_finder(rng: random.Random) -> AHAT:
    """Unique-hard heads that look for symbols, and for what earlier ones found: the value that they
    bring may be what they look for, or something else."""
    b = Builder("ab" if rng.random() < 0.5 else "abc", bos=rng.random() < 0.2)
    pool = [b.token(symbol) for symbol in b.alphabet]
    for k in range(rng.randint(1, 3)):
        sought = rng.choice(pool) * rng.choice([1, 1, 2, -1])
        if rng.random() < 0.3:
            sought = sought + rng.choice(pool)
        value = sought if rng.random() < 0.6 else rng.choice(pool)
        new = b.head(
            rng.choice(["<=", "<=", "none", "<", ">="]),
            value={f"h{k}": value},
            score=[(Fraction(rng.choice([1, 2]), 2), sought)],
            ties=rng.choice(["leftmost", "rightmost", "average"]),
        )[f"h{k}"]
        if rng.random() < 0.5:
            new = b.relu(f"r{k}", new + rng.choice(pool) - Fraction(rng.choice([1, 2]), 2))
        pool.append(new)
    b.output(pool[-1] - Fraction(1, 3))
    return b.build()


def changed(model: AHAT) -> list[tuple[int, int]]:
    """The heads that are averages now."""
    other = averaging(model)
    return [
        (l, h)
        for l, h in model.heads
        if other.layers[l].heads[h].ties != model.layers[l].heads[h].ties
    ]


@pytest.mark.parametrize("count", sizes(40, 1_000))
def test_the_average_of_what_agrees_is_what_was_taken(count: int) -> None:
    rng, some = random.Random(11), 0
    for _ in range(count):
        model = random_finder(rng) if rng.random() < 0.8 else random_deep(rng)
        if not changed(model):
            continue
        some += 1
        for n in range(1, 5):
            for word in itertools.islice(itertools.product(model.alphabet, repeat=n), 0, 81, 5):
                assert evaluate(averaging(model), word).values == evaluate(model, word).values
    assert some > count / 8


@pytest.mark.parametrize("count", sizes(6, 150))
@pytest.mark.parametrize("seed", [1, 2])
def test_laws_keep_what_is_certified(seed: int, count: int) -> None:
    """Softmax against hard attention by definition, on words of every short length."""
    rng, done = random.Random(seed), 0
    while done < count:
        model = random_finder(rng)
        if not changed(model):
            continue
        try:
            simulation = softhat.simulate(model, epsilon=1e-3)
        except NoTemperatureError:
            continue
        done += 1
        source = simulation.source
        for n in range(1, 5):
            betas = simulation.betas_at(n)
            for word in itertools.islice(itertools.product(model.alphabet, repeat=n), 0, 81, 4):
                exact = evaluate(model, word).values
                soft = softmax_values(source, betas, word)
                assert max(abs(float(x) - y) for x, y in zip(exact, soft, strict=True)) <= 1e-3


@pytest.mark.parametrize("count", sizes(12, 300))
def test_ties_that_may_differ_have_to_be_broken(count: int) -> None:
    """Without their terms heads are accepted only where the average is the same function."""
    rng, refused = random.Random(3), 0
    for _ in range(count):
        model = random_finder(rng)
        try:
            require_broken(model)
            derived(model, 1e-3, None).verdict  # noqa: B018 - it raises where it proves nothing
        except SofthatError:
            refused += 1
            continue
        as_average = replace(
            model,
            layers=tuple(
                replace(layer, heads=tuple(replace(h, ties="average") for h in layer.heads))
                for layer in model.layers
            ),
        )
        for word in itertools.product(model.alphabet, repeat=4):
            assert evaluate(as_average, word).values == evaluate(model, word).values
    assert 0 < refused < count


@pytest.mark.parametrize("mask", ["<", ">"])
@pytest.mark.parametrize("ties", ["leftmost", "rightmost"])
@pytest.mark.parametrize("same", [True, False])
def test_what_heads_without_scores_bring_is_known(mask: str, ties: str, same: bool) -> None:
    """Is there any position before? Such a head brings 1 or, of an empty row, 0: no average."""
    b = Builder("ab")
    inner = b.head(mask, value={"inner": b.token("a") + b.token("b")}, ties=ties)["inner"]
    value = inner if same else b.token("a")
    b.output(b.head(">=", value={"x": value}, score=[(1, inner)], ties=ties)["x"] - Fraction(1, 3))
    model = b.build()
    simulation = softhat.simulate(model, epsilon=1e-3)
    assert simulation.certificate.max_length["float64"] >= 1_000
    for word in itertools.product("ab", repeat=4):
        exact = evaluate(model, word).values
        for x, y in zip(exact, simulation.values(word, dtype="float64"), strict=True):
            assert abs(float(x) - y) <= 1e-3


def test_temperatures_do_not_grow_where_ties_agree() -> None:
    """Beyond the logarithm: β at 1,000 is at most three times that at 10."""
    model = GALLERY["a-b-c-in-equal-numbers"]()
    simulation = softhat.simulate(model, epsilon=1e-3)
    few, many = simulation.betas_at(10), simulation.betas_at(1_000)
    assert all(many[name] <= 3 * few[name] for name in model.heads)
    assert "dangerous" not in simulation.certificate.explain()
    broken = tie_broken(model, every=True)
    assert broken != model and tie_broken(model) == model
    assert {head.ties for layer in broken.layers for head in layer.heads} == {
        "average",
        "leftmost",
    }
