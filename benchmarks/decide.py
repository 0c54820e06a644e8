"""How fast questions about every length are answered, against MONA in the same run.

    python benchmarks/decide.py [pairs] [patterns] [counters] [shifts] [--quick] [--json FILE]

Four tables: pairs of formulas that are equivalent by the laws of the textbooks (so that all
states must be explored), by fragment and number of temporal operators; the forty specification
patterns; binary counters, whose shortest words are exponentially long; `F (a & X^n b)` against
`F (b & Y^n a)`, whose states are windows of n symbols on both sides. MONA gets the same question by
the translation of tests/logic/decide/mona.py, as a fresh process each time (its start takes a few
milliseconds), and gives up after 20 processor seconds, 200 by the clock, or 8 GB. All times are
processor seconds.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for the imports of tests

from softhat import SofthatError, equivalent, parse, satisfiable
from softhat.logic.fragments import describe
from softhat.logic.random import random_formula
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Xor
from softhat.logic.syntax.walk import distinct
from tests.logic.decide import mona
from tests.logic.decide.disguise import disguise
from tests.logic.decide.test_laws import SCOPED
from tests.logic.decide.test_search import counter

SECONDS = 20
TEMPORAL = (
    nodes.Yesterday, nodes.WeakYesterday, nodes.Once, nodes.Historically, nodes.Since,
    nodes.Triggered, nodes.Tomorrow, nodes.WeakTomorrow, nodes.Eventually, nodes.Always,
    nodes.Until, nodes.Release, nodes.WeakUntil, nodes.StrongRelease,
)  # fmt: skip


def timed(ask: Callable[[], Any]) -> tuple[Any, float]:
    start = _processor_seconds()
    try:
        answer = ask()
    except SofthatError:
        answer = "refused"
    return answer, _processor_seconds() - start


def _processor_seconds() -> float:
    """Of this process and of those it has waited for."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(each.ru_utime + each.ru_stime for each in used)


def ask_mona(f: Formula, where: str, names: str | list[str], props: bool) -> tuple[Any, float]:
    if shutil.which("mona") is None:
        return "not installed", float("nan")
    return timed(lambda: mona.least_length(f, where, names, props, SECONDS))


def pairs(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for family in ("past", "future", "star-free", "two-way"):
        for size in (20, 40, 60) if quick else (20, 40, 60, 80):
            ours, theirs, operators, refused, late, wrong = [], [], [], 0, 0, 0
            for seed in range(5 if quick else 20):
                rng = np.random.default_rng([seed, size])
                f = random_formula(rng, size, "ab", family)
                g = disguise(f, rng)
                answer, seconds = timed(lambda f=f, g=g: equivalent(f, g, alphabet="ab"))
                expected, other = ask_mona(Xor(f, g), "anywhere", "ab", False)
                refused += answer == "refused"
                late += expected in ("timeout", "memory")
                wrong += answer != "refused" and answer is not None
                wrong += expected not in (None, "timeout", "memory", "not installed")
                ours.append(seconds)
                theirs.append(other)
                rows_of = distinct(f)[0]
                operators.append(sum(isinstance(node, TEMPORAL) for node, _ in rows_of))
            rows.append(
                {
                    "fragment": family,
                    "temporal operators": f"{min(operators)}-{max(operators)}",
                    "pairs": len(ours),
                    "median s": round(statistics.median(ours), 3),
                    "most s": round(max(ours), 2),
                    "within 1 s": sum(s <= 1 for s in ours),
                    "refused": refused,
                    "MONA median s": round(statistics.median(theirs), 3),
                    "MONA most s": round(max(theirs), 2),
                    "MONA too late": late,
                    "wrong": wrong,
                }
            )
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def patterns() -> list[dict[str, Any]]:
    ours, theirs, depths = [], [], []
    for _, text in SCOPED:
        f = parse(text)
        g = disguise(f, np.random.default_rng(0))
        ours.append(timed(lambda f=f, g=g: equivalent(f, g, propositions="pqrst"))[1])
        theirs.append(ask_mona(Xor(f, g), "anywhere", "pqrst", True)[1])
        depths.append(describe(f).temporal_depth)
    return [
        {
            "patterns": len(ours),
            "depth": f"{min(depths)}-{max(depths)}",
            "median s": round(statistics.median(ours), 3),
            "most s": round(max(ours), 2),
            "MONA median s": round(statistics.median(theirs), 3),
            "MONA most s": round(max(theirs), 2),
        }
    ]


def counters(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for future in (False, True):
        for bits in (2, 4, 6) if quick else (2, 4, 6, 8, 10, 12):
            names = [f"b{k}" for k in range(bits)]
            f = counter(bits, future)
            answer, seconds = timed(lambda f=f, names=names: satisfiable(f, propositions=names))
            expected, other = ask_mona(f, "first" if future else "last", names, True)
            rows.append(
                {
                    "counter": "future" if future else "past",
                    "bits": bits,
                    "answer": answer if isinstance(answer, str) else len(answer or []),
                    "s": round(seconds, 2),
                    "MONA": expected,
                    "MONA s": round(other, 2),
                }
            )
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def shifts(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for n in (2, 4, 8) if quick else (4, 8, 12, 14, 16):
        f, g = parse(f"F (a & {'X ' * n}b)"), parse(f"F (b & {'Y ' * n}a)")
        answer, seconds = timed(lambda f=f, g=g: equivalent(f, g, alphabet="ab"))
        expected, other = ask_mona(Xor(f, g), "anywhere", "ab", False)
        rows.append(
            {
                "n": n,
                "answer": answer if answer == "refused" else len(answer or ()),
                "s": round(seconds, 2),
                "MONA": expected,
                "MONA s": round(other, 2),
            }
        )
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


TABLES: dict[str, Callable[[bool], list[dict[str, Any]]]] = {
    "pairs": pairs,
    "patterns": lambda _: patterns(),
    "counters": counters,
    "shifts": shifts,
}


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("tables", nargs="*", choices=[*TABLES, []])
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--keep", action="store_true", help="put them on docs/benchmarks.md")
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    tables = {name: TABLES[name](given.quick) for name in given.tables or TABLES}
    for name, rows in tables.items():
        print(f"\n{name}\n")
        print("| " + " | ".join(rows[0]) + " |")
        print("| " + " | ".join("---" for _ in rows[0]) + " |")
        for row in rows:
            print("| " + " | ".join(str(value) for value in row.values()) + " |")
    if given.keep:
        import report

        from softhat.models.bench.tables import BenchTable

        report.keep(
            BenchTable(
                f"Deciding for every length, against MONA: {name}",
                tuple(rows[0]),
                tuple(tuple(row.values()) for row in rows),
                f"MONA is given {SECONDS} processor seconds, {10 * SECONDS} by the clock and 8 GB. "
                "softhat refuses when "
                "its budget of steps is spent, and says so.",
            )
            for name, rows in tables.items()
        )
    if given.json:
        given.json.write_text(json.dumps(tables, indent=1) + "\n")


if __name__ == "__main__":
    main()
