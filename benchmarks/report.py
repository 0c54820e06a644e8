"""The tables in benchmarks/results.json, and docs/benchmarks.md from them.

python benchmarks/report.py     writes the page again
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from softhat import __version__
from softhat.models.bench.tables import BenchTable, machine, markdown

HERE = Path(__file__).parent
RESULTS, PAGE = HERE / "results.json", HERE.parent / "docs" / "benchmarks.md"

OPENING = """# Benchmarks

`python benchmarks/run.py` measures what `softhat bench` does; `benchmarks/certify.py`,
`benchmarks/cold.py`, `benchmarks/typed.py` and `benchmarks/decide.py` measure certificates,
requests of the explorer and decisions, `benchmarks/verify.py --before` verification, and
`benchmarks/ahat.py --before` and `--warm` simulations of hard attention. They keep their tables in
`benchmarks/results.json`, from which this page is written. Every table says at which commit and on
which processor it was measured. Times are processor seconds, the best of a few runs; ratios are of
numbers from the same run. Other programs ran on the machine, up to fifteen on two cores: they share
its caches and the units of its cores. So compare
numbers within a table, not between tables. Run the scripts on your machine before comparing.

There is no compiled kernel. One with the same bits was tried at commit 1e8b1444 (numba): 1.1 to 3.5
times as fast as NumPy from 10^5 to 10^7 tokens, 2.3 times on average, for a thousand lines.

"""


def keep(tables: Iterable[BenchTable]) -> None:
    """Put tables into the results, in the place of those of the same title, and write the page."""
    results = json.loads(RESULTS.read_text("utf-8"))
    git = ["git", "-C", str(HERE.parent)]
    head = [*git, "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    if subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src"], check=False).returncode:
        commit += " with changes"
    about = {name: value for name, value in machine().items() if name != "softhat"}
    processor = about.pop("processor")
    known = {table["title"]: table for table in results["tables"]}
    for table in tables:
        known[table.title] = {
            "title": table.title,
            "measured": f"{__version__}, commit {commit}, on {processor}",
            "columns": list(table.columns),
            "rows": [list(row) for row in table.rows],
            "note": table.note,
        }
    results = {"format": "softhat-bench/2", "machine": about, "tables": list(known.values())}
    _write(RESULTS, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    _write(PAGE, page(results))


def page(results: dict[str, Any]) -> str:
    """The Markdown of all tables."""
    lines = [OPENING.rstrip() + "\n", "| | |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in results["machine"].items()]
    lines.append("")
    for table in results["tables"]:
        rows = tuple(tuple(row) for row in table["rows"])
        note = f"{table['note']} Measured at {table['measured']}.".strip()
        lines.append(markdown(BenchTable(table["title"], tuple(table["columns"]), rows, note)))
    return "\n".join(lines).replace("###", "##").rstrip() + "\n"


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(text, "utf-8")
    part.replace(path)


if __name__ == "__main__":
    _write(PAGE, page(json.loads(RESULTS.read_text("utf-8"))))
