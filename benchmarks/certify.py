"""How the time of a certificate grows with the formula, beside an earlier commit.

    python benchmarks/certify.py [COMMIT] [--json FILE] [--keep] [--quick]

Four families of formulas (random, wide, deep, counting) of 1,000 and of 10,000 operators: processor
seconds to compile, to certify for the dense runtime and for the linear one, and how much longer ten
times the formula takes, which is 11 at most where the work is linear. With COMMIT the same is done
there in the same run, up to 1,000 operators, and the ratio is printed. `--keep` puts the table on
docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LETTERS = "abcdefgh"
ROUNDS = 2
MOST_GROWTH = 11.0


def _random(size: int) -> Any:
    import numpy as np

    from softhat.logic.random import random_formula

    return random_formula(np.random.default_rng(size), size, LETTERS[:4], "past")


def _wide(size: int) -> str:
    rng = random.Random(size)
    return " | ".join(
        f"(!{rng.choice(LETTERS)} S ({rng.choice(LETTERS)} & Y{' Y' * (k % 5)} "
        f"{rng.choice(LETTERS)}))"
        for k in range(size // 6)
    )


def _deep(size: int) -> str:
    rng = random.Random(size)
    depth = size // 3
    opened = (
        f"(!{rng.choice(LETTERS)} S (" if k % 3 else f"(O {rng.choice(LETTERS)} & Y ("
        for k in range(depth)
    )
    return "".join(opened) + "a" + "))" * depth


def _counting(size: int) -> str:
    rng = random.Random(size)
    parts = []
    for k in range(size // 4):
        a, b, c = rng.sample(LETTERS, 3)
        parts.append(
            f"(#({a}) + {rng.randint(1, 9)}*#({b} & Y {c}) >= "
            f"{rng.randint(1, 9)}*#({c}) + {rng.randint(-9, 9)} {'&|'[k % 2]}"
        )
    return " ".join(parts) + " a" + ")" * len(parts)


FAMILIES: dict[str, Callable[[int], Any]] = {
    "random": _random,
    "wide": _wide,
    "deep": _deep,
    "counting": _counting,
}


def measured(family: str, size: int) -> tuple[float, float, float]:
    """Processor seconds: to compile, to certify dense, to certify linear."""
    import softhat

    formula = FAMILIES[family](size)
    softhat.compile("a S b").linear_max_length()  # what is imported on the way
    times = [time.process_time()]
    model = softhat.compile(formula, alphabet=LETTERS)
    times.append(time.process_time())
    if not model.certificate.max_length["float32"]:
        raise SystemExit(f"{family} of {size} operators: no certificate")
    times.append(time.process_time())
    model.linear_max_length("float32")
    times.append(time.process_time())
    compiled, dense, linear = (b - a for a, b in pairwise(times))
    return compiled, dense, linear


def best(source: Path, family: str, size: int) -> list[float]:
    """The least of some fresh processes of a source tree."""
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "OPENBLAS_NUM_THREADS": "1"}
    runs = []
    for _ in range(ROUNDS):
        done = subprocess.run(
            [sys.executable, __file__, "--one", family, str(size)],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        runs.append(json.loads(done.stdout))
    return [min(column) for column in zip(*runs, strict=True)]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("commit", nargs="?")
    options.add_argument("--json", metavar="FILE")
    options.add_argument("--keep", action="store_true")
    options.add_argument("--quick", action="store_true", help="100 and 1,000 operators")
    options.add_argument("--one", nargs=2, metavar=("FAMILY", "SIZE"), help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one:
        print(json.dumps(measured(chosen.one[0], int(chosen.one[1]))))
        return 0
    small, large = (100, 1_000) if chosen.quick else (1_000, 10_000)
    rows = []
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier"
        if chosen.commit:
            add = [*git, "add", "--quiet", "--detach", str(earlier), chosen.commit]
            subprocess.run(add, check=True)
        try:
            for family in FAMILIES:
                before = best(earlier, family, small) if chosen.commit else [None] * 3
                now, more = best(ROOT, family, small), best(ROOT, family, large)
                for what, old, few, many in zip(
                    ("compile", "dense", "linear"), before, now, more, strict=True
                ):
                    rows.append(
                        {"family": family, "what": what, "operators": small, "before": old,
                         "now": few, "ten_times": many, "growth": many / few}
                    )  # fmt: skip
        finally:
            if chosen.commit:
                subprocess.run([*git, "remove", "--force", str(earlier)], check=True)
    print(f"| formula | what | before, {small:,} | now | ratio | {large:,} | growth |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for row in rows:
        old = row["before"]
        shown = ("", "") if old is None else (f"{old:.3f} s", f"{row['now'] / old:.2f}")
        print(
            f"| {row['family']} | {row['what']} | {shown[0]} | {row['now']:.3f} s | {shown[1]} "
            f"| {row['ten_times']:.3f} s | {row['growth']:.1f} |"
        )
    if chosen.keep:
        import report

        from softhat.models.bench.tables import BenchTable

        columns = ("formula", "what", f"ms, {small:,} operators", f"ms, {large:,}", "growth")
        kept = [
            (r["family"], r["what"], 1000 * r["now"], 1000 * r["ten_times"], r["growth"])
            for r in rows
        ]
        note = "Growth is of the time for ten times the operators: 10 is linear."
        report.keep([BenchTable("Certificates by formula size", columns, tuple(kept), note)])
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    return int(max(row["growth"] for row in rows if row["what"] != "compile") > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
