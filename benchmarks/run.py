"""Everything `softhat bench` measures, written to benchmarks/results.json and docs/benchmarks.md.

`python benchmarks/run.py [--quick]`
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import report

from softhat.models.bench.run import fresh, measure
from softhat.models.bench.tables import markdown

RESULTS = Path(__file__).parent / "results.json"


def main() -> None:
    results = fresh(quick="--quick" in sys.argv)
    for table in measure(results):
        print(markdown(table), flush=True)
    part = RESULTS.with_suffix(".part")
    part.write_text(json.dumps(results.to_json(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    part.replace(RESULTS)
    report.main()


if __name__ == "__main__":
    main()
