"""Analysis: the golden values, counterexamples, guarantees, fits."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

import softhat
from softhat.ahat import Builder
from softhat.ahat.analysis.fits import fitted
from softhat.ahat.analysis.gaps import proved_gaps
from softhat.ahat.gallery import GALLERY
from softhat.ahat.words import all_words
from tests.ahat.definition import evaluate
from tests.ahat.models import random_model
from tests.slices import every, sizes


def test_golden_previous_token() -> None:
    r = softhat.analyze(GALLERY["previous-token"](), up_to=8)
    assert r.rows[8][0, 0] == (0, 2048, 0)
    assert r.min_gap[0, 0] == 1
    assert r.uniform_tieless
    assert r.counterexample is None
    assert r.guarantee == "proved_all"  # a single peak, whatever the word and its length


def test_golden_dyck_by_argmin() -> None:
    r = softhat.analyze(GALLERY["dyck-argmin"](), up_to=8)
    assert r.rows[8][1, 0] == (510, 1135, 403)
    assert r.gaps[8][1, 0] == Fraction(1, 28)
    assert r.min_gap[0, 0] == math.inf
    assert not r.uniform_tieless
    assert r.guarantee == "exhaustive"
    found = r.counterexample
    assert found is not None
    assert (found.word, found.layer, found.head) == ("))(", 1, 0)
    assert (found.row, found.positions) == (2, (0, 1))  # 0-based: row 3, A = {1, 2}
    assert found.scores == (1, 1, Fraction(1, 3))
    eighth = r.counterexamples[8]
    assert (eighth.word, eighth.row, eighth.positions) == ("((()((()", 7, (3, 7))


def test_golden_histogram() -> None:
    r = softhat.analyze(GALLERY["histogram"](), up_to=6)
    assert r.rows[6][0, 0] == (18, 729, 4356)
    assert r.min_gap[0, 0] == 1


def test_rows_and_gaps_are_those_of_the_definition() -> None:
    rng = random.Random(3)
    for _ in range(12):
        model = random_model(rng, alphabet="ab")
        r = softhat.analyze(model, up_to=3)
        first = None
        for n in (1, 2, 3):
            counts = {name: [0, 0, 0] for name in model.heads}
            gaps: dict[tuple[int, int], list[Fraction]] = {name: [] for name in model.heads}
            for codes in next(iter(all_words(2, n))):
                word = str(model.spell(codes))
                for name, rows in evaluate(model, word).rows.items():
                    for scores in rows:
                        values = sorted(scores.values(), reverse=True)
                        best = sum(v == values[0] for v in values) if values else 0
                        kind = 0 if best == len(values) else 1 if best == 1 else 2
                        counts[name][kind] += 1
                        if best < len(values):
                            gaps[name].append(values[0] - values[best])
                        if kind == 2 and first is None:
                            first = word
            assert {k: tuple(c) for k, c in counts.items()} == r.rows[n]
            assert {k: min(g, default=math.inf) for k, g in gaps.items()} == r.gaps[n]
        assert (r.counterexample.word if r.counterexample else None) == first


def test_levels_of_guarantee() -> None:
    assert softhat.analyze(GALLERY["majority"](), up_to=4).guarantee == "proved_all"
    assert softhat.analyze(GALLERY["dyck-uniform"](), up_to=4).guarantee == "proved_all"
    far = softhat.analyze(GALLERY["last-token"](), up_to=24, max_words=64)
    assert (far.guarantee, far.up_to, far.exhaustive_length) == ("proved_all", 24, 6)
    assert far.min_gap[0, 0] == Fraction(1, 24)
    sampled = softhat.analyze(GALLERY["dyck-argmin"](), words=["()()", "((("])
    assert sampled.guarantee == "sampled"
    assert sorted(sampled.rows) == [3, 4]


def test_given_words_only() -> None:
    model = GALLERY["sort"]()
    r = softhat.analyze(model, words=["dbca", "ca", "acd"])
    assert r.uniform_tieless  # keys are distinct
    assert not softhat.analyze(model, words=["dbda"]).uniform_tieless
    with pytest.raises(softhat.SofthatError, match="no words"):
        softhat.analyze(model, words=[])


def test_a_long_request_says_where_it_ends() -> None:
    r = softhat.analyze(GALLERY["sort"](), up_to=9, max_words=300)
    assert r.notes
    assert r.up_to <= 9
    r = softhat.analyze(GALLERY["dyck-uniform"](), up_to=70, max_words=8)
    assert any("tables end at length 64" in note for note in r.notes)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("previous-token", "constant"),
        ("parity-of-length", "constant"),
        ("last-token", "n"),
        ("last-by-inverse", "n^2"),
        ("histogram", "log n"),
        ("dyck-argmin", "n^2"),
    ],
)
def test_fits(name: str, shape: str) -> None:
    model = GALLERY[name]()
    points = {}
    for n in (4, 6, 8, 12, 16):
        from softhat.ahat.analysis.gaps import proved_gaps

        points[n] = max(proved_gaps(model, n).critical_beta.values())
    law = fitted(points)
    assert law is not None
    assert law.shape == shape
    assert law(12) == pytest.approx(points[12], rel=0.05)


def test_fits_from_formulas() -> None:
    ns = [4, 8, 16, 32, 64, 128]
    for shape, f in {
        "constant": lambda n: 7.6,
        "log n": lambda n: math.log(n) + 7,
        "n": lambda n: 6.9 * n,
        "n log n": lambda n: n * math.log(n),
        "n^2": lambda n: 3 * n * n,
        "2^n": lambda n: 2.0**n,
    }.items():
        law = fitted({n: f(n) for n in ns})
        assert law is not None
        assert law.shape == shape
    assert fitted({1: 2.0, 2: 3.0}) is None


def test_structure() -> None:
    r = softhat.analyze(GALLERY["induction-average"](), up_to=4)
    assert not r.structure[1, 0].exact_scores  # they read what layer 0 found
    assert r.structure[0, 0].exact_scores
    assert r.varying_ties[1, 0]
    b = Builder("ab")
    total = b.head("none", value={"total": b.token("a")})["total"]
    again = b.head("<=", value={"again": b.token("a")}, score=[(1, total)])["again"]
    b.output(again)
    # The total is the same at every position: scores that read it are uniform.
    assert softhat.analyze(b.build(), up_to=3).guarantee == "proved_all"


def test_min_gap_and_guarantee_speak_of_the_same_lengths() -> None:
    """To a length where words are run, the gap is theirs; a statement that ends early has none of
    the lengths beyond."""
    r = softhat.analyze(GALLERY["dyck-argmin"](), up_to=12, max_words=300)
    assert (r.guarantee, r.up_to) == ("exhaustive", 8)
    assert r.min_gap[1, 0] == Fraction(1, 28)


@pytest.mark.parametrize("name", every(4, GALLERY))
def test_a_gap_is_never_below_its_law(name: str) -> None:
    r = softhat.analyze(GALLERY[name](), up_to=12, max_words=30)
    for head, gap in r.min_gap.items():
        law = r.gap_law[head]
        assert gap == math.inf if law is None else gap >= law.at(r.up_to)


def test_rows_uniform_by_accident_are_named_so() -> None:
    b = Builder("ab")
    found = b.head("none", value={"x": b.token("a")}, score=[(1, b.token("a"))])["x"]
    b.output(found)
    accident = b.build()
    r = softhat.analyze(accident, up_to=2)
    assert r.kinds[0, 0] == "uniform by accident"  # aa and bb; ab and ba have one maximum
    assert softhat.analyze(accident, up_to=3).kinds[0, 0] == "tied"  # aab
    assert softhat.analyze(GALLERY["majority"](), up_to=3).kinds[0, 0] == "structurally uniform"
    assert softhat.analyze(GALLERY["last-token"](), up_to=3).kinds[0, 0] == "tieless"


@pytest.mark.parametrize("leak", [math.nan, 0.0, 1.0, -1.0, math.inf])
def test_a_leak_that_is_no_share_is_refused(leak: float) -> None:
    for name in ("majority", "last-token"):
        with pytest.raises(softhat.SofthatError, match="leak"):
            softhat.analyze(GALLERY[name](), up_to=2, leak=leak)


def test_structure_answers_without_running_words() -> None:
    r = softhat.analyze(GALLERY["majority"](), up_to=10_000)
    assert (r.guarantee, r.up_to, r.uniform_tieless) == ("proved_all", 10_000, True)
    r = softhat.analyze(GALLERY["first-token"](), up_to=10_000)
    assert (r.guarantee, r.up_to, r.min_gap[0, 0]) == ("proved_all", 10_000, 1)


def test_fits_are_called_fits() -> None:
    r = softhat.analyze(GALLERY["third-token"](), up_to=8)
    assert str(r.fits[0, 0]).startswith("fitted: ")


def test_an_interruption_keeps_what_was_finished() -> None:
    """Ctrl-C in the middle of a length: the statement is about the lengths before it."""

    def stop(_: str, done: int, total: int) -> None:
        if done > 2 + 4 + 8:
            raise KeyboardInterrupt

    model = GALLERY["dyck-argmin"]()
    r = softhat.analyze(model, up_to=8, progress=stop)
    whole = softhat.analyze(model, up_to=3)
    assert r.up_to == r.exhaustive_length == 3
    assert (r.rows, r.min_gap, r.kinds) == (whole.rows, whole.min_gap, whole.kinds)
    assert any("interrupted" in note for note in r.notes)


def test_an_interruption_keeps_proved_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    def proved(model: object, n: int, leak: float) -> object:
        if n == 7:
            raise KeyboardInterrupt
        return proved_gaps(GALLERY["histogram"](), n, leak)

    monkeypatch.setattr("softhat.ahat.analysis.analyze.proved_gaps", proved)
    r = softhat.analyze(GALLERY["histogram"](), up_to=20, max_words=30)
    assert sorted(r.proved) == [4, 5, 6]  # words of length 3 were run, and one has a tied row
    assert any("interrupted" in note for note in r.notes)


@pytest.mark.parametrize("count", sizes(40, 400))
def test_a_long_word(count: int) -> None:
    r = softhat.analyze(GALLERY["first-token"](), words=["ab" * count])
    assert r.min_gap[0, 0] == 1
    with pytest.raises(softhat.SofthatError, match="shorter words"):
        softhat.analyze(GALLERY["dyck-argmin"](), words=["()" * 2500])


def test_sets_end_where_they_grow_too_large_and_laws_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("softhat.ahat.analysis.analyze.SETS_SIZE", 20_000)
    found = softhat.analyze(GALLERY["retrieval-by-count"](), up_to=500)
    assert (found.uniform_tieless, found.guarantee, found.up_to) == (True, "proved_all", 500)
    last = max(found.proved)
    assert last < 12 and f"the laws speak alone from length {last + 1} on" in found.notes[-1]
    assert found.min_gap[1, 0] == Fraction(1, 501)
