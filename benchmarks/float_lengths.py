"""Certified lengths of the gallery in floats against the first failure that a search finds.

`python benchmarks/float_lengths.py [--json FILE] [FORMAT …] [MODEL …]`. Every model is simulated at
every length with room for the format: float32 with ε = 1e-3, float16 and bfloat16 with ε = 0.1,
since their own last digits are coarser than 1e-3. At its certified length nothing may fail; from
there on `float_search` looks for a word that does, to `REACH` times the length or to `LONGEST`.
One run of all formats and models writes the results anew; with a choice of them, their rows are
replaced. `--page` writes the table of all results to docs/float-lengths.md.
Exit code 1 if something certified fails, or a length in float32 is more than 4 times below its
failure (in narrow formats that is only printed).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from float_search import Search

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.numerics.formats import FORMATS

RESULTS = Path(__file__).parent / "float_lengths.json"
EPSILON = {"float32": 1e-3, "float16": 0.1, "bfloat16": 0.1}
GOAL = 4.0
REACH, LEAST, LONGEST = 8, 20_000, 1 << 22
DEEP = 6_000
"""Where earlier layers score too, all rows are computed, in time that grows with n²."""
DEEPEST = 1_000
"""The same where more than four heads score."""


def measure(name: str, dtype: str) -> dict[str, Any]:
    """One row: a model in one format."""
    began = time.process_time()
    source, epsilon = GALLERY[name](), EPSILON[dtype]
    s = softhat.simulate(source, epsilon=epsilon, dtype=dtype)
    certified = s.certificate.max_length[dtype]
    scoring = [sum(any(map(any, h.query)) for h in layer.heads) for layer in s.source.layers]
    top = LONGEST if sum(map(bool, scoring)) < 2 else DEEP if sum(scoring) <= 4 else DEEPEST
    top = min(top, source.longest or top)
    search = Search(s, dtype, epsilon)
    inside = {min(certified, top), min(certified, top) // 2, min(certified, 64)}
    broken = any(search.fails(n) for n in sorted(inside) if n)
    last = min(top, max(LEAST, REACH * certified), s.certificate.max_length["float64"])
    found = search.first_failure(certified + 1, last)
    return {
        "model": name,
        "dtype": dtype,
        "epsilon": epsilon,
        "certified": certified,
        "failure": None if found is None else found.length,
        "word": None if found is None else found.word,
        "tried": search.tried,
        "broken": broken,
        "seconds": round(time.process_time() - began, 1),
    }


def ratio(row: dict[str, Any]) -> float | None:
    return None if row["failure"] is None else row["failure"] / max(1, row["certified"])


def shown(row: dict[str, Any]) -> str:
    """A line of the table."""
    far = ratio(row)
    found = f"none to {row['tried']:,}" if far is None else f"{row['failure']:,}"
    mark = "" if far is None else f"{far:.1f}"
    missed = " MISSED" if far is not None and far > GOAL else ""
    broken = " BROKEN" if row["broken"] else ""
    start = f"{row['model']:24} {row['dtype']:9} {row['certified']:>12,}"
    return f"{start} {found:>20} {mark:>8}{missed}{broken}"


def outcome(row: dict[str, Any]) -> str:
    """What the search found, as the page says it."""
    if row["failure"] is not None:
        return f"{row['failure']:,}"
    if not row["tried"]:
        return "not searched"
    within = ", within what is proved" if row["tried"] < row["certified"] else ""
    return f"none to {row['tried']:,}{within}"


def page(rows: list[dict[str, Any]]) -> str:
    """The results as Markdown."""
    minutes = sum(row["seconds"] for row in rows) / 60
    lines = [
        "# Lengths in floats",
        "",
        "This page compares two lengths for each model of the [gallery](gallery.md) and each",
        "number format. The first is the length to which its simulation is proved right. The",
        "second is the length at which a search first finds a word on which it is wrong. The",
        "theorem is in [temperature laws](theory/temperature.md). Simulations are for every",
        "length, made with room for the format.",
        "",
        "The search is not exhaustive: there may be a failure that it does not find. It goes to",
        "8 times the proved length, but at least to 20,000 and at most to 4,194,304 symbols.",
        "Where two layers score it goes to 6,000 at most, since all rows of the first layer are",
        "needed there. Where more than four heads score in them, it goes to 1,000 at most.",
        "",
        "`python benchmarks/float_lengths.py --page` writes this page from",
        f"`benchmarks/float_lengths.json`. All rows together took {minutes:.0f} minutes of one",
        "processor.",
    ]
    for dtype, epsilon in EPSILON.items():
        lines += ["", f"## {dtype}, ε = {epsilon}", ""]
        lines += [
            "| model | proved to | first failure found | ratio |",
            "| --- | --: | --: | --: |",
        ]
        for row in rows:
            if row["dtype"] == dtype:
                far = ratio(row)
                shown_as = "" if far is None else f"{far:.1f}"
                lines.append(
                    f"| {row['model']} | {row['certified']:,} | {outcome(row)} | {shown_as} |"
                )
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument("choice", nargs="*", choices=[[], *FORMATS, *GALLERY], metavar="NAME")
    asked = parser.parse_args(arguments)
    if asked.page:
        rows = json.loads(RESULTS.read_text("utf-8"))
        target = Path(__file__).parent.parent / "docs" / "float-lengths.md"
        target.write_text(page(rows), "utf-8")
        return 0
    dtypes = [name for name in asked.choice if name in FORMATS] or list(EPSILON)
    names = [name for name in asked.choice if name in GALLERY] or list(GALLERY)
    target = asked.json
    whole = dtypes == list(EPSILON) and names == list(GALLERY)
    known = [] if whole or not target.exists() else json.loads(target.read_text("utf-8"))
    rows = {(row["dtype"], row["model"]): row for row in known}
    missed = 0
    print(f"{'model':24} {'format':9} {'certified':>12} {'failure':>20} {'ratio':>8}")
    for dtype in dtypes:
        for name in names:
            row = measure(name, dtype)
            print(shown(row), flush=True)
            far = ratio(row)
            missed += row["broken"] or (dtype == "float32" and far is not None and far > GOAL)
            rows[dtype, name] = row
            ordered = [rows[d, m] for d in EPSILON for m in GALLERY if (d, m) in rows]
            target.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
