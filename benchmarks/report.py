"""benchmarks/results.json to docs/benchmarks.md. `python benchmarks/report.py`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from softhat.models.bench.tables import BenchTable, markdown

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results.json", HERE.parent / "docs" / "benchmarks.md"

OPENING = """# Benchmarks

This page is written by `python benchmarks/run.py`, which measures what `softhat bench` does and
keeps the numbers in `benchmarks/results.json`. Times are processor seconds, the best of a few
runs; ratios are of numbers from the same run. Run it on your machine before comparing.

"""


def page(results: dict[str, Any]) -> str:
    """The Markdown of one run."""
    about = results["machine"]
    lines = [OPENING.rstrip() + "\n", "| | |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in about.items()]
    lines += [f"| seconds for everything | {results['seconds']:.0f} |", ""]
    for table in results["tables"]:
        rows = tuple(tuple(row) for row in table["rows"])
        lines.append(
            markdown(BenchTable(table["title"], tuple(table["columns"]), rows, table["note"]))
        )
    return "\n".join(lines).replace("###", "##").rstrip() + "\n"


def main() -> None:
    results = json.loads(RESULTS.read_text("utf-8"))
    part = PAGE.with_suffix(".part")
    part.write_text(page(results), "utf-8")
    part.replace(PAGE)


if __name__ == "__main__":
    main()
