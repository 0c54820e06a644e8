"""What methods that look for circuits get in the exam: a page of results from a run that was made.

`python benchmarks/exam.py RESULTS` reads the results.json that `softhat exam mark … -o DIR` wrote
and writes benchmarks/exam.json (the same, without seconds) and docs/exam-results.md. The page says
which methods ran on how many models.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from softhat.circuits.exam.marking import KINDS, MEASURES

PAGE = Path(__file__).parent.parent / "docs" / "exam-results.md"
NUMBERS = Path(__file__).with_name("exam.json")


def page(results: Mapping[str, Any]) -> Iterator[str]:
    methods, paper = results["methods"], results["paper"]
    yield "# What methods get in the exam\n\n"
    yield f"Paper {paper['version']} of [the exam](exam.md): {paper['questions']} models whose "
    yield "circuits are known and whose answers are proved. Means, with intervals of 95 % over "
    yield "tasks. Written by `benchmarks/exam.py` from one run, with the pairs of seed 0. "
    absent = "ACDC, exact edge patching, subnetwork probing and EAP-IG on activations"
    yield f"{absent} take longer and were not run on the whole paper.\n\n"
    yield "## Marks\n\n" + _row(["method", *MEASURES, "models", "seconds", "verdict"])
    yield _row(["---"] * (len(MEASURES) + 4))
    for method in methods.values():
        numbers = [_mean(method["overall"][measure]) for measure in MEASURES]
        yield _row(
            [
                method["title"],
                *numbers,
                str(method["models"]),
                f"{method['seconds']:.0f}",
                method["verdict"],
            ]
        )
    yield "\nSeconds are of a processor, for all models together.\n"
    yield "\n## AUROC by dress\n\n" + "".join(_by(methods, "by dress"))
    yield "\n## AUROC by family\n\n" + "".join(_by(methods, "by family"))
    yield "\n## True edges that are found, by kind\n\nThe share that is among the highest scores, "
    yield "as many as there are true edges.\n\n"
    yield _row(["method", *KINDS.values()]) + _row(["---"] * (len(KINDS) + 1))
    for method in methods.values():
        shares = [_share(*method["found, by kind"][kind]) for kind in KINDS]
        yield _row([method["title"], *shares])
    yield "\n## What ran\n\n"
    for method in methods.values():
        yield f"- {method['title']}: {method['version']}\n"
    yield f"\nQuestions {paper['digest'][:16]}, weights {results['weights'][:16]}.\n"


def _by(methods: Mapping[str, Any], what: str) -> Iterator[str]:
    values = sorted({value for method in methods.values() for value in method[what]})
    yield _row(["method", *values]) + _row(["---"] * (len(values) + 1))
    for method in methods.values():
        cells = [_mean(method[what][value]) if value in method[what] else "–" for value in values]
        yield _row([method["title"], *cells])


def _mean(given: list[float]) -> str:
    mean, low, high = given
    return f"{mean:.2f} ({low:.2f}–{high:.2f})"


def _share(hits: float, total: int) -> str:
    return f"{hits / total:.2f}" if total else "–"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def main() -> int:
    if len(sys.argv) != 2:
        print("expected python benchmarks/exam.py RESULTS", file=sys.stderr)
        return 2
    results = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    PAGE.write_text("".join(page(results)), "utf-8")
    for method in results["methods"].values():
        del method["seconds"]
    NUMBERS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
