"""First certificates of typical formulas, beside an earlier commit.

    python benchmarks/cold.py [COMMIT] [--keep]

The zoo's formulas and 120 random ones of 5 to 40 operators, each in a fresh copy of a process that
has imported softhat and computed nothing: processor milliseconds to compile, to certify for the
dense runtime, and for the linear one. With COMMIT the same is done there in turn. `--keep` puts the
table on docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STEPS = ("compile", "dense", "linear")
GOAL = 40.0
"""Milliseconds."""


def formulas() -> list[tuple[Any, Any]]:
    """Formulas and their alphabets."""
    import numpy as np

    from softhat.logic.random import random_formula
    from softhat.models.zoo.catalogue import formula_of, zoo

    entries = [e for e in zoo().values() if e.kind in ("formula", "regex", "program")]
    named = [(formula_of(e), e.alphabet) for e in entries if not e.propositional]
    rngs = map(np.random.default_rng, range(120))
    return named + [(random_formula(rng, 5 + k % 36, "abcd"), "abcd") for k, rng in enumerate(rngs)]


def measured() -> list[list[float]]:
    """Processor milliseconds of the three steps, for each formula."""
    import softhat
    import softhat.models.compiler
    import softhat.proof.check
    import softhat.proof.linear
    import softhat.runtime.linear.runtime

    rows = []
    for formula, alphabet in formulas():
        read, write = os.pipe()
        child = os.fork()
        if not child:
            times = [time.process_time()]
            model = softhat.compile(formula, alphabet=alphabet)
            times.append(time.process_time())
            _ = model.certificate
            times.append(time.process_time())
            model.linear_max_length()
            times.append(time.process_time())
            spent = [1000 * (b - a) for a, b in pairwise(times)]
            os.write(write, json.dumps(spent).encode())
            os._exit(0)
        os.waitpid(child, 0)
        rows.append(json.loads(os.read(read, 4096)))
        os.close(read)
        os.close(write)
    return rows


def best(source: Path, runs: int) -> list[list[float]]:
    """The least time of every step in some runs of a source tree."""
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--one"]
    done = [
        json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
        for _ in range(runs)
    ]
    return [[min(step) for step in zip(*rows, strict=True)] for rows in zip(*done, strict=True)]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("commit", nargs="?")
    options.add_argument("--keep", action="store_true")
    options.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one:
        print(json.dumps(measured()))
        return 0
    git = ["git", "-C", str(ROOT), "worktree"]
    sources = {"now": ROOT}
    with tempfile.TemporaryDirectory() as folder:
        if chosen.commit:
            sources = {chosen.commit: Path(folder) / "earlier", **sources}
            add = [*git, "add", "--quiet", "--detach", str(sources[chosen.commit]), chosen.commit]
            subprocess.run(add, check=True)
        try:
            done: dict[str, list[list[float]]] = {}
            for _ in range(2):  # in turn
                for name, source in sources.items():
                    rows = best(source, 1)
                    old = done.get(name, rows)
                    done[name] = [
                        [min(pair) for pair in zip(*both, strict=True)]
                        for both in zip(old, rows, strict=True)
                    ]
        finally:
            if chosen.commit:
                remove = [*git, "remove", "--force", str(sources[chosen.commit])]
                subprocess.run(remove, check=True)
    shown = []
    for at, step in enumerate(STEPS):
        for name, rows in done.items():
            times = sorted(row[at] for row in rows)
            most, over = times[int(0.95 * len(times))], sum(x > GOAL for x in times)
            median = statistics.median(times)
            shown.append((step, name, median, most, times[-1], f"{over} of {len(times)}"))
    from softhat.models.bench.tables import BenchTable, markdown

    columns = ("step", "commit", "median ms", "95 of 100 below", "largest", f"over {GOAL:g} ms")
    note = "The zoo's formulas and 120 random ones, each in a process that has computed nothing."
    table = BenchTable("First certificates of typical formulas", columns, tuple(shown), note)
    print(markdown(table))
    if chosen.keep:
        import report

        report.keep([table])
    return 0


if __name__ == "__main__":
    sys.exit(main())
