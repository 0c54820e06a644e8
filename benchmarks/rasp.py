"""Compiling RASP programs, beside Tracr. `python benchmarks/rasp.py [--tracr PYTHON] [--quick]`

PYTHON is an interpreter in which `import tracr` works (Tracr is not a dependency of softhat); both
sides are then measured in the same run. Without it, numbers recorded on two cores are shown for
what was recorded. Times are processor seconds of compiling, without starting Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import softhat
from softhat import rasp
from softhat.frontends.rasp import lib
from softhat.models.bench.tables import BenchTable, markdown

LENGTHS = (8, 32, 128, 512, 1024)
PATIENCE = 300
"""Seconds that Tracr may take for one model."""
RECORDED: dict[tuple[str, int], tuple[float, int]] = {
    ("bigram", 512): (3.5, 1_350_000),
    ("dyck-1", 32): (31.7, 5_900_000),
    ("hist", 128): (5.5, 178_000),
}


GOALS: dict[tuple[str, int], tuple[int, int]] = {
    **{(name, 128): (100, 100) for name in ("bigram", "dyck-1", "frac_prevs", "length")},
    **{(name, 128): (100, 10) for name in ("hist", "reverse", "count", "sort")},
    ("dyck-1", 32): (1_000, 1_000),
}
"""(times faster, times smaller) that we want at a length: models whose size depends on the length
have the smaller goal."""


def programs(length: int) -> dict[str, tuple[Any, Any]]:
    """The programs and alphabets, as in tracr_side.py."""
    return {
        "bigram": (lib.detect_pattern(rasp.tokens, "ab"), "ab"),
        "hist": (lib.make_hist(), "abcd"),
        "dyck-1": (lib.make_shuffle_dyck(["()"]), "()"),
        "frac_prevs": (lib.make_frac_prevs(rasp.tokens == "a"), "abcd"),
        "reverse": (lib.make_reverse(rasp.tokens), "abcd"),
        "length": (lib.make_length(), "abcd"),
        "count": (lib.make_count(rasp.tokens, "a"), "abcd"),
        "sort": (
            lib.make_sort(rasp.tokens, rasp.tokens, max_seq_len=length, min_key=1),
            (1, 2, 3, 4),
        ),
    }


def ours(name: str, length: int) -> tuple[float, int]:
    best = float("inf")
    for _ in range(3):
        program, alphabet = programs(length)[name]
        start = time.process_time()
        model = softhat.compile(program, alphabet=alphabet, max_length=length)
        best = min(best, time.process_time() - start)
    return best, model.size.parameters


def theirs(name: str, length: int, python: str | None) -> tuple[float, int] | str | None:
    """Seconds and parameters, or why there are none."""
    if python is None:
        return RECORDED.get((name, length))
    side = Path(__file__).parent / "tracr_side.py"
    try:
        done = subprocess.run(
            [python, str(side), name, str(length)],
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"over {PATIENCE} s"
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return said[-1][:60] if said else "killed"
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return found["seconds"], found["parameters"]


def main(arguments: list[str]) -> None:
    python = arguments[arguments.index("--tracr") + 1] if "--tracr" in arguments else None
    lengths = LENGTHS[:3] if "--quick" in arguments else LENGTHS
    rows, results = [], []
    for name in programs(8):
        gave_up = False
        for length in lengths:
            seconds, parameters = ours(name, length)
            other = "not tried" if gave_up else theirs(name, length, python)
            gave_up = gave_up or isinstance(other, str)
            entry = {"program": name, "length": length, "seconds": seconds,
                     "parameters": parameters}  # fmt: skip
            row = [name, f"{length:,}", f"{seconds:.4f}", f"{parameters:,}"]
            if isinstance(other, tuple):
                entry |= {"tracr_seconds": other[0], "tracr_parameters": other[1]}
                faster, smaller = other[0] / seconds, other[1] / parameters
                row += [f"{other[0]:.2f}", f"{other[1]:,}", f"{faster:,.0f}", f"{smaller:,.0f}"]
                if (goal := GOALS.get((name, length))) is not None:
                    entry["goal_met"] = faster >= goal[0] and smaller >= goal[1]
            else:
                row += [other or "", "", "", ""]
            results.append(entry)
            rows.append(tuple(row))
            print(*row, sep="\t", file=sys.stderr, flush=True)
    columns = ("program", "to length", "seconds", "parameters", "Tracr: seconds",
               "Tracr: parameters", "times faster", "times smaller")  # fmt: skip
    note = "" if python else "Tracr's numbers are recorded ones: give --tracr PYTHON."
    print(markdown(BenchTable("RASP beside Tracr", columns, tuple(rows), note)))
    print(json.dumps({"tracr": "measured" if python else "recorded", "rows": results}))


if __name__ == "__main__":
    main(sys.argv[1:])
