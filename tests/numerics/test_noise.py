"""Sums in every order, and numbers with noise, against exact rationals."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from softhat.numerics.formats import FORMATS
from softhat.numerics.noise import FloatProgram, half_unit
from softhat.numerics.zonotopes import Zonotope, exactly


def float32(rng: random.Random) -> np.float32:
    """Numbers of all sizes and of few or many digits."""
    whole = rng.choice([1, 3, 5, rng.randrange(1, 1 << 24)])
    return np.float32(rng.choice([-1, 1]) * whole * 2.0 ** rng.randint(-30, 3))


def in_some_order(rng: random.Random, terms: list[np.float32]) -> np.float32:
    """The sum by additions of any two partial sums, until one is left."""
    left = list(terms)
    while len(left) > 1:
        a = left.pop(rng.randrange(len(left)))
        b = left.pop(rng.randrange(len(left)))
        left.append(a + b)
    return left[0]


def test_sums_in_any_order() -> None:
    rng = random.Random(1)
    program, closest, exact = FloatProgram(FORMATS["float32"]), 0.0, 0
    for _ in range(1500):
        terms = [float32(rng) for _ in range(rng.randint(1, 6))]
        weights = [np.float32(rng.choice([1, -1, 2, 3, 0.1, 0.375])) for _ in terms]
        x = exactly(np.array(terms, dtype=np.float64))
        found = program.product(x, np.array([weights], dtype=np.float64))
        radius = Fraction(float(found.radius[0]))
        exact += radius == 0
        for _ in range(6):
            summed = in_some_order(rng, [t * w for t, w in zip(terms, weights, strict=True)])
            off = abs(Fraction(float(summed)) - Fraction(float(found.centre[0])))
            assert off <= radius, (terms, weights)
            if radius:
                closest = max(closest, float(off / radius))
    assert closest > 0.99  # a bound that is met
    assert exact > 100


def test_products_that_cancel() -> None:
    """What is left of 2 - 2.5·fl(2/3) has few digits, but the product has too many."""
    rng = random.Random(2)
    program = FloatProgram(FORMATS["float32"])
    odd = [np.float32(x) for x in (2 / 3, 1 / 3, 0.1, 0.3, 1 / 7)]
    for _ in range(3000):
        terms = [np.float32(rng.choice([1, 2.5, 3, 5, 0.75])) for _ in range(rng.randint(2, 3))]
        weights = [rng.choice(odd), *(np.float32(rng.choice([-1, -2, 1])) for _ in terms[1:])]
        x = exactly(np.array(terms, dtype=np.float64))
        found = program.product(x, np.array([weights], dtype=np.float64))
        summed = in_some_order(rng, [t * w for t, w in zip(terms, weights, strict=True)])
        off = abs(Fraction(float(summed)) - Fraction(float(found.centre[0])))
        assert off <= Fraction(float(found.radius[0])), (terms, weights)


def test_errors_cancel_where_what_they_are_in_does() -> None:
    program = FloatProgram(FORMATS["float32"])
    x = Zonotope(np.array([1.25]), np.array([[1e-3]]))
    both = program.product(x, np.array([[1.0], [3.0]]))
    apart = program.product(both, np.array([[3.0, -1.0]]))
    assert abs(apart.centre[0]) < 1e-9
    assert apart.radius[0] < 1e-5


def test_what_is_at_most_a_power_of_two() -> None:
    sizes = np.array([0.0, 0.75, 1.0, 1.5, 2.0, 2.0000001, 4.0])
    units = half_unit(sizes, 24, 2.0**-149)
    assert (units * 2.0**24).tolist() == [0.0, 0.5, 0.5, 1.0, 1.0, 2.0, 2.0]


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_relu_between_its_bounds(name: str) -> None:
    rng = np.random.default_rng(2)
    program = FloatProgram(FORMATS[name])
    centre, noise = rng.normal(size=(400, 3)), rng.normal(size=(400, 5, 3)) * 0.2
    found = program.relu(Zonotope(centre, noise))
    for _ in range(50):
        signs = rng.choice([-1.0, 1.0, 0.3], size=(400, 5, 1))
        true = np.maximum(centre + (noise * signs).sum(axis=1), 0)
        shared = found.centre + (found.generators[:, :5] * signs).sum(axis=1)
        own = np.abs(found.generators[:, 5:]).sum(axis=1)
        assert (np.abs(true - shared) <= own + 1e-12).all()


def test_an_integer_is_divided_by_no_rounding_of_its_own() -> None:
    """8·(c/n) - 1 and the difference of the two units of a clip are exact in floats."""
    program = FloatProgram(FORMATS["float32"])
    shares = np.array([[np.float32(c) / np.float32(n)] for n in range(1, 60) for c in range(n + 1)])
    scaled = program.product(exactly(shares.astype(np.float64)), np.array([[8.0], [8.0]]))
    bias = np.broadcast_to(np.array([0.0, -1.0]), scaled.centre.shape)
    units = program.relu(program.add(scaled, exactly(bias)))
    clipped = program.product(units, np.array([[1.0, -1.0]]))
    whole = 8 * shares[:, 0] >= 1
    assert (clipped.radius[whole] == 0).all()
    assert (clipped.centre[whole] == 1).all()


def test_noise_of_one_name_cancels_and_other_noise_does_not() -> None:
    """x - x is 0 whatever x is; x less something else that looks like x is not."""
    program = FloatProgram(FORMATS["float32"])
    x = Zonotope(np.array([1.25]), np.array([[1e-3]]))
    twin = Zonotope(x.centre, x.generators)
    minus = np.array([[-1.0]])
    assert x.plus(program.product(x, minus)).radius[0] < 1e-9
    assert x.plus(program.product(twin, minus)).radius[0] >= 2e-3
