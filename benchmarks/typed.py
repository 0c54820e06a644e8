"""How much of a request of the explorer is done again while somebody types.

    python benchmarks/typed.py [--keep]

Random formulas of 5 to 40 operators, each in a fresh copy of a process that has computed nothing:
processor milliseconds of the page's request for it, of the same with a longer word, and of the
formula with one more operator after five others like it, which is also asked for in a fresh copy.
`--keep` puts the table on docs/benchmarks.md.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import Any

import numpy as np

from softhat.explore.requests import view_of
from softhat.logic.random import random_formula
from softhat.models.bench.tables import BenchTable, markdown

FORMULAS = 40


def asked(formula: str, word: str = "abc") -> float:
    """Milliseconds of one request."""
    request = {
        "kind": "formula", "text": formula, "alphabet": "", "attention": "unbounded", "word": word,
    }  # fmt: skip
    start = time.process_time()
    view_of(request)
    return 1000 * (time.process_time() - start)


def in_a_copy(requests: list[tuple[str, str]]) -> list[float]:
    """Milliseconds of requests in a copy of this process: nothing it remembers comes back."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, json.dumps([asked(*request) for request in requests]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as answer:
        spent: list[float] = json.loads(answer.read())
    return spent


def main() -> int:
    asked("a S b & #(a) >= 2")  # imports
    times: dict[str, list[float]] = {}
    for seed in range(FORMULAS):
        text = str(random_formula(np.random.default_rng(seed), 5 + seed % 36, "abc"))
        typed = [f"({text}) {'&|'[k % 2]} {'Y ' * (k // 2)}b" for k in range(6)]
        first, again = in_a_copy([(text, "abc"), (text, "abcab")])
        times.setdefault("a formula, first", []).append(first)
        times.setdefault("the same, a longer word", []).append(again)
        alone = in_a_copy([(typed[-1], "abc")])[-1]
        times.setdefault("one more operator, first", []).append(alone)
        after = in_a_copy([(one, "abc") for one in typed])[-1]
        times.setdefault("the same after five like it", []).append(after)
    measured = []
    for spent in times.values():
        spent.sort()
        measured.append((statistics.median(spent), spent[int(0.95 * len(spent))]))
    rows: list[tuple[Any, ...]] = []
    for number, what in enumerate(times):
        own, first_one = measured[number], measured[number // 2 * 2]
        rows.append((what, *own, own[0] / first_one[0], own[1] / first_one[1]))
    columns = ("request", "median ms", "95 of 100 below", "ratio of medians", "of the others")
    note = f"{FORMULAS} random formulas, in a process of the page; ratios to the row of the first."
    table = BenchTable("Requests of the explorer while typing", columns, tuple(rows), note)
    print(markdown(table))
    if "--keep" in sys.argv:
        import report

        report.keep([table])
    return 0


if __name__ == "__main__":
    sys.exit(main())
