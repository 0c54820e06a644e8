"""Claims to a given length: what is true is accepted, and nothing that says more."""

from __future__ import annotations

import copy
import itertools
import json
import random
from fractions import Fraction
from typing import Any

import pytest

import softhat
from softhat.ahat.file import dumps
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.evidence import evidence_to_length
from softhat.ahat.simulation.simulation import Simulation
from softhat.io.errors import SofthatError, VoidError
from softhat.numbers.laws import Constant, Law
from softhat.proof.simulations import lengths
from softhat.proof.simulations.lengths import Reached, check_to
from tests.proof.simulations.fresh import fresh
from tests.proof.simulations.test_source import leaves
from tests.slices import sizes

EPSILON = Fraction(1, 1000)


def parts(model: AHAT, betas: dict[tuple[int, int], Fraction]) -> tuple[Any, Any, dict[Any, Law]]:
    """The document, the evidence and constant laws."""
    evidence = json.loads(json.dumps(evidence_to_length(model)))
    return json.loads(dumps(model)), evidence, {k: Constant(b) for k, b in betas.items()}


def reached(s: Simulation, top: int, epsilon: Fraction | None = EPSILON) -> dict[int, Reached]:
    document, evidence, _ = parts(s.source, {})
    return check_to(document, s.every_law, evidence, epsilon, top)


def prove(name: str, top: int) -> None:
    s = softhat.simulate(GALLERY[name](), max_length=top)
    if s.length is not None:
        found = reached(s, top)
        assert set(found) == set(range(1, top + 1))
        assert max(r.error for r in found.values()) <= EPSILON


@pytest.mark.parametrize(
    ("name", "top"),
    [("histogram", 12), ("leftmost-b", 40), ("dyck-argmin", 9), ("last-by-inverse", 40)],
)
def test_what_simulate_claims_is_proved(name: str, top: int) -> None:
    prove(name, top)


@pytest.mark.full
@pytest.mark.parametrize("top", [7, 12, 40])
@pytest.mark.parametrize("name", sorted(GALLERY))
def test_what_simulate_claims_is_proved_at_full_size(name: str, top: int) -> None:
    prove(name, top)


def test_laws_alone_reach_far(monkeypatch: pytest.MonkeyPatch) -> None:
    s = softhat.simulate(GALLERY["last-token"](), max_length=500)
    monkeypatch.setattr(lengths, "MOST_WORDS", 0)
    assert {r.method for r in reached(s, 500).values()} == {"laws"}


@pytest.mark.parametrize("name", ["sort", "histogram", "leftmost-b", "dyck-argmin", "parity"])
def test_laws_bound_what_words_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warm, so that the error is large: that of the laws is never below that of the words."""
    model = softhat.simulate(GALLERY[name](), max_length=5).source
    document, evidence, laws = parts(model, dict.fromkeys(model.heads, Fraction(24)))
    wide = Fraction(10**9)
    bounds = check_to(document, laws, evidence, wide, 4)
    monkeypatch.setattr(lengths, "walked", _refused)
    by_words = check_to(document, laws, evidence, wide, 4)
    assert {r.method for r in by_words.values()} == {"words"}
    for n, found in by_words.items():
        assert found.error <= bounds[n].error * (1 + 1e-9) + 1e-9


def _refused(*_: Any) -> Any:
    raise VoidError("not this time")


def test_too_warm_is_not_proved() -> None:
    for name in ("histogram", "leftmost-b", "last-token"):
        s = softhat.simulate(GALLERY[name](), max_length=8)
        document, evidence, _ = parts(s.source, {})
        laws = {k: Constant(Fraction(law.at(1)) / 2) for k, law in s.every_law.items()}
        found = check_to(document, laws, evidence, EPSILON, 8)
        assert len(found) < 8


def test_decisions() -> None:
    s = softhat.simulate(GALLERY["last-token"](), max_length=20, epsilon=None)
    assert set(reached(s, 20, None)) == set(range(1, 21))
    document, evidence, _ = parts(s.source, {})
    warm = {name: Constant(Fraction(1, 100)) for name in s.every_law}
    assert len(check_to(document, warm, evidence, None, 20)) < 20


def test_ties_that_nothing_breaks() -> None:
    """The field `ties` added by hand: the scores tie, and softmax takes the mean."""
    model = GALLERY["histogram"]()
    s = softhat.simulate(model, max_length=4)
    document, evidence, _ = parts(s.source, {})
    for layer in document["layers"]:
        for head in layer["heads"]:
            head["ties"] = "leftmost"
    assert len(check_to(document, s.every_law, evidence, EPSILON, 4)) < 4


def true_error(model: AHAT, s: Simulation, n: int) -> float:
    words = list(itertools.product(model.alphabet, repeat=n))
    worst = 0.0
    for word in words[:: max(1, len(words) // 40)]:
        soft = s.values(word, dtype="float64")
        worst = max(
            worst, *(abs(float(x) - y) for x, y in zip(model.values(word), soft, strict=True))
        )
    return worst


def attack(name: str, every: int, seed: int) -> int:
    """Evidence with one leaf changed: what is still proved is true."""
    model = softhat.simulate(GALLERY[name](), max_length=6).source
    betas = dict.fromkeys(model.heads, Fraction(6))
    document, evidence, laws = parts(model, betas)
    s = Simulation(model, laws, 6)
    errors = {n: true_error(model, s, n) for n in range(1, 5)}
    rng, accepted = random.Random(seed), 0
    for path in leaves(evidence)[rng.randrange(every) :: every]:
        changed = copy.deepcopy(evidence)
        place: Any = changed
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = rng.choice([None, 0, 1, 2, 100, "1", "1000", "1/1000", "-1", [], True])
        for epsilon in (Fraction(1, 100), Fraction(1), Fraction(10)):
            try:
                found = check_to(document, laws, changed, epsilon, 4)
            except SofthatError as error:
                assert "\n" not in str(error)
                continue
            for n, r in found.items():
                accepted += 1
                assert errors[n] <= r.error * (1 + 1e-9) + 1e-9 and r.error <= epsilon
    return accepted


def test_changed_evidence() -> None:
    assert attack("leftmost-b", 4, 1) + attack("dyck-argmin", 12, 2) > 5


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(GALLERY))
def test_changed_evidence_at_full_size(name: str) -> None:
    attack(name, 3, 7)


def fresh_to_a_length(seed: int, top: int) -> bool:
    """A fresh AHAT to a length: refused, or right on all short words."""
    model = fresh(seed)
    try:
        s = softhat.simulate(model, max_length=min(top, model.longest or top), epsilon=1e-2)
        certificate = s.certificate
    except SofthatError as error:
        assert "mistake in softhat" not in str(error), (seed, str(error))
        return False
    assert s.length is None or certificate.length == s.length, seed
    for n in range(1, min(4, s.length or 4) + 1):
        assert true_error(model, s, n) <= 1e-2
    return True


@pytest.mark.parametrize("count", sizes(2, 4))
def test_fresh_models_to_a_length(count: int) -> None:
    assert sum(fresh_to_a_length(seed, 4 + seed % 3) for seed in range(count)) > count // 4


@pytest.mark.full
def test_fresh_models_to_a_length_at_full_size() -> None:
    assert sum(fresh_to_a_length(seed, 3 + seed % 20) for seed in range(4, 300)) > 150
