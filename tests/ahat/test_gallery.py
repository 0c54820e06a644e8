"""Every model of the gallery: what it computes, its type, and its simulation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.verify import verify_simulation
from tests.slices import every

Meaning = Callable[[str, int], bool]  # word, 1-based position


def latest_next(w: str, i: int) -> bool:
    found = [j for j in range(2, i + 1) if w[j - 2] == w[i - 1]]
    return bool(found) and w[found[-1] - 1] == "a"


def share_next(w: str, i: int) -> bool:
    found = [w[j - 1] == "a" for j in range(2, i + 1) if w[j - 2] == w[i - 1]]
    return bool(found) and sum(found) / len(found) > 0.5


def recent_is_odd(w: str, i: int) -> bool:
    found = [j for j in range(1, i) if w[j - 1] == w[i - 1]]
    return bool(found) and found[-1] % 2 == 1


def balanced(w: str, i: int) -> bool:
    depths = list(itertools.accumulate(1 if c == "(" else -1 for c in w[:i]))
    return min(depths) >= 0 and depths[-1] == 0


def equal_numbers(w: str, i: int) -> bool:
    m = i // 3
    return w[:i] == "a" * m + "b" * m + "c" * m


def dyck_2_to_depth_2(w: str, i: int) -> bool:
    stack: list[str] = []
    for c in w[:i]:
        if c in "([":
            stack.append(c)
            if len(stack) > 2:
                return False
        elif not stack or stack.pop() + c not in ("()", "[]"):
            return False
    return not stack


def carry(w: str, i: int) -> bool:
    """By adding: w holds the sums of two digits, lowest first."""
    c = 0
    for digits in w[: i - 1]:
        c = (int(digits) + c) // 2
    return c == 1


def nearest_smaller_is_a(w: str, i: int) -> bool:
    smaller = [c for c in w[: i - 1] if c < w[i - 1]]
    return smaller[-1:] == ["a"]


def a_since_b(w: str, i: int) -> bool:
    return any(w[j] == "b" and set(w[j + 1 : i]) <= {"a"} for j in range(i))


def odd_place(place: int, otherwise: int) -> bool:
    """Is the 0-based place (-1: not found) the index of an odd 1-based position?"""
    return (place if place >= 0 else otherwise) % 2 == 0


MEANINGS: dict[str, Meaning] = {
    "majority": lambda w, i: w.count("a") > w.count("b"),
    "first-token": lambda w, i: w[0] == "a",
    "last-token": lambda w, i: w[-1] == "a",
    "last-by-inverse": lambda w, i: w[i - 1] == "a",
    "previous-token": lambda w, i: w[max(i - 2, 0)] == "a",
    "induction-latest": latest_next,
    "induction-average": share_next,
    "most-recent-occurrence": recent_is_odd,
    "histogram": lambda w, i: w.count(w[i - 1]) >= 2,
    "reverse": lambda w, i: w[len(w) - i] == "a",
    "dyck-uniform": balanced,
    "dyck-argmin": balanced,
    "parity-of-length": lambda w, i: len(w) % 2 == 0,
    "third-token": lambda w, i: w[min(3, len(w)) - 1] == "a",
    "fifth-token": lambda w, i: w[min(5, len(w)) - 1] == "a",
    "most-frequent-symbol": lambda w, i: w.count("a") > max(w.count("b"), w.count("c")),
    "retrieval-by-count": lambda w, i: "a" in w and w[w.count("a") - 1] == "a",
    "parity": lambda w, i: w.count("1") % 2 == 1,
    "bounded-dyck-2": dyck_2_to_depth_2,
    "a-b-c-in-equal-numbers": equal_numbers,
    "leftmost-b": lambda w, i: odd_place(w.find("b"), 0),
    "rightmost-b": lambda w, i: odd_place(w.rfind("b"), len(w) - 1),
    "binary-carry": carry,
    "nearest-smaller": nearest_smaller_is_a,
    "no-two-b": lambda w, i: "bb" not in w[:i],
    "since": a_since_b,
}
TYPES = {  # uniform-tieless?
    name: name
    not in (
        "induction-average",
        "histogram",
        "sort",
        "dyck-argmin",
        "parity",
        "most-frequent-symbol",
    )
    for name in GALLERY
}
CERTIFIED = {  # others to 10, past the run words
    "sort": 4, "dyck-argmin": 8, "histogram": 7, "most-frequent-symbol": 4, "bounded-dyck-2": 4,
    "a-b-c-in-equal-numbers": 5, "parity": 8, "retrieval-by-count": 8,
}  # fmt: skip
KINDS = {
    "induction-average": ["tieless", "dangerous ties"],
    "induction-latest": ["tieless", "tieless"],
    "histogram": ["exact ties"],
    "sort": ["structurally uniform", "exact ties"],
    "dyck-argmin": ["structurally uniform", "exact ties"],
    "dyck-uniform": ["structurally uniform"] * 2,
    "majority": ["structurally uniform"],
}


def words(alphabet: tuple[str, ...], longest: int) -> list[str]:
    return [
        "".join(w) for n in range(1, longest + 1) for w in itertools.product(alphabet, repeat=n)
    ]


def test_there_are_enough() -> None:
    assert len(GALLERY) >= 25
    assert set(MEANINGS) | {"sort"} == set(GALLERY)


@pytest.mark.parametrize("name", every(2, MEANINGS))
def test_what_it_computes(name: str) -> None:
    model = GALLERY[name]()
    for word in words(model.alphabet, {2: 7, 3: 5, 4: 4}[len(model.alphabet)]):
        expected = [MEANINGS[name](word, i) for i in range(1, len(word) + 1)]
        assert model.truth(word).tolist() == expected, word


@pytest.mark.parametrize("name", GALLERY)
def test_its_file(name: str) -> None:
    folder = Path(__file__).parent.parent.parent / "examples" / "ahat"
    assert softhat.ahat.load(folder / f"{name}.json") == GALLERY[name]()


def test_sort() -> None:
    model = GALLERY["sort"]()
    for n in (1, 2, 3, 4):
        for keys in itertools.permutations("abcd", n):
            expected = [" abcd".index(s) - 1.5 for s in sorted(keys)]
            assert [float(v) for v in model.values("".join(keys))] == expected


@pytest.mark.parametrize("name", GALLERY)
def test_its_type(name: str) -> None:
    r = softhat.analyze(GALLERY[name](), up_to=4)
    assert r.uniform_tieless == TYPES[name]
    assert (r.counterexample is None) == TYPES[name]


@pytest.mark.parametrize("name", every(8, GALLERY))
def test_its_simulation(name: str) -> None:
    model = GALLERY[name]()
    longest = CERTIFIED.get(name, 10)
    s = softhat.simulate(model, max_length=longest, epsilon=1e-3)
    certificate = s.certificate
    assert certificate.error <= 1e-3
    assert certificate.length == longest
    assert certificate.max_length["float64"] == longest
    if name in KINDS:
        assert [h.kind for h in certificate.heads] == KINDS[name]
    for head in certificate.heads:
        if head.kind == "structurally uniform":
            assert (head.beta, head.leak) == (1.0, 0.0)
    # All short words and random longer ones: within the certified error of their length.
    rng = np.random.default_rng(0)
    exhaustive = words(model.alphabet, min(4 if len(model.alphabet) > 2 else 7, longest))
    longer = ["".join(rng.choice(list(model.alphabet), size=longest)) for _ in range(40)]
    for word in [*exhaustive, *longer]:
        exact = model.values(word)
        found = s.values(word)
        claimed = certificate.lengths[len(word)].error["float64"]
        assert max(abs(float(e) - f) for e, f in zip(exact, found, strict=True)) <= claimed
        assert s.truth(word).tolist() == [e > 0 for e in exact]
    result = verify_simulation(s, exhaustive=5, random=100)
    assert result.ok
    assert result.max_error <= certificate.error + 1e-12
    assert result.max_leak <= max(h.leak for h in certificate.heads) + 1e-12
