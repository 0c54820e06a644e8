"""All sections in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from time import perf_counter

from softhat.io.errors import SofthatError
from softhat.models.bench import checking, compiling, running
from softhat.models.bench.tables import BenchSettings, BenchTable, Results, machine

SECTIONS: dict[str, tuple[Callable[[BenchSettings], BenchTable | None], ...]] = {
    "compile": (compiling.compile_times, compiling.model_sizes),
    "linear": (running.linear_by_length, running.linear_by_operators),
    "stream": (running.streaming,),
    "dense": (running.dense_by_length, running.against_torch),
    "memory": (running.memory,),
    "verify": (checking.verification,),
    "startup": (checking.startup,),
}


def check_sections(names: Collection[str]) -> None:
    """Refuse a name that is no section's."""
    for name in names:
        if name not in SECTIONS:
            raise SofthatError(f"no section {name!r}: choose from {', '.join(SECTIONS)}")


def measure(results: Results, names: Collection[str] = ()) -> Iterator[BenchTable]:
    """Run the sections (all without names), adding each table to the results as it is ready."""
    check_sections(names)
    began = perf_counter()
    settings = BenchSettings(quick=results.quick)
    for name, tables in SECTIONS.items():
        if names and name not in names:
            continue
        for section in tables:
            table = section(settings)
            results.seconds = perf_counter() - began
            if table is not None:
                results.tables.append(table)
                yield table


def fresh(quick: bool) -> Results:
    """Nothing measured yet."""
    return Results(machine(), quick)
