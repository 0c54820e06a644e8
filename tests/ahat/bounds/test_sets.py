"""Certified errors are never below the true ones, and hardly above.

Truth is the softmax model in extended precision on every word of the length; its forward pass
is compared with the definition first.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from softhat.ahat import Builder
from softhat.ahat.analysis.tally import row_tally
from softhat.ahat.bounds.sets import SetBounds
from softhat.ahat.exact import run
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.lengths import Lengths
from softhat.ahat.simulation.temperature import choose
from softhat.ahat.words import all_words
from tests.ahat import running
from tests.ahat.definition import softmax_values, wide
from tests.ahat.models import random_model, random_program, random_tieless
from tests.ahat.running import float_bound
from tests.slices import sizes


def true_error(model: AHAT, betas: dict[tuple[int, int], float], n: int, dtype: str) -> float:
    codes = np.concatenate(list(all_words(len(model.alphabet), n)))
    exact = np.array([[wide(v) for v in row] for row in run(model, codes).values()])
    found = running.values(model, betas, codes, dtype).astype(np.longdouble)
    return float(np.abs(found - exact).max())


Case = tuple[AHAT, int, dict[tuple[int, int], float], Lengths, bool]


def cases(seed: int, models: int, repeats: int) -> Iterator[Case]:
    rng = random.Random(seed)
    makers = [random_model, random_program, random_tieless, random_program]
    for k in range(models):
        model = makers[k % 4](rng)
        n = rng.randint(2, 4 if len(model.alphabet) == 2 else 3)
        lengths = Lengths(model)
        tied = any(c[2] for c in row_tally(model, n, 1e-3).rows[n].values())
        for _ in range(repeats):
            betas = {name: math.exp(rng.uniform(-1, 5)) for name in model.heads}
            yield model, n, betas, lengths, tied


def test_the_forward_pass_is_the_definition() -> None:
    rng = random.Random(5)
    for k in range(40):
        model = random_model(rng) if k % 2 else random_program(rng)
        betas = {name: math.exp(rng.uniform(-1, 3)) for name in model.heads}
        word = "".join(rng.choice(model.alphabet) for _ in range(rng.randint(1, 4)))
        expected = np.array(softmax_values(model, betas, word))
        for dtype, tolerance in (("longdouble", 1e-15), ("float64", 1e-11), ("float32", 2e-2)):
            found = running.values(model, betas, model.codes([word]), dtype)[0]
            assert np.all(np.abs(found - expected) <= tolerance * (1 + np.abs(expected)))


def attack(seed: int, models: int) -> tuple[list[float], list[float], int, int]:
    """Ratios certified/true by words and by sets; how many pairs, how many with ties."""
    by_words, by_sets = [], []
    pairs = ties = 0
    for k, (model, n, betas, lengths, tied) in enumerate(cases(seed, models, 4)):
        true = true_error(model, betas, n, "longdouble")
        slack = 1e-14 * (1 + true)
        bound = lengths.bound(n, betas)
        assert lengths.method(n) in ("words", "structure")
        assert bound.error >= true - slack
        pairs, ties = pairs + 1, ties + tied
        if true > 1e-9:
            by_words.append(bound.error / true)
        if k % 8 == 0 and lengths.sets(n).complete:
            proved = SetBounds(lengths._plan, lengths.sets(n)).errors(betas)
            assert proved.error >= true - slack
            # Two upper bounds, each with up to 1e-12 for its own evaluation in floats.
            assert proved.error >= bound.error * (1 - 1e-6) - 1e-12
            for name, leak in bound.leaks.items():
                assert proved.leaks[name] >= leak * (1 - 1e-6) - 1e-12
            if true > 1e-9:
                by_sets.append(proved.error / true)
    return by_words, by_sets, pairs, ties


@pytest.mark.parametrize("count", sizes(42, 252))
def test_soundness_and_tightness(count: int) -> None:
    by_words, by_sets, pairs, ties = attack(21, count)
    assert pairs >= 3.97 * count
    assert ties >= 0.595 * count
    assert np.median(by_words) <= 1.2
    assert np.quantile(by_words, 0.9) <= 2.5
    assert np.median(by_sets) <= 1.2


@pytest.mark.full
def test_soundness_and_tightness_of_many() -> None:
    by_words, by_sets, pairs, _ = attack(22, 1500)
    assert pairs >= 6000
    assert np.median(by_words) <= 1.2
    assert np.quantile(by_words, 0.9) <= 2.5
    assert np.median(by_sets) <= 1.2


@pytest.mark.parametrize("count", sizes(16, 60))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_soundness_in_floats(dtype: str, count: int) -> None:
    for model, n, betas, lengths, _ in cases(23, count, 1):
        # β of 6 significant bits, as synthesis makes them
        betas = {name: float(np.float16(beta)) for name, beta in betas.items()}
        assert float_bound(lengths, n, betas, dtype) >= true_error(model, betas, n, dtype)


def test_one_layer_without_upstream_error_is_exact() -> None:
    """The fractional bound is attained by a word: sets lose nothing over one tieless layer."""
    rng = random.Random(9)
    seen = 0
    for _ in range(40):
        model = random_program(rng, layers=1)
        n = 3
        betas = {name: math.exp(rng.uniform(0, 3)) for name in model.heads}
        true = true_error(model, betas, n, "longdouble")
        lengths = Lengths(model)
        proved = SetBounds(lengths._plan, lengths.sets(n)).errors(betas).error
        if true > 1e-6 and not any(t.several for t in lengths.ties(n).values()):
            assert proved == pytest.approx(true, rel=1e-6)
            seen += 1
    assert seen >= 5


def test_structurally_uniform_models_have_no_error() -> None:
    b = Builder("ab")
    x = b.head("<=", value={"x": b.token("a") * Fraction(1, 3)})["x"]
    y = b.head("none", value={"y": b.relu("r", x - Fraction(1, 7))})["y"]
    b.output(y)
    lengths = Lengths(b.build())
    assert lengths.uniform
    for n in (1, 5, 500):
        assert lengths.bound(n, {}).error == 0
        assert 0 < float_bound(lengths, n, {}, "float64") < 1e-12
    codes = np.concatenate(list(all_words(2, 6)))
    exact = np.array(run(lengths.model, codes).values(), dtype=float)
    for dtype in ("float64", "float32"):
        found = running.values(lengths.model, {}, codes, dtype)
        assert np.abs(found - exact).max() <= float_bound(lengths, 6, {}, dtype)


@pytest.mark.parametrize("count", sizes(1, 2))
def test_temperatures_are_chosen_on_a_thousand_words_with_tight_bounds(count: int) -> None:
    # On the reachable sets these bounds would be up to a thousand times the true error.
    rng = random.Random(8)
    ratios: list[float] = []
    while len(ratios) < count:
        model = random_model(rng)
        lengths = Lengths(model, top=10)
        if len(model.layers) != 2 or len(model.heads) > 2 or len(model.alphabet) > 2:
            continue
        choice = choose(lengths, 10, 1e-2)
        certified = choice.bounds[10].error
        true = true_error(model, dict(choice.betas), 10, "longdouble")
        assert true - 1e-14 <= certified <= 1e-2
        if true > 1e-9:
            assert lengths.method(10) == "words"
            ratios.append(certified / true)
    assert max(ratios) <= 1.2
