"""Unique-hard attention: ties broken by a position term, and simulated."""

from __future__ import annotations

import itertools
import json
import math
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import softhat
from softhat.ahat import Builder, dumps, loads
from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.analysis.tally import row_tally
from softhat.ahat.model import AHAT, Layer
from softhat.ahat.simulation.temperature import NoTemperatureError
from softhat.ahat.simulation.unique import require_broken, tie_broken
from softhat.io.errors import SofthatError
from tests.ahat.definition import evaluate
from tests.ahat.models import random_deep
from tests.ahat.simulation.extended import soft_values
from tests.slices import every, sizes


def is_unique(model: AHAT, name: tuple[int, int]) -> bool:
    return model.layers[name[0]].heads[name[1]].ties != "average"


def ended(model: AHAT, rng: random.Random) -> AHAT:
    """The model with an `<eos>`, and with a `<bos>`, without which there is none."""
    bos, eos = (
        tuple(Fraction(rng.randint(-2, 2), rng.choice([1, 1, 2])) for _ in range(model.d_model))
        for _ in range(2)
    )
    start = model.bos_embedding or bos
    return replace(model, bos=True, bos_embedding=start, eos_embedding=eos)


def check(seed: int, models: int, eos: bool = False) -> None:
    rng = random.Random(seed)
    done = 0
    while done < models:
        model = random_deep(rng)
        if eos:
            model = ended(model, rng)
        unique = [name for name in model.heads if is_unique(model, name)]
        if not unique:
            continue
        done += 1
        broken = tie_broken(model, rng.choice([None, 5]), every=True)
        laws = gap_laws(broken).gap
        for n in range(1, 6):
            tally = row_tally(broken, n, 1e-3)
            for name in unique:
                law = laws[name]
                assert law is not None
                assert not tally.several[name]
                assert law.at(n) <= tally.gaps[n][name]
            for word in itertools.islice(itertools.product("ab", repeat=n), 0, 32, 5):
                assert broken.values(word) == evaluate(model, word).values


@pytest.mark.parametrize("count", sizes(5, 20))
def test_a_position_term_makes_one_maximum(count: int) -> None:
    check(3, count)


@pytest.mark.full
def test_a_position_term_makes_one_maximum_at_full_size() -> None:
    check(4, 200)


@pytest.mark.parametrize("count", sizes(5, 20))
def test_a_position_term_puts_eos_last(count: int) -> None:
    """Position features are 0 at `<eos>`, which stands behind the word all the same."""
    check(5, count, eos=True)


@pytest.mark.full
def test_a_position_term_puts_eos_last_at_full_size() -> None:
    check(6, 200, eos=True)


def simulated_with_eos(seed: int, models: int) -> None:
    rng = random.Random(seed)
    done = 0
    while done < models:
        model = ended(random_deep(rng), rng)
        if not any(is_unique(model, name) for name in model.heads):
            continue
        try:
            simulation = softhat.simulate(
                model, epsilon=1e-3, **rng.choice([{}, {"max_length": 5}])
            )
        except NoTemperatureError:
            continue
        done += 1
        top = simulation.certificate.max_length["float64"]
        for n in range(1, min(5, top + 1)):
            for word in itertools.product("ab", repeat=n):
                exact = evaluate(model, word).values
                soft = simulation.values(word, dtype="float64")
                assert max(abs(float(x) - y) for x, y in zip(exact, soft, strict=True)) <= 1e-3


@pytest.mark.parametrize("count", sizes(2, 3))
def test_simulations_with_eos_keep_their_error(count: int) -> None:
    simulated_with_eos(7, count)


@pytest.mark.full
def test_simulations_with_eos_keep_their_error_at_full_size() -> None:
    simulated_with_eos(8, 100)


def decides_alike(seed: int, models: int) -> tuple[int, int]:
    """Softmax by laws (to a length where there are none) has the exact decisions; how many models
    have unique-hard heads, and how many of them laws for every length."""
    rng = random.Random(seed)
    done = everywhere = 0
    while done < models:
        model = random_deep(rng)
        if not any(is_unique(model, name) for name in model.heads):
            continue
        done += 1
        try:
            s = softhat.simulate(model, epsilon=1e-3)
            everywhere += s.length is None
        except NoTemperatureError:
            s = softhat.simulate(model, max_length=4, epsilon=1e-3)
        for n in (1, 2, 3, 4):
            betas = {name: Fraction(law.at(n)) for name, law in s.every_law.items()}
            largest = max(float(b) for b in betas.values())
            digits = None if largest < 1e7 else 60 + int(math.log10(largest))
            for word in itertools.islice(itertools.product("ab", repeat=n), 0, 16, 3):
                exact = evaluate(model, word).values
                soft = soft_values(s.source, betas, word, digits)[:n]
                for x, y in zip(soft, exact, strict=True):
                    assert abs(x - y) <= 1e-3, (seed, done, word)
                    assert abs(y) <= 1e-3 or (x > 0) == (y > 0), (seed, done, word)
    return done, everywhere


