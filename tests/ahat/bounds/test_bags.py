"""Models of bags: which they are, and what hard attention gives on every bag."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from softhat.ahat import Builder
from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.bounds.bags import Bags, all_bags, bags_of
from softhat.ahat.builder import Expr
from softhat.ahat.exact import run
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT, BOS
from softhat.ahat.words import all_words
from softhat.numerics.exact import HeadTrace


def random_bags(rng: random.Random) -> AHAT:
    """Shares of symbols, clipped or bent, as keys of one layer that asks for positions, for its
    own symbol, or for nothing; with scores that tie, between symbols of different values too."""
    letters = "abc"[: rng.randint(2, 3)]
    b = Builder(letters, bos=rng.random() < 0.3)
    odd = Fraction(rng.choice(["1", "1/3", "5/7", "2"]))
    shares = b.head("none", value={f"share {s}": odd * b.token(s) for s in letters})
    keys = []
    for s in letters:
        share = shares[f"share {s}"]
        bent = [share, b.clip(f"has {s}", 3 * share), b.relu(f"more {s}", 2 * share - 1)]
        keys.append(rng.choice(bent))
    own: Expr = sum((k * b.token(s) for k, s in zip((1, 3, 6), letters, strict=False)), Expr())
    total: Expr = sum((rng.choice([-1, 1, 2]) * k for k in keys), Expr())
    mine = b.relu("mine", total + rng.choice([2, 3]) * b.token(letters[0]) - 1)
    queries = [b.position("i"), b.position("1/i"), b.token("a"), Expr((), Fraction(1))]
    score = [(rng.choice(queries), mine), (rng.choice([-1, 1, 2]), rng.choice(keys))]
    score += [(rng.choice(queries), b.token(letters[1]))] * rng.randint(0, 1)
    value = own + (b.embed("sink", {BOS: 4}) if b.bos else Expr())
    found = b.head("none", value={"found": value}, score=score)["found"]
    b.output(found + rng.choice([0, 1]) * b.token("a") - Fraction(3, 2))
    return b.build()


def gaps(model: AHAT, n: int) -> dict[tuple[int, int], float]:
    laws = gap_laws(model).gap.items()
    return {name: float(law.at(n)) for name, law in laws if law is not None}


def test_which_models() -> None:
    assert {name for name in GALLERY if bags_of(GALLERY[name]())} == {"histogram", "sort"}


@pytest.mark.parametrize(("symbols", "n"), [(1, 3), (2, 5), (3, 4), (4, 6)])
def test_all_bags(symbols: int, n: int) -> None:
    found = {tuple(bag) for bag in all_bags(symbols, n).tolist()}
    words = np.concatenate(list(all_words(symbols, n)))
    assert found == {tuple(np.bincount(w, minlength=symbols).tolist()) for w in words}
    assert len(found) == len(all_bags(symbols, n)) == math.comb(n + symbols - 1, n)


def compared(made: Bags, n: int) -> int:
    """All rows of all bags against the definition, on a word of each bag and its rotations."""
    model = made.model
    counts = all_bags(len(model.alphabet), n)
    there = made.there(counts, n)
    every = np.broadcast_to(np.arange(there.shape[1]), there.shape)
    found = made.hard_values(counts, n, gaps(model, n), every)
    assert found is not None
    seen = 0
    for bag, row, inside in zip(counts, found, there, strict=True):
        word = [s for s, k in zip(model.alphabet, bag, strict=True) for _ in range(k)]
        for turn in range(n):
            turned = word[turn:] + word[:turn]
            for i, (symbol, value) in enumerate(zip(turned, model.values(turned), strict=True)):
                at = i if made.alike else model.alphabet.index(symbol) * n + i
                assert inside[at]
                assert abs(row[at] - float(value)) < 1e-9, (turned, i)
                seen += 1
    return seen


def test_what_hard_attention_gives() -> None:
    rng = random.Random(4)
    made = [m for m in (bags_of(random_bags(rng)) for _ in range(14)) if m is not None]
    assert len(made) > 9 and {m.alike for m in made} == {True, False}
    assert sum(compared(m, n) for m in made for n in (1, 3)) > 400
    sort = bags_of(GALLERY["sort"]())
    assert sort is not None and compared(sort, 3) > 150


def test_which_rows_tie() -> None:
    """Exactly those in which maximal keys of the word have different values."""
    rng = random.Random(5)
    models = [GALLERY["sort"](), GALLERY["histogram"](), *(random_bags(rng) for _ in range(12))]
    seen = {True: 0, False: 0}
    for made in filter(None, map(bags_of, models)):
        model, n = made.model, 4
        counts = all_bags(len(model.alphabet), n)
        tied = made.dangerous(counts, n, gaps(model, n))
        assert tied is not None
        for bag, rows in zip(counts, tied, strict=True):
            word = np.repeat(np.arange(len(bag)), bag)
            for codes in (word, word[::-1]):
                heads = run(model, codes[None]).layers[made.last].heads
                for i, symbol in enumerate(codes):
                    danger = any(_vary(head, i + model.bos) for head in heads)
                    assert rows[i if made.alike else symbol * n + i] == danger
                    seen[danger] += 1
    assert min(seen.values()) > 50


def _vary(head: HeadTrace, i: int) -> bool:
    """Do the values of row i's maximal keys differ?"""
    best = head.best[0, i]
    return len({tuple(v) for v in head.values.num[0][best].tolist()}) > 1


def test_which_bags_tie() -> None:
    """At n = 12 and a b c in equal small numbers: 2/3 and 4/3 are as far from 1."""
    made = bags_of(GALLERY["sort"]())
    assert made is not None
    bags = np.array([[1, 1, 1, 9], [1, 1, 2, 8], [3, 3, 3, 3], [12, 0, 0, 0]])
    tied = made.dangerous(bags, 12, gaps(made.model, 12))
    assert tied is not None and tied.any(axis=1).tolist() == [True, True, False, False]
    assert tied[0].tolist() == [i == 1 for i in range(12)]
