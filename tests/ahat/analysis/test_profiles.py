"""Critical β in closed form is the one measured on every word."""

from __future__ import annotations

import random

import pytest

from softhat.ahat import Builder
from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.analysis.profiles import symbolic_profile
from softhat.ahat.analysis.tally import row_tally
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT, MASKS
from tests.slices import sizes

KNOWN = ["first-token", "last-token", "previous-token", "reverse", "third-token", "fifth-token",
         "parity-of-length", "induction-latest"]  # fmt: skip


def agrees(model: AHAT, longest: int) -> bool:
    profile = symbolic_profile(gap_laws(model).portrait.views[0, 0])
    if profile is None:
        return False
    for leak in (1e-3, 0.2):
        for n in range(1, longest + 1):
            measured = row_tally(model, n, leak).betas[n][0, 0]
            assert profile.critical(n, leak) == pytest.approx(measured, rel=1e-9), (n, leak)
    return True


@pytest.mark.parametrize("name", KNOWN)
def test_gallery(name: str) -> None:
    assert agrees(GALLERY[name](), 7)


@pytest.mark.parametrize("count", sizes(30, 60))
def test_random_heads_of_positions(count: int) -> None:
    rng = random.Random(8)
    found = 0
    for _ in range(count):
        b = Builder("ab", bos=rng.random() < 0.4)
        i, square, n, r = (b.position(f) for f in ("i", "i^2", "n", "r"))
        k = rng.randint(-2, 5)
        score = rng.choice([
            [(rng.choice([1, -3]), i)], [(2, b.position("i/n"))], [(-1, r)],
            [(2 * k, i), (-1, square)], [(4 * (i + k), i), (-2, square)],
            [(2 * (n - i), i), (-1, square)], [(2 * (r + k), i), (-1, square)],
        ])  # fmt: skip
        head = b.head(rng.choice(MASKS), value={"x": b.token("a")}, score=score)
        b.output(head["x"])
        found += agrees(b.build(), 5)
    assert found >= 2 * count // 3


def test_none_where_scores_read_symbols() -> None:
    for name in ("histogram", "most-recent-occurrence", "last-by-inverse"):
        assert symbolic_profile(gap_laws(GALLERY[name]()).portrait.views[0, 0]) is None