@pytest.mark.parametrize("count", sizes(4, 12))
def test_simulated_decisions_are_the_exact_ones(count: int) -> None:
    done, everywhere = decides_alike(6, count)
    assert everywhere >= 0.7 * done


@pytest.mark.full
def test_simulated_decisions_of_150_models_are_the_exact_ones() -> None:
    done, everywhere = decides_alike(7, 150)
    assert everywhere >= 0.7 * done


def leftmost_or_rightmost(ties: str) -> AHAT:
    """The symbol after the first (last) b, an a if there is none: is it an a?"""
    b = Builder("ab")
    where = b.head("none", value={"odd": b.mod(2, 1)}, score=[(1, b.token("b"))], ties=ties)
    b.output(where["odd"] - Fraction(1, 2))
    return b.build()


@pytest.mark.parametrize("ties", ["leftmost", "rightmost"])
def test_simulation_takes_the_key_wanted(ties: str) -> None:
    model = leftmost_or_rightmost(ties)
    assert loads(dumps(model)) == model
    s = softhat.simulate(model, max_length=8, epsilon=1e-3)
    for n in range(1, 9):
        for word in itertools.product("ab", repeat=n):
            best = [k for k, c in enumerate(word) if c == "b"] or list(range(n))
            chosen = best[0] if ties == "leftmost" else best[-1]
            expected = (chosen + 1) % 2 == 1
            assert list(model.truth(word)) == [expected] * n
            assert list(s.truth(word)) == [expected] * n


def test_a_wrong_kind_of_ties_is_refused() -> None:
    with pytest.raises(softhat.SofthatError, match="ties"):
        leftmost_or_rightmost("topmost")
    text = dumps(leftmost_or_rightmost("leftmost")).replace("leftmost", "middle")
    with pytest.raises(softhat.SofthatError, match="ties"):
        loads(text)


def _averaging() -> AHAT:
    """Two symbols that tie, with different values: leftmost and average differ."""
    b = Builder("ab")
    seen = b.head("<=", value={"seen": b.token("a")}, score=[(1, b.token("a") + b.token("b"))])
    b.output(seen["seen"] - Fraction(1, 3))
    return b.build()


@pytest.mark.parametrize("max_length", [None, 5])
def test_ties_that_a_file_claims_to_be_broken_are_not(
    tmp_path: Path, max_length: int | None
) -> None:
    softhat.simulate(_averaging(), max_length=max_length).save(tmp_path / "m")
    path = tmp_path / "m" / "ahat.json"
    document = json.loads(path.read_text())
    document["layers"][0]["heads"][0]["ties"] = "leftmost"
    path.write_text(json.dumps(document))
    with pytest.raises(SofthatError, match="breaks their ties"):
        softhat.load(tmp_path / "m").certificate  # noqa: B018 - computing it is what fails


@pytest.mark.parametrize("max_length", [None, 5])
@pytest.mark.parametrize("seed", every(3, range(20)))
def test_broken_ties_are_recognised(seed: int, max_length: int | None) -> None:
    try:
        model = random_deep(random.Random(seed))
        broken = tie_broken(model, max_length, every=True)
    except NoTemperatureError:
        return
    require_broken(broken, max_length)
    require_broken(tie_broken(model, max_length), max_length)


def test_a_term_that_is_too_large_breaks_nothing() -> None:
    """Of size 2, it lifts a far b to the score of a near a."""
    b = Builder("ab")
    seen = b.head("<=", value={"s": b.token("a")}, score=[(1, b.token("a"))], ties="leftmost")
    b.output(seen["s"] - Fraction(1, 3))
    broken = tie_broken(b.build(), every=True)
    require_broken(broken)
    head = broken.layers[0].heads[0]
    larger = tuple(w * 4 for w in head.query[-1])
    wrong = replace(head, query=(*head.query[:-1], larger))
    with pytest.raises(SofthatError, match="breaks their ties"):
        require_broken(replace(broken, layers=(Layer((wrong,)),)))
