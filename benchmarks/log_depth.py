"""Compile time of regular languages in logarithmic depth: against |Q|³·log n.

    python -m benchmarks.log_depth

Random automata over two symbols; processor seconds of `softhat.compile`, the best of two, and the
weights that are not 0, which is what compiling writes. Time is a straight line in the rounds
⌈log₂ n⌉, but not through the origin: the functions of one symbol and of two are few and cheap, and
of the last round one bit is needed. So the second table has what a *further* round costs, between
two lengths; it does not grow with the length if time is linear in log n. The last column divides it
by |Q|³, relative to the first row: it does not grow if time is at most linear in |Q|³. Without a
length (`any`) a model is one block. The result is results/log_depth.json, with the commit.
"""

from __future__ import annotations

import json
import random
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import softhat
from benchmarks.commits import commit
from softhat.transformer.weights import Layer, Transformer

RESULTS = Path(__file__).resolve().parent.parent / "results" / "log_depth.json"
STATES = (8, 16, 32)
LENGTHS = (32, 1_024, 32_768)
"""Five rounds apart."""


def automaton(states: int) -> dict[str, Any]:
    dice = random.Random(states)
    names = [str(q) for q in range(states)]
    edges = {q: {s: dice.choice(names) for s in "ab"} for q in names}
    return {"alphabet": ["a", "b"], "states": names, "start": "0",
            "accept": [q for q in names if dice.random() < 0.5], "transitions": edges}  # fmt: skip


def weights_of(transformer: Transformer) -> int:
    """The weights of its layers that are not 0."""
    return sum(
        len(getattr(layer, name).values) for layer in transformer.layers for name in Layer.TENSORS
        if hasattr(getattr(layer, name), "values")
    )  # fmt: skip


def row(states: int, n: int | None, repeat: int = 2) -> dict[str, Any]:
    language = softhat.from_dfa(automaton(states), depth="log")
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        model = softhat.compile(language, max_length=n)
        best = min(best, time.process_time() - start)
    transformer = model.block if n is None else model.transformer
    size = model.size
    return {"states": len(language.dfa.step), "n": n, "layers": size.layers,
            "parameters": size.parameters, "weights": weights_of(transformer),
            "seconds": round(best, 3)}  # fmt: skip


def further(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a round more costs between two lengths of the same automaton."""
    steps = []
    for short, long in pairwise(rows):
        if short["states"] == long["states"] and long["n"] is not None:
            rounds = long["layers"] - short["layers"]
            steps.append({"states": long["states"], "from": short["n"], "to": long["n"],
                          "weights": (long["weights"] - short["weights"]) / rounds,
                          "seconds": (long["seconds"] - short["seconds"]) / rounds})  # fmt: skip
    first = steps[0]["seconds"] / steps[0]["states"] ** 3
    for step in steps:
        step["relative"] = round(step["seconds"] / step["states"] ** 3 / first, 2)
    return steps


def main() -> int:
    print(f"{'states':>6} {'n':>9} {'layers':>6} {'parameters':>12} {'weights':>10} {'seconds':>8}")
    rows: list[dict[str, Any]] = []
    for states in STATES:
        for n in (*LENGTHS, None):
            rows.append(row(states, n))
            print("{states:>6} {n!s:>9} {layers:>6} {parameters:>12,} {weights:>10,} "
                  "{seconds:>8.3f}".format(**rows[-1]), flush=True)  # fmt: skip
    steps = further(rows)
    print(f"\n{'states':>6} {'from':>9} {'to':>9} {'weights':>10} {'seconds a round':>15} "
          f"{'relative':>8}")  # fmt: skip
    for step in steps:
        print("{states:>6} {from:>9} {to:>9} {weights:>10,.0f} {seconds:>15.4f} {relative:>8}"
              .format(**step))  # fmt: skip
    RESULTS.write_text(
        json.dumps({"commit": commit(), "rows": rows, "rounds": steps}, indent=1) + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
