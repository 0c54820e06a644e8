"""Simulation of AHATs: soundness, tightness, β against the least that works, proved gaps, time.

`python benchmarks/ahat.py [--quick | --warm | --before [JOB …]]`. Exit code 1 if a goal is missed.
`--before` only compares the times of jobs with an earlier commit's, and keeps that table; `--warm`
only says how β over the least β grows with the length, and keeps that one.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import report
from against import SORT_IN_FLOAT32, seconds, to_a_length

import softhat
from softhat.ahat import Builder, Expr
from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.analysis.gaps import proved_gaps
from softhat.ahat.analysis.tally import row_tally
from softhat.ahat.bounds.sets import SetBounds
from softhat.ahat.exact import run
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.lengths import Lengths
from softhat.ahat.words import all_words
from softhat.models.bench.tables import BenchTable
from tests.ahat import running
from tests.ahat.models import random_deep, random_model, random_program, random_tieless

MAKERS = (random_model, random_program, random_tieless, random_program)


def true_error(model: AHAT, betas: dict[tuple[int, int], float], n: int) -> float:
    """Greatest |softmax - exact| over all words of length n, in extended precision."""
    codes = np.concatenate(list(all_words(len(model.alphabet), n)))
    exact = np.array(
        [
            [np.longdouble(v.numerator) / np.longdouble(v.denominator) for v in row]
            for row in run(model, codes).values()
        ]
    )
    return float(np.abs(running.values(model, betas, codes, "longdouble") - exact).max())


def tightness(models: int) -> list[tuple[str, float, float]]:
    """(what, value, goal): violations, and quantiles of certified over true error."""
    rng = random.Random(1)
    words: list[float] = []
    sets: list[float] = []
    pairs = ties = violations = 0
    for k in range(models):
        model = MAKERS[k % 4](rng)
        n = rng.randint(2, 4 if len(model.alphabet) == 2 else 3)
        lengths = Lengths(model)
        tied = any(c[2] for c in row_tally(model, n, 1e-3).rows[n].values())
        for _ in range(4):
            betas = {name: math.exp(rng.uniform(-1, 5)) for name in model.heads}
            true = true_error(model, betas, n)
            bound = lengths.bound(n, betas).error
            pairs, ties = pairs + 1, ties + tied
            violations += bound < true - 1e-14 * (1 + true)
            if true > 1e-9:
                words.append(bound / true)
            if lengths.sets(n).complete:
                proved = SetBounds(lengths._plan, lengths.sets(n)).errors(betas).error
                violations += proved < true - 1e-14 * (1 + true)
                if true > 1e-9:
                    sets.append(proved / true)
    return [
        (f"violations in {pairs} (model, β) pairs, {ties} with ties", violations, 0),
        ("certified / true error by words, median", float(np.median(words)), 1.2),
        ("certified / true error by words, 90th percentile", float(np.quantile(words, 0.9)), 2.5),
        ("certified / true error by sets, median", float(np.median(sets)), 1.2),
        (
            "certified / true error by sets, 90th percentile",
            float(np.quantile(sets, 0.9)),
            math.inf,
        ),
    ]


def gaps(models: int) -> list[tuple[str, float, float]]:
    """Proved against measured gaps, head by head."""
    rng = random.Random(2)
    above = different = heads = first = 0
    for k in range(models):
        model = MAKERS[k % 4](rng)
        n = 2 + k % 3
        truth = row_tally(model, n, 1e-3).gaps[n]
        for name, gap in proved_gaps(model, n).gaps.items():
            heads += 1
            above += gap > truth[name]
            different += gap != truth[name]
            first += gap != truth[name] and name[0] == 0
    start = time.process_time()
    proved_gaps(GALLERY["histogram"](), 64)
    seconds = time.process_time() - start
    return [
        (f"proved gaps above the measured one, of {heads}", above, 0),
        ("proved gaps that differ from the measured one, share", different / heads, 0.15),
        ("first-layer gaps that differ", first, 0),
        ("seconds for the first-layer gap of the histogram at n = 64", seconds, 10),
    ]


def looseness(models: int) -> list[tuple[str, float, float]]:
    """True gap over gap law, of random models' heads at the longest length that can be run."""
    rng = random.Random(3)
    ratios = []
    for k in range(models):
        model = (*MAKERS, random_deep)[k % 5](rng)
        n = min(6, model.longest or 6)
        truth = row_tally(model, n, 1e-3).gaps[n]
        for name, law in gap_laws(model).gap.items():
            if law is not None and truth[name] != math.inf:
                ratios.append(float(truth[name] / law.at(n)))
    return [
        ("gap laws above the true gap", sum(r < 1 for r in ratios), 0),
        (f"true gap / law of {len(ratios)} random heads, median", float(np.median(ratios)), 8),
        (
            "true gap / law of random heads, 90th percentile",
            float(np.quantile(ratios, 0.9)),
            math.inf,
        ),
        (
            "share of laws of random heads that are not the true gap",
            float(np.mean([r > 1 for r in ratios])),
            1,
        ),
    ]


