"""Compile time of regular languages in logarithmic depth: against |Q|³·log n.

    python -m benchmarks.log_depth

Random automata over two symbols; processor seconds of `softhat.compile`, the best of three. The
table is also written to results/log_depth.json, with the commit. The
last column is the time divided by |Q|³·⌈log₂ n⌉, relative to the first row: where it does not grow,
time is linear in that. Without a length (`any`) a model is one block: there it is divided by |Q|³.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import softhat
from benchmarks.commits import commit

RESULTS = Path(__file__).resolve().parent.parent / "results" / "log_depth.json"

ROWS: tuple[tuple[int, int | None], ...] = (
    *((states, 1_024) for states in (8, 12, 16, 24, 32)),
    *((states, n) for states in (16, 32) for n in (32, 65_536)),
    *((states, None) for states in (8, 16, 32)),
)


def automaton(states: int) -> dict[str, Any]:
    dice = random.Random(states)
    names = [str(q) for q in range(states)]
    edges = {q: {s: dice.choice(names) for s in "ab"} for q in names}
    return {"alphabet": ["a", "b"], "states": names, "start": "0",
            "accept": [q for q in names if dice.random() < 0.5], "transitions": edges}  # fmt: skip


def main() -> int:
    print(f"{'states':>6} {'n':>7} {'layers':>6} {'parameters':>12} {'seconds':>8} {'relative':>8}")
    first: float | None = None
    rows: list[dict[str, Any]] = []
    for states, n in ROWS:
        language = softhat.from_dfa(automaton(states), depth="log")
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            model = softhat.compile(language, max_length=n)
            best = min(best, time.process_time() - start)
        kept = len(language.dfa.step)
        cost = best / (kept**3 * model.size.layers)
        first = first or cost
        size = model.size
        print(f"{kept:>6} {n or 'any':>7} {size.layers:>6} {size.parameters:>12,} {best:>8.3f} "
              f"{cost / first:>8.2f}", flush=True)  # fmt: skip
        rows.append({"states": kept, "n": n, "layers": size.layers, "parameters": size.parameters,
                     "seconds": round(best, 3), "relative": round(cost / first, 2)})  # fmt: skip
    RESULTS.write_text(json.dumps({"commit": commit(), "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
