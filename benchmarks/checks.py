"""What the numbers must show, checked on one run's tables; used by the scripts beside this one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from softhat.models.bench.run import fresh, measure
from softhat.models.bench.tables import BenchTable, markdown


def run(*sections: str) -> list[BenchTable]:
    """Measure some sections (`--quick` on the command line: smaller) and print them."""
    results = fresh(quick="--quick" in sys.argv)
    for table in measure(results, sections):
        print(markdown(table), flush=True)
    return results.tables


def column(table: BenchTable, name: str) -> list[float]:
    """The numbers of a column."""
    at = table.columns.index(name)
    return [float(row[at]) for row in table.rows if isinstance(row[at], int | float)]


def report(checks: Iterable[tuple[str, float, float, float]]) -> int:
    """Print each (what, number, least, most); 1 if one is outside."""
    failed = 0
    for what, number, least, most in checks:
        good = least <= number <= most
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {what}: {number:.4g} (from {least:g} to {most:g})")
    return int(failed > 0)
