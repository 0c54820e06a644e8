"""Progress on standard error, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[str, int, int | None, str], None]
"""What is done, how many of them, of how many (None: nobody knows), and a note."""
Progress = Callable[[str, int, int], None]
"""What is done, how many of them, of how many: for work whose end is known."""


def unseen(what: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


@contextmanager
def progress(quiet: bool = False) -> Iterator[Show]:
    """A bar for each kind of thing that is counted; nothing where nobody would see it."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield _nothing
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

        def show(what: str, done: int, total: int | None, note: str) -> None:
            if what not in known:
                known[what] = bars.add_task(what, total=total, note=note)
            bars.update(known[what], completed=done, total=total, note=note)

        yield show


def _nothing(what: str, done: int, total: int | None, note: str) -> None:
    pass
