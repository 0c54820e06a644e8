"""Gap laws: never above the true gap, and tight on the gallery."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import softhat
from softhat.ahat import Builder
from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.analysis.tally import row_tally
from softhat.ahat.exact import run
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from softhat.numbers.laws import Law
from tests.ahat.definition import evaluate
from tests.ahat.models import random_deep, random_model, random_program, random_tieless
from tests.slices import sizes

MAKERS = (
    random_model,
    random_program,
    random_tieless,
    random_deep,
    lambda rng: random_program(rng, 4),
    random_deep,
)


def true_gaps(model: AHAT, n: int) -> dict[tuple[int, int], tuple[Fraction | float, bool]]:
    """From the definition, over all words of length n: the least gap, and whether a row ties."""
    found: dict[tuple[int, int], tuple[Fraction | float, bool]] = dict.fromkeys(
        model.heads, (math.inf, False)
    )
    for word in itertools.product(model.alphabet, repeat=n):
        for name, rows in evaluate(model, word).rows.items():
            for row in rows:
                scores = sorted(row.values(), reverse=True)
                lower = [s for s in scores if s < scores[0]]
                least, ties = found[name]
                if lower:
                    least = min(least, scores[0] - lower[0])
                found[name] = least, ties or (len(scores) > 1 and scores[1] == scores[0])
    return found


@pytest.mark.parametrize("count", sizes(15, 30))
def test_never_above_the_gap_by_definition(count: int) -> None:
    rng = random.Random(31)
    for k in range(count):
        model = MAKERS[k % len(MAKERS)](rng)
        laws = gap_laws(model)
        for n in range(1, 4):
            for name, (gap, ties) in true_gaps(model, n).items():
                law = laws.gap[name]
                assert gap == math.inf if law is None else law.at(n) <= gap
                assert not (laws.tieless[name] and ties)


def check(seed: int, models: int) -> None:
    rng = random.Random(seed)
    for k in range(models):
        model = MAKERS[k % len(MAKERS)](rng)
        laws = gap_laws(model)
        longest = rng.choice([4, 5, 6]) if len(model.alphabet) == 2 else 4
        for n in range(1, min(longest, model.longest or longest) + 1):
            tally, gaps = row_tally(model, n, 1e-3), least_gaps(model, n, 0, 0)
            for name, law in laws.gap.items():
                gap = gaps[name]
                assert gap == tally.gaps[n][name]
                assert gap == math.inf if law is None else law.at(n) <= gap
                assert not (laws.tieless[name] and tally.several[name])


@pytest.mark.parametrize("count", sizes(30, 60))
def test_never_above_the_gap(count: int) -> None:
    check(5, count)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 110))
def test_never_above_the_gap_at_full_size(seed: int) -> None:
    check(seed, 120)


LAWS = {
    ("first-token", (0, 0)): "1",
    ("last-token", (0, 0)): "1/n",
    ("last-by-inverse", (0, 0)): "1/(n·(n-1))",
    ("previous-token", (0, 0)): "1",
    ("induction-latest", (0, 0)): "1",
    ("induction-latest", (1, 0)): "min(1/n, 1/2)",
    ("induction-average", (1, 0)): "1/2",
    ("most-recent-occurrence", (0, 0)): "min(1/n, 1/2)",
    ("histogram", (0, 0)): "1",
    ("reverse", (0, 0)): "1",
    ("dyck-argmin", (1, 0)): "2/(n·(n-1))",
    ("parity-of-length", (0, 0)): "1",
    ("third-token", (0, 0)): "1",
}


@pytest.mark.parametrize(("place", "text"), LAWS.items(), ids=str)
def test_laws_of_the_gallery(place: tuple[str, tuple[int, int]], text: str) -> None:
    law = softhat.analyze(GALLERY[place[0]](), up_to=2).gap_law[place[1]]
    assert law is not None
    assert law.text == text


@pytest.mark.parametrize("step", sizes(3, 1))
def test_tight_on_the_gallery_at_length_8(step: int) -> None:
    """Within 3 times of the true gap for at least 80 % of the heads that are not uniform."""
    ratios = []
    for name in list(GALLERY)[::step]:
        model = GALLERY[name]()
        n = min(8, model.longest or 8, int(math.log(40_000) / math.log(len(model.alphabet))))
        gaps = row_tally(model, n, 1e-3).gaps[n]
        for head, law in gap_laws(model).gap.items():
            if law is not None and gaps[head] != math.inf:
                ratios.append(gaps[head] / law.at(n))
    assert min(ratios) >= 1
    assert sum(r <= 3 for r in ratios) >= 0.8 * len(ratios)


def structured(model: AHAT, n: int, pairs: int) -> list[list[str]]:
    """Words on which gaps are least: blocks, single changes, periods, two counts next to each
    other; and random ones."""
    rng = random.Random(n)
    letters = list(itertools.permutations(model.alphabet, 2))
    rng.shuffle(letters)
    found = []
    for x, y in letters[:pairs]:
        z = next((s for s in model.alphabet if s not in (x, y)), x)
        for cut in sorted({1, 2, n // 3, n // 2 - 1, n // 2, n // 2 + 1, n - 2, n - 1}):
            found.append([x] * cut + [y] * (n - cut))
            changed = [x] * n
            changed[cut] = y
            found.append(changed)
        found += [([x, y] * n)[:n], ([x, x, y] * n)[:n], ([x] + [x, y] * n)[:n]]
        found.append([x] * (n // 2) + [y] * (n // 2 - 1) + [z] * (n - n // 2 - (n // 2 - 1)))
    return found + [rng.choices(model.alphabet, k=n) for _ in range(24)]


def by_counts(model: AHAT, n: int, most: int) -> list[list[str]]:
    """A word for each way to have so many of each symbol, if there are not too many: all that
    heads see whose scores do not read positions."""
    symbols = len(model.alphabet)
    if math.comb(n + symbols - 1, symbols - 1) > most:
        return []
    return [list(w) for w in itertools.combinations_with_replacement(model.alphabet, n)]


def least_gaps(
    model: AHAT, n: int, pairs: int, most: int
) -> dict[tuple[int, int], Fraction | float]:
    """Of all words where there are few, else of words by counts and structured ones: never below
    the true gap. From exact scores, row by row."""
    if len(model.alphabet) ** n <= 600:
        words = [list(w) for w in itertools.product(model.alphabet, repeat=n)]
    else:
        words = structured(model, n, pairs) + by_counts(model, n, most)
    least: dict[tuple[int, int], Fraction | float] = dict.fromkeys(model.heads, math.inf)
    step = max(1, 400_000 // (n + 1) ** 2)
    for start in range(0, len(words), step):
        trace = run(model, model.codes(words[start : start + step]))
        for l, h in model.heads:
            head = trace.layers[l].heads[h]
            scores, lowest = head.scores.num, head.scores.num.min()
            top = np.where(head.mask, scores, lowest).max(axis=2, keepdims=True)
            lower = head.mask & (scores < top)
            gaps = (top - scores)[lower]
            if gaps.size:
                least[l, h] = min(least[l, h], Fraction(int(gaps.min()), head.scores.den))
    return least


def check_powers(lengths: tuple[int, ...], pairs: int, most: int) -> None:
    """No law of a greater power of n, or with a greater constant, is below the gap: at two of the
    lengths words attain the law itself, whatever the head."""
    heads = 0
    for name in GALLERY:
        model = GALLERY[name]()
        laws = {head: law for head, law in gap_laws(model).gap.items() if law is not None}
        attained = dict.fromkeys(laws, 0)
        for n in lengths:
            gaps = least_gaps(model, n, pairs, most)
            for head, law in laws.items():
                assert law.at(n) <= gaps[head], (name, head, n)
                attained[head] += law.at(n) == gaps[head]
        assert min(attained.values(), default=2) >= 2, (name, attained)
        heads += len(laws)
    assert heads == 36


def test_laws_of_the_whole_gallery_are_attained() -> None:
    check_powers((9, 15, 17), 3, 1_200)


@pytest.mark.full
def test_laws_of_the_whole_gallery_are_attained_at_full_size() -> None:
    check_powers((8, 16, 31, 33, 49), 8, 7_500)


def averages_of_averages() -> AHAT:
    b = Builder("ab")
    once = b.head("<=", value={"once": b.token("a")})["once"]
    twice = b.head("<=", value={"twice": once})["twice"]
    found = b.head("none", value={"found": b.token("a")}, score=[(1, twice)])["found"]
    b.output(found - Fraction(1, 2))
    return b.build()


def test_averages_of_averages_are_exponential() -> None:
    law = softhat.analyze(averages_of_averages(), up_to=2).gap_law[2, 0]
    assert isinstance(law, Law)
    assert law.text == "1/(lcm(1..n)·n·(n-1))"
    assert law.at(4) == Fraction(1, 12 * 12)
    assert law.log_at(10**6) < -0.9e6


def test_types_are_proved_for_every_length() -> None:
    for name in (
        "first-token", "last-token", "last-by-inverse", "previous-token", "reverse",
        "third-token", "parity-of-length", "induction-latest", "most-recent-occurrence",
    ):  # fmt: skip
        r = softhat.analyze(GALLERY[name](), up_to=3)
        assert (r.uniform_tieless, r.guarantee) == (True, "proved_all"), name
    for name in ("histogram", "dyck-argmin", "induction-average", "sort", "parity"):
        assert not gap_laws(GALLERY[name]()).uniform_tieless


def test_a_half_integer_peak_ties() -> None:
    """Scores 5j - j² peak at 5/2: positions 2 and 3 tie."""
    b = Builder("ab")
    score = [(5, b.position("i")), (-1, b.position("i^2"))]
    b.output(b.head("none", value={"x": b.token("a")}, score=score)["x"])
    assert not gap_laws(b.build()).tieless[0, 0]
    assert not softhat.analyze(b.build(), up_to=4).uniform_tieless
