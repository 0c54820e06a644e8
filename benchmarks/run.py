"""What `softhat bench` measures, kept in benchmarks/results.json and docs/benchmarks.md.

    python benchmarks/run.py [SECTION …] [--quick]

Without sections all of them: compile, linear, stream, dense, memory, verify, startup. A section is
kept as soon as it is measured.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import report

from softhat.models.bench.run import SECTIONS, fresh, measure
from softhat.models.bench.tables import markdown


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    options.add_argument("--quick", action="store_true", help="smaller, and nothing is kept")
    chosen = options.parse_args()
    for name in chosen.sections or SECTIONS:
        tables = list(measure(fresh(chosen.quick), [name]))
        for table in tables:
            print(markdown(table), flush=True)
        if not chosen.quick:
            report.keep(tables)


if __name__ == "__main__":
    main()