def temperatures() -> list[tuple[str, float, float]]:
    """Chosen β over the least multiple of it that works on all words."""
    result = []
    for name in GALLERY:
        model = GALLERY[name]()
        longest = 4 if name == "sort" else 5 if name == "histogram" else 7
        s = softhat.simulate(model, max_length=longest)
        if Lengths(model).uniform:
            continue
        low, high = 0.02, 1.0
        for _ in range(12):
            middle = math.sqrt(low * high)
            betas = {key: beta * middle for key, beta in s.betas.items()}
            good = all(true_error(model, betas, n) <= 1e-3 for n in range(1, longest + 1))
            low, high = (low, middle) if good else (middle, high)
        goal = 1.05 if len(model.layers) == 1 else 1.5
        result.append((f"β / least β: {name}", 1 / high, goal))
    return result


WARM = ("a-b-c-in-equal-numbers", "dyck-argmin")
HARD_WORDS = 1_200
"""Words of a length whose words are too many: half of them are nearly sorted."""


def hard_words(symbols: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """All words of length n, or random ones and ones in which the symbols come in turn, but for
    a symbol or two."""
    if symbols**n <= 1 << 16:
        return np.concatenate(list(all_words(symbols, n)))
    half = HARD_WORDS // 2
    cuts = rng.integers(0, n + 1, (half, symbols - 1, 1))
    sorted_words = (cuts <= np.arange(n)).sum(axis=1)
    changed = rng.random((half, n)) < rng.integers(0, 3, (half, 1)) / n
    random_words = rng.integers(0, symbols, (half, n))
    return np.concatenate([np.where(changed, random_words, sorted_words), random_words])


def warmth() -> list[tuple[str, float, float]]:
    """β of the laws over the least multiple that works, at lengths that double."""
    rows: list[tuple[str, float, float, float]] = []
    for name in WARM:
        model = GALLERY[name]()
        simulation = softhat.simulate(model, epsilon=1e-3)
        source, laws = simulation.source, simulation.laws
        for n in (8, 16, 32):
            betas = {head: float(law.at(n)) for head, law in laws.items() if law is not None}
            codes = hard_words(len(model.alphabet), n, np.random.default_rng(n))
            exact = np.array([[float(v) for v in row] for row in run(model, codes).values()])
            low, high = 1e-3, 1.0
            for _ in range(12):
                middle = math.sqrt(low * high)
                tried = {head: beta * middle for head, beta in betas.items()}
                values = running.values(source, tried, codes)
                good = float(np.abs(values - exact).max()) <= 1e-3
                low, high = (low, middle) if good else (middle, high)
            rows.append((name, n, round(max(betas.values()), 1), round(1 / high, 2)))
    note = (
        "β of the laws for every length (ε = 0.001), the greatest of a model's heads, over the "
        "least multiple that works on all words, or on 1,200 that are hard."
    )
    columns = ("model", "length", "β", "β over the least")
    report.keep(
        [BenchTable("Temperatures against the least that work", columns, tuple(rows), note)]
    )
    return [(f"β / least β: {name} at {n}", ratio, 1.5) for name, n, _, ratio in rows]


BEFORE = "c8a61cb"
TWO_LAYERS = """
from fractions import Fraction
from softhat.ahat import Builder, Expr
b = Builder("ab")
def layer(values):
    for k, value in enumerate(values, 1):
        score = [(2 * k, b.position("i")), (-1, b.position("i^2"))]
        yield sum(b.head("none", value={f"{k}": value}, score=score).values(), Expr())
total = sum(layer(list(layer([b.token("a")] * 8))), Expr())
b.output(total * Fraction(1, 8) - Fraction(1, 3))
softhat.simulate(b.build(), max_length=12).certificate
"""
SLOW = {
    "most-frequent-symbol to 16": to_a_length("most-frequent-symbol", 16),
    "most-frequent-symbol to 32": to_a_length("most-frequent-symbol", 32),
    "dyck-argmin to 32": to_a_length("dyck-argmin", 32),
    "dyck-argmin to 64": to_a_length("dyck-argmin", 64),
    "induction-average to 32": to_a_length("induction-average", 32),
    "bounded-dyck-2 to 16": to_a_length("bounded-dyck-2", 16),
    "induction-latest to 32": to_a_length("induction-latest", 32),
    "induction-latest to 64": to_a_length("induction-latest", 64),
    "induction-latest to 128": to_a_length("induction-latest", 128),
    "sort in float32, every length": SORT_IN_FLOAT32,
    "two layers of eight heads, to 12": TWO_LAYERS,
}
"""What took long at the commit before: to simulate and to certify."""


def against_before(wanted: Sequence[str] = ()) -> list[tuple[str, float, float]]:
    """Those jobs, or the wanted ones, at the commit before and now, in turns; the table is kept
    for the page."""
    root = Path(__file__).resolve().parent.parent
    rows: list[tuple[str, float, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        git = ["git", "-C", str(root), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), BEFORE], check=True)
        try:
            for name in (name for name in SLOW if not wanted or name in wanted):
                job = SLOW[name]
                before, now = seconds(tree, job, 1), seconds(root, job, 1)
                rows.append((name, round(before, 2), round(now, 2), round(before / now, 1)))
                print(*rows[-1], flush=True)
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)
    note = "Simulation and certificate, ε = 0.001, each once in a process of its own, in turns."
    columns = ("model", f"{BEFORE}, s", "now, s", "times as fast")
    report.keep(
        [
            BenchTable(
                "Hard attention simulated, against an earlier commit", columns, tuple(rows), note
            )
        ]
    )
    return [(f"{name}: now / before", now / before, 0.2) for name, before, now, _ in rows]


