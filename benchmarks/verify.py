"""How fast verification is, and how it scales from one process to two.

    python benchmarks/verify.py [--json FILE] [--quick]

First, all words of length <= 14 over {a, b} on two processes, for formulas of temporal depth 4:
the seconds a user waits, the start of the processes included. Second, the scaling: all words of
length <= 17 on one process and on two that are running already. Processes have one thread each.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import softhat
from softhat.io.work import processes
from softhat.logic.fragments import describe

FORMULAS = (
    "a S (b & Y (a S (b & O a)))",
    "Y (a xor Y (b | Y (a & Y b)))",
    "F (a & X (b U (a & Y b)))",
    "O (#(a) - #(b) >= 2 & Y (a S b))",
)
TARGET = 60.0
"""Seconds that all words of length <= 14 may take on two cores."""


def measure(formula: str, length: int, count: int, warm: bool) -> dict[str, Any]:
    """One run: all words to a length, on `count` processes."""
    model = softhat.compile(formula, alphabet="ab")
    nothing_else = {"random": 0, "adversarial": 0}
    with processes(count) as renew:
        executor = renew()
        if warm:
            softhat.verify(model, exhaustive=10, executor=executor, **nothing_else)
        began = time.perf_counter()
        result = softhat.verify(model, exhaustive=length, executor=executor, **nothing_else)
        elapsed = time.perf_counter() - began
    assert result.ok
    assert result.exhaustive_length == length
    return {
        "formula": formula,
        "depth": describe(softhat.parse(formula)).temporal_depth,
        "length": length,
        "processes": count,
        "words": result.words,
        "seconds": round(elapsed, 2),
        "words_per_second": round(result.words / elapsed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--quick", action="store_true", help="shorter words")
    options = parser.parse_args()
    first, second = (11, 12) if options.quick else (14, 17)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"all words of length <= {first} over {{a, b}}, two processes, their start included")
    waited = [measure(formula, first, 2, warm=False) for formula in FORMULAS]
    for run in waited:
        print(
            f"  {run['formula']:34} depth {run['depth']}  {run['words']:7,} words"
            f"  {run['seconds']:6.1f} s  {run['words_per_second']:8,} words/s"
        )
    print(f"  slowest {max(run['seconds'] for run in waited):.1f} s, allowed {TARGET:.0f} s")
    print(f"scaling: all words of length <= {second}")
    scaling = []
    for formula in FORMULAS[:2]:
        one, two = (measure(formula, second, count, warm=True) for count in (1, 2))
        scaling += [one, two]
        print(
            f"  {formula:34} {one['words_per_second']:8,} words/s on one,"
            f" {two['words_per_second']:8,} on two: {one['seconds'] / two['seconds']:.2f} times"
        )
    if options.json:
        options.json.write_text(json.dumps({"waited": waited, "scaling": scaling}, indent=1) + "\n")


if __name__ == "__main__":
    main()
