"""Compile time by formula size, and model size by formula."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from softhat.io.files import write_folder
from softhat.logic.random import random_formula
from softhat.logic.syntax.parse import parse
from softhat.logic.syntax.print import to_text
from softhat.models.bench.tables import BenchSettings, BenchTable, Cell, best
from softhat.models.compiler import compile
from softhat.models.model import Model

MOST_SAVED = 20_000_000
"""Parameters of the largest model that is written."""
NAMED = (
    "Y a", "a S b", "Y (a S b)", "#(a) >= #(b)", "2*#(a) - 3*#(b) = 1", "a U b",
    "#(a) > #>(b) + #*(c)", "O (a & Y (b & Y c))", "H (a -> O (b S c))",
)  # fmt: skip


def compile_times(settings: BenchSettings) -> BenchTable:
    """Parse, compile, certify and save random past formulas of growing size."""
    rows: list[tuple[Cell, ...]] = []
    rng = np.random.default_rng(0)
    first: float | None = None
    for size in settings.pick((10, 100, 1000), (10, 100, 1000, 10_000)):
        text = to_text(random_formula(rng, size, "abc", "past"))
        formula = parse(text)
        parsing = best(partial(parse, text), settings.repeat)
        compiling = best(partial(compile, formula, alphabet="abc"), settings.repeat)
        model = compile(formula, alphabet="abc")
        saving = _saving(model) if model.size.parameters < MOST_SAVED else None
        total = parsing + compiling
        first = first or total / size
        rows.append(
            (
                size,
                parsing * 1e3,
                compiling * 1e3,
                saving,
                total / size / first,
                model.size.layers,
                model.size.heads,
            )
        )
    return BenchTable(
        "Compile time by formula size",
        (
            "operators",
            "parse ms",
            "compile ms",
            "write ms",
            "time a node, ratio",
            "layers",
            "heads",
        ),
        tuple(rows),
        "Random pure-past formulas. The ratio is to the time a node of the first row: 1 is "
        "linear. Writing is a model folder without its certificate.",
    )


def _saving(model: Model) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return 1e3 * best(lambda: write_folder(Path(folder) / "model", model.contents()))


def model_sizes(settings: BenchSettings) -> BenchTable:
    """What some formulas compile to."""
    rows = []
    for text in NAMED:
        size = compile(text, alphabet="abc").size
        rows.append((text, size.layers, size.heads, size.d_model, size.d_ff, size.parameters))
    return BenchTable(
        "Model size by formula",
        ("formula", "layers", "heads", "d_model", "d_ff", "parameters"),
        tuple(rows),
    )