def speed() -> list[tuple[str, float, float]]:
    """Every length; large models."""
    result: list[tuple[str, float, float]] = []
    slowest = 0.0
    for make in GALLERY.values():
        model = make()
        start = time.process_time()
        softhat.simulate(model, epsilon=1e-3)
        slowest = max(slowest, time.process_time() - start)
    result.append(("slowest model of the gallery at every length, seconds", slowest, 1.0))
    laws = [law for make in GALLERY.values() for law in softhat.simulate(make()).laws.values()]
    start = time.process_time()
    for law in laws:
        if law is not None:
            law.log_at(10**6)
    per_law = (time.process_time() - start) / len(laws)
    result.append(("seconds to evaluate a law at n = 10^6", per_law, 0.05))
    for what, model, longest, goal in (
        ("16 heads in one layer, to 12", many_heads(16), 12, 60.0),
        ("an alphabet of 30, to 64", wide_alphabet(30), 64, 60.0),
        ("majority to 10,000", GALLERY["majority"](), 10_000, 10.0),
    ):
        start = time.process_time()
        reached = softhat.simulate(model, max_length=longest).certificate.max_length["float64"]
        assert reached == longest
        result.append((f"seconds for {what}", time.process_time() - start, goal))
    return result


def many_heads(count: int) -> AHAT:
    """Each head looks up one position; all are added up."""
    b = Builder("ab")
    i, square = b.position("i"), b.position("i^2")
    total = Expr()
    for k in range(1, count + 1):
        found = b.head("none", value={f"w{k}": b.token("a")}, score=[(2 * k, i), (-1, square)])
        total = total + found[f"w{k}"]
    b.output(total * Fraction(1, count) - Fraction(1, 3))
    return b.build()


def wide_alphabet(size: int) -> AHAT:
    """Does the first symbol occur again? By matching tokens, the latest match wins."""
    letters = [f"s{k}" for k in range(size)]
    b = Builder(letters)
    score = [(b.token(s), b.token(s)) for s in letters]
    share = b.head("none", value={"first": b.position("first")}, score=score)["first"]
    b.output(share - Fraction(1, 3))
    return b.build()


def main() -> int:
    quick = "--quick" in sys.argv
    parts: tuple[Callable[[], list[tuple[str, float, float]]], ...] = (
        lambda: tightness(100 if quick else 400),
        lambda: gaps(60 if quick else 300),
        lambda: looseness(60 if quick else 300),
        temperatures,
        *(() if quick else (speed, against_before)),
    )
    if "--warm" in sys.argv[1:2]:
        parts = (warmth,)
    if "--before" in sys.argv[1:2]:
        parts = (lambda: against_before(sys.argv[2:]),)
    missed = 0
    for part in parts:
        for what, value, goal in part():
            wrong = value > goal
            missed += wrong
            shown = "" if goal == math.inf else f"  (goal ≤ {goal:g}{', MISSED' if wrong else ''})"
            print(f"{what}: {value:.4g}{shown}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
