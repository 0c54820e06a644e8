"""Progress on standard error, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

Progress = Callable[[str, int, int], None]
"""What is done, how many of them, of how many: for work whose end is known."""


class Show(Protocol):
    """The same, where the end may be unknown (None), with a note."""

    def __call__(self, what: str, done: int, total: int | None, note: str = "") -> None: ...


def unseen(what: str, done: int, total: int | None, note: str = "") -> None:
    """Progress that nobody looks at."""


@contextmanager
def progress(quiet: bool = False) -> Iterator[Show]:
    """A bar for each kind of thing that is counted; nothing where nobody would see it."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield unseen
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        TaskID,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        known: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int | None, note: str = "") -> None:
            if what not in known:
                known[what] = bars.add_task(what, total=total, note=note)
            bars.update(known[what], completed=done, total=total, note=note)

        yield show
