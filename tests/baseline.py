"""What models were before the house was redrawn: sizes and certified lengths, as a table.

`python -m tests.baseline FILE` measures the softhat on the path (it needs only the public names, so
it runs on older commits too). `tests/data/baseline.json` was made with the last commit of the old
plan, 7a875f0; `tests/test_baseline.py` compares.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import softhat
from tests.cases import CASES, Case

FORMULAS = CASES[:: max(1, len(CASES) // 60)][:60] if len(CASES) > 60 else CASES
GALLERY = (
    "majority", "first-token", "last-token", "last-by-inverse", "previous-token",
    "induction-latest", "induction-average", "most-recent-occurrence", "histogram", "reverse",
    "sort", "dyck-uniform", "dyck-argmin", "parity-of-length", "third-token",
)  # fmt: skip
LENGTH, EPSILON = 6, 1e-3
EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "ahat"


def formula_row(case: Case, attention: Any) -> dict[str, Any]:
    given = {"propositions" if case.propositional else "alphabet": case.alphabet}
    model = softhat.compile(case.formula, attention=attention, **given)
    size = model.size
    return {
        "layers": size.layers,
        "heads": size.heads,
        "parameters": size.parameters,
        "max_length": dict(model.certificate.max_length),
    }


def gallery_row(name: str) -> dict[str, Any]:
    source = softhat.ahat.load(EXAMPLES / f"{name}.json")
    simulation = softhat.simulate(source, max_length=LENGTH, epsilon=EPSILON)
    certificate = simulation.certificate
    return {
        "layers": simulation.size.layers,
        "heads": simulation.size.heads,
        "parameters": simulation.size.parameters,
        "error": certificate.error,
        "max_length": dict(certificate.max_length),
        "beta": [head.beta for head in certificate.heads],
    }


def measure() -> dict[str, Any]:
    return {
        "formulas": {
            f"{case.name} / {attention}": formula_row(case, attention)
            for case in FORMULAS
            for attention in ("unbounded", "temperature")
        },
        "gallery": {name: gallery_row(name) for name in GALLERY},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the certified lengths of today.")
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.parse_args().file.write_text(json.dumps(measure(), indent=1, ensure_ascii=False) + "\n")
