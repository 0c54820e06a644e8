"""Words a second of exhaustive verification, and the start-up time of the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np

from softhat.models.bench.tables import BenchSettings, BenchTable, Cell, best
from softhat.models.compiler import compile
from softhat.models.verification.verify import verify

FORMULAS = ("a S b", "Y (a S b)", "(Y a | b) S (c S a)", "#(a) >= #(b)", "#(a) > #>(b) + #*(a)")
GOALS = {
    "softhat --help": 0.25,
    "softhat compile": 0.35,
    "softhat certify": 0.35,
    "softhat check": 0.35,
    "softhat run": 0.35,
}
"""Processor seconds that a command may take, start to finish."""


def verification(settings: BenchSettings) -> BenchTable:
    """All words to a length: the runtime alone, and the whole of `verify`."""
    length = 7 if settings.quick else 11
    rows: list[tuple[Cell, ...]] = []
    words = np.array(list(product(range(3), repeat=length)))
    for text in FORMULAS:
        model = compile(text, alphabet="abc")
        alone = best(partial(model.run_batch, words, "float32"), settings.repeat)
        checked = sum(3**n for n in range(1, length + 1))
        whole = best(partial(verify, model, exhaustive=length, random=0, adversarial=0), 1)
        rows.append(
            (text, len(words) / alone, checked / whole, (checked / whole) * alone / len(words))
        )
    return BenchTable(
        f"Exhaustive verification, all words over 3 symbols to length {length}",
        ("formula", "words/s, runtime alone", "words/s, verify", "ratio"),
        tuple(rows),
        "One process. `verify` also evaluates the formula and measures every head's leak; what is "
        "the same in several words it computes once, so it may be faster than the runtime.",
    )


def startup(settings: BenchSettings) -> BenchTable:
    """Commands in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import numpy": [sys.executable, "-c", "import numpy"],
            "import softhat": [sys.executable, "-c", "import softhat"],
            "softhat --help": _softhat("--help"),
            "softhat compile": _softhat("compile", "a S b", "--alphabet", "abc", "-o", model),
            "softhat certify": _softhat("certify", model),
            "softhat check": _softhat("check", "a S b", "--alphabet", "abc"),
            "softhat run": _softhat("run", model, "abca"),
        }
        rows: list[tuple[Cell, ...]] = []
        for name, command in commands.items():
            wall, processor = _run(command, 2 if settings.quick else 5)
            goal = GOALS.get(name)
            ratio = None if goal is None else processor / goal
            rows.append((name, wall, processor, goal, ratio))
    columns = ("command", "seconds", "processor seconds", "goal", "ratio to the goal")
    return BenchTable(
        "Start-up",
        columns,
        tuple(rows),
        "Start to finish, by the clock on the wall and in processor seconds; goals are processor "
        "seconds. `compile` writes the model's certificate too.",
    )


def _run(command: list[str], repeat: int) -> tuple[float, float]:
    """The least wall-clock and processor time of a command."""
    walls, processors = [], []
    for _ in range(repeat):
        before, start = os.times(), perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        walls.append(perf_counter() - start)
        after = os.times()
        used = after.children_user + after.children_system
        spent = used - before.children_user - before.children_system
        processors.append(round(spent, 2))  # they are counted in hundredths
    return min(walls), min(processors)


def _softhat(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from softhat.cli import main; main()", *arguments]
