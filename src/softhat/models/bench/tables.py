"""Results as data: tables with a unit a column, as JSON, as text and as Markdown."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class BenchTable:
    """A title, what the columns are, the rows, and what to see in them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


@dataclass(slots=True)
class Results:
    """Everything one run measured, and on what."""

    machine: dict[str, Any]
    quick: bool
    seconds: float = 0.0
    tables: list[BenchTable] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {"format": "softhat-bench/1", **asdict(self)}


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """How much to measure."""

    quick: bool = False
    repeat: int = 5

    def pick(self, quick: Sequence[int], full: Sequence[int]) -> Sequence[int]:
        return quick if self.quick else full


LITTLE = 0.5
"""Seconds for which short actions are repeated."""


def best(action: Callable[[], object], repeat: int = 3, budget: float = 10.0) -> float:
    """The least processor time of a few calls, in seconds.

    At least `repeat` calls if they fit the budget in seconds, more while they take little.
    Processor time, because other programs on the machine do not change it; with one thread on
    an idle machine it is the wall-clock time.
    """
    times: list[float] = []
    began = perf_counter()
    while not times or perf_counter() - began < (budget if len(times) < repeat else LITTLE):
        start = process_time()
        action()
        times.append(process_time() - start)
    return max(min(times), 1e-7)


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    import numpy as np

    import softhat

    return {
        "softhat": softhat.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
    }


def _processor() -> str:
    if sys.platform == "linux":
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def shown(cell: Cell) -> str:
    """A cell as people read it."""
    match cell:
        case None:
            return "–"
        case int():
            return f"{cell:,}"
        case float() if cell >= 1000:
            return f"{cell:,.0f}"
        case float():
            return f"{cell:.3g}"
    return cell


def markdown(table: BenchTable) -> str:
    """A table of the results page."""
    lines = [f"### {table.title}", ""]
    if table.note:
        lines += [table.note, ""]
    lines.append("| " + " | ".join(table.columns) + " |")
    lines.append("|" + " --- |" * len(table.columns))
    for row in table.rows:
        cells = (shown(cell).replace("|", "\\|") for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
