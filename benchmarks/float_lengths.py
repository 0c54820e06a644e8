"""Certified float32 lengths of the gallery against the first failure that a search finds.

`python benchmarks/float_lengths.py [--json FILE] [MODEL …]`. Every model is simulated at every
length with room for float32 (ε = 1e-3). From its certified length on, words are run in float32:
random ones, nearly constant ones, periodic ones, and the worst of them with single symbols
changed. The first length with a value that is off by more than ε (or not finite) is the failure;
none is looked for beyond `LONGEST`, where one run takes too long. Exit code 1 if a certified length
is more than 4 times below its failure, or has one.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import numpy.typing as npt

import softhat
from softhat.ahat.exact import run
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.simulation import Simulation

EPSILON = 1e-3
GOAL = 4.0
LONGEST = 3_000
EXACT_TO = 200
"""Beyond, values are compared with float64's, which are within ε of the exact ones."""


def words(source: AHAT, n: int, rng: random.Random) -> npt.NDArray[np.int64]:
    """Codes of words that are likely to be hard."""
    size = len(source.alphabet)
    found = []
    for a in range(size):
        b = (a + 1) % size
        one = [a] * n
        found += [one, [*one[:-1], b], [b, *one[1:]], ([a, b] * n)[:n], [a] * (n // 2) + [b] * n]
        one = list(one)
        one[n // 2] = b
        found.append(one)
    for k in range(6):
        weights = [1 + (rng.randrange(size) == s) * 4 * k for s in range(size)]
        found.append(rng.choices(range(size), weights, k=n))
    return np.array([word[:n] for word in found])


def errors(s: Simulation, source: AHAT, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The greatest error of each word in float32 (from below where n > EXACT_TO)."""
    n = codes.shape[1]
    soft = s.run_batch(codes, "float32")[..., 0].astype(np.float64)
    if n <= EXACT_TO:
        trace = run(source, codes)
        exact = trace.output.floats()[:, trace.own]
        off = np.abs(soft - exact)
    else:
        exact = s.run_batch(codes, "float64")[..., 0]
        off = np.abs(soft - exact) - EPSILON / 2  # what softmax in the reals may use of ε
    return np.where(np.isfinite(soft), off, np.inf).max(axis=1)


def fails(s: Simulation, source: AHAT, n: int, rng: random.Random) -> bool:
    """Is some word of this length off by more than ε?"""
    codes = words(source, n, rng)
    found = errors(s, source, codes)
    if found.max() > EPSILON:
        return True
    if n > 400:
        return False
    best, worst = codes[int(found.argmax())], found.max()
    for _ in range(12):
        tried = np.repeat(best[None], 8, axis=0)
        for row in tried:
            row[rng.randrange(n)] = rng.randrange(len(source.alphabet))
        found = errors(s, source, tried)
        if found.max() >= worst:
            best, worst = tried[int(found.argmax())], found.max()
    return bool(worst > EPSILON)


def first_failure(s: Simulation, source: AHAT, certified: int) -> int | None:
    """The least length beyond the certified one at which a word is off; None: none found."""
    rng = random.Random(1)
    n, last = certified + 1, min(LONGEST, source.longest or LONGEST)
    while n <= last:
        if fails(s, source, n, rng):
            return n
        n = n + max(1, n // 12)
    return None


def main() -> int:
    names = [a for a in sys.argv[1:] if a in GALLERY] or list(GALLERY)
    rows, missed = [], 0
    print(f"{'model':24} {'certified':>10} {'failure':>10} {'ratio':>7}")
    for name in names:
        source = GALLERY[name]()
        s = softhat.simulate(source, epsilon=EPSILON, dtype="float32")
        certified = s.certificate.max_length["float32"]
        broken = 0 < certified <= LONGEST and fails(s, source, certified, random.Random(2))
        failure = first_failure(s, source, certified)
        ratio = None if failure is None else failure / max(1, certified)
        missed += broken or (ratio is not None and ratio > GOAL)
        shown = "-" if failure is None else str(failure)
        mark = "" if ratio is None else f"{ratio:7.1f}{'  MISSED' if ratio > GOAL else ''}"
        print(
            f"{name:24} {certified:10} {shown:>10} {mark}{'  BROKEN' if broken else ''}", flush=True
        )
        rows.append({"model": name, "certified": certified, "failure": failure, "broken": broken})
    if "--json" in sys.argv:
        Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
