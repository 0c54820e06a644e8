"""The chosen β: close to the least that works, and binding."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import softhat
from softhat.ahat.exact import run
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.temperature import NoTemperatureError, grid, grid_index, round_up
from softhat.ahat.words import all_words
from tests.ahat import running
from tests.ahat.models import random_tieless
from tests.slices import sizes


def true_error(model: AHAT, betas: dict[tuple[int, int], float], longest: int) -> float:
    worst = 0.0
    for n in range(1, longest + 1):
        codes = np.concatenate(list(all_words(len(model.alphabet), n)))
        exact = np.array(run(model, codes).values(), dtype=float)
        worst = max(worst, float(np.abs(running.values(model, betas, codes) - exact).max()))
    return worst


def excess(model: AHAT, longest: int, epsilon: float = 1e-3) -> float:
    """Chosen β over the least common multiple of it that works, by bisection on all words."""
    s = softhat.simulate(model, max_length=longest, epsilon=epsilon)
    assert true_error(model, dict(s.betas), longest) <= epsilon
    low, high = 0.02, 1.0
    for _ in range(12):
        middle = math.sqrt(low * high)
        scaled = {name: beta * middle for name, beta in s.betas.items()}
        if true_error(model, scaled, longest) <= epsilon:
            high = middle
        else:
            low = middle
    return 1 / high


ONE_LAYER = [
    "first-token", "last-token", "last-by-inverse", "previous-token", "most-recent-occurrence",
    "reverse", "parity-of-length", "third-token",
]  # fmt: skip


@pytest.mark.parametrize("name", ONE_LAYER)
def test_one_layer_tieless(name: str) -> None:
    assert excess(GALLERY[name](), 7) <= 1.05


@pytest.mark.parametrize(
    ("name", "longest"),
    [("induction-latest", 7), ("induction-average", 7), ("dyck-argmin", 7), ("sort", 4)],
)
def test_several_layers(name: str, longest: int) -> None:
    assert excess(GALLERY[name](), longest) <= 1.5


@pytest.mark.parametrize("count", sizes(3, 15))
def test_random_uniform_tieless(count: int) -> None:
    rng = random.Random(31)
    done = 0
    while done < count:
        model = random_tieless(rng)
        r = softhat.analyze(model, up_to=3)
        assert r.uniform_tieless
        s = softhat.simulate(model, max_length=4, epsilon=1e-2)
        assert s.certificate.error <= 1e-2
        assert true_error(model, dict(s.betas), 4) <= s.certificate.error + 1e-12
        for n in (1, 3, 4):
            for codes in next(iter(all_words(2, n))):
                word = model.spell(codes)
                values = [float(v) for v in model.values(word)]
                if min(abs(v) for v in values) > 1e-2:  # nothing is promised nearer to 0
                    assert s.truth(word).tolist() == [v > 0 for v in values]
        word = "abba"[: rng.randint(1, 4)]
        assert np.abs(s.values(word) - np.array(model.values(word), dtype=float)).max() <= 1e-2
        done += 1


def test_decisions_only_need_less() -> None:
    model = GALLERY["previous-token"]()
    exact = softhat.simulate(model, max_length=6, epsilon=1e-3)
    decide = softhat.simulate(model, max_length=6, epsilon=None)
    assert decide.betas[0, 0] < exact.betas[0, 0] / 2
    assert decide.certificate.lengths[6].decisions["float64"]
    for codes in np.concatenate(list(all_words(2, 6))):
        word = model.spell(codes)
        assert decide.truth(word).tolist() == model.truth(word).tolist()


def test_a_value_on_the_threshold_is_refused() -> None:
    from softhat.ahat import Builder

    b = Builder("ab")
    score = [(1, b.position("i"))]
    b.output(b.head("none", value={"last": b.token("a")}, score=score)["last"])  # 0 if it is b
    with pytest.raises(NoTemperatureError, match="the exact value can be 0"):
        softhat.simulate(b.build(), max_length=3, epsilon=None)


def test_six_significant_bits() -> None:
    for beta in (1.0, 1.01, 3.14159, 7.6, 1e5, 1e-4, 63.5, 2.0**40 + 1):
        up = round_up(beta)
        assert beta <= up <= beta * (1 + 1 / 32)
        numerator, denominator = up.as_integer_ratio()
        odd = numerator // (numerator & -numerator)
        assert odd.bit_length() <= 6
        assert denominator & (denominator - 1) == 0
        assert grid(grid_index(up)) == up
    assert [grid_index(grid(k)) for k in range(-100, 100)] == list(range(-100, 100))
    assert all(grid(k) < grid(k + 1) for k in range(-100, 100))


def test_bad_requests() -> None:
    model = GALLERY["majority"]()
    for bad in (0, -1):
        with pytest.raises(softhat.SofthatError, match="a whole number, at least 1"):
            softhat.simulate(model, max_length=bad)
    for bad_epsilon in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(softhat.SofthatError, match="epsilon must be a positive"):
            softhat.simulate(model, epsilon=bad_epsilon)
    with pytest.raises(softhat.SofthatError, match="tables end at length 64"):
        softhat.simulate(GALLERY["dyck-uniform"](), max_length=65)


def test_averages_of_averages_get_an_astronomical_temperature() -> None:
    """Their gaps shrink by about a bit a token: true in the reals, and out of reach for floats."""
    from softhat.ahat import Builder

    b = Builder("ab")
    p = b.head("<=", value={"p": b.token("a")})["p"]
    q = b.head("<=", value={"q": p})["q"]
    b.output(b.head("<=", value={"r": b.token("a")}, score=[(1, q)])["r"])
    s = softhat.simulate(b.build(), max_length=40)
    assert s.betas[2, 0] > 1e15
    assert s.certificate.error <= 1e-3
    assert s.certificate.max_length["float64"] < 40
