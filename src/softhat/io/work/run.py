"""Numbered tasks on an executor: each done at least once, counted exactly once.

A worker that dies takes nothing with it: its tasks are sent again, to a new pool if the old one
broke, and in the end they are done in this process. So is the rest, if a cluster goes away.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from typing import Any

from softhat.io.errors import SofthatError
from softhat.io.work.cluster import alive, checked, cluster, greet, is_cluster
from softhat.io.work.processes import cores, processes
from softhat.io.work.source import source_digest

RETRIES = 3
"""Times that a task is sent again before it is done in this process."""
AHEAD = 128
"""Tasks handed to an executor of unknown size before the first must be done."""
LOOK = 5.0
"""Seconds without a result after which a cluster is asked whether it lives."""

Task = tuple[int, Callable[..., Any], tuple[Any, ...]]
"""A number, a function and its arguments."""
Results = Generator[tuple[int, Any], None, None]
Renew = Callable[[], Executor]


@contextmanager
def workers(jobs: int = 0, dask: str | None = None) -> Iterator[Renew | None]:
    """Where tasks run: a Dask cluster, processes (0: one for each core), or None for here."""
    if jobs < 0:
        raise SofthatError(f"--jobs is a number of processes, not {jobs}")
    if dask is not None:
        with cluster(dask) as executor:
            yield lambda: executor
        return
    count = jobs or cores()
    if count == 1:
        yield None
        return
    with processes(count) as renew:
        yield renew


def run(
    tasks: Iterable[Task], executor: Executor | None = None, renew: Renew | None = None
) -> Results:
    """(number, result) of each task, in any order. `renew` gives an executor, and a new one when
    that broke; with neither, the tasks are done here one after another."""
    if executor is None and renew is None:
        yield from _here(tasks)
        return
    queue = _Queue(executor, renew)
    waiting = iter(tasks)
    try:
        while True:
            while not queue.full and (task := queue.again() or next(waiting, None)) is not None:
                queue.send(task)
            if not queue.running and not queue.lost:
                return
            yield from queue.finished()
            if queue.gone:
                yield from _here(queue.left())
                yield from _here(waiting)
                return
    finally:
        queue.cancel()


def _here(tasks: Iterable[Task]) -> Results:
    for number, work, arguments in tasks:
        yield number, work(*arguments)


class _Queue:
    """The tasks that are with an executor, and those that came back without a result."""

    def __init__(self, executor: Executor | None, renew: Renew | None) -> None:
        self.renew = renew
        self.executor = executor if executor is not None else self._new()
        self.remote = is_cluster(self.executor)
        size = greet(self.executor) if self.remote else getattr(self.executor, "_max_workers", None)
        self.ahead = 2 * size + 2 if isinstance(size, int) else AHEAD
        self.running: dict[Future[Any], Task] = {}
        self.lost: list[Task] = []
        self.tries: dict[int, int] = {}
        self.broken = self.gone = False
        self.heard = time.monotonic()

    @property
    def full(self) -> bool:
        return self.broken or self.gone or len(self.running) >= self.ahead

    def again(self) -> Task | None:
        return self.lost.pop() if self.lost else None

    def send(self, task: Task) -> None:
        work, arguments = task[1], task[2]
        if self.remote:
            work, arguments = checked, (source_digest(), work, *arguments)
        try:
            self.running[self.executor.submit(work, *arguments)] = task
        except (RuntimeError, OSError):  # broken or shut down
            self.lost.append(task)
            self.broken = True

    def finished(self) -> Results:
        """The results that have come back by now. It waits for one, unless the workers have
        died."""
        done, _ = wait(self.running, LOOK, FIRST_COMPLETED) if self.running else (set(), set())
        for future in done:
            task = self.running.pop(future)
            try:
                result = future.result()
            except SofthatError:
                raise
            except (Exception, CancelledError):
                # The worker is gone, or the task fails by itself: then it fails here too.
                number = task[0]
                self.tries[number] = self.tries.get(number, 0) + 1
                self.broken |= self.renew is not None and not self.remote
                if self.tries[number] > RETRIES:
                    yield from _here([task])
                else:
                    self.lost.append(task)
            else:
                self.heard = time.monotonic()
                yield task[0], result
        if self.remote and (self.lost or time.monotonic() - self.heard > LOOK):
            self._look()
        if self.broken and not self.running:
            self._repair()

    def _look(self) -> None:
        self.heard = time.monotonic()
        if not alive(self.executor):
            warnings.warn(
                "the Dask cluster is gone: what is left is done in this process", stacklevel=2
            )
            self.gone = True

    def _repair(self) -> None:
        if self.renew is None or self.remote:
            self.gone = True
            return
        self.executor = self._new()
        self.broken = False

    def _new(self) -> Executor:
        assert self.renew is not None
        return self.renew()

    def left(self) -> list[Task]:
        """What nobody else will do."""
        left = [*self.running.values(), *self.lost]
        self.cancel()
        return left

    def cancel(self) -> None:
        for future in self.running:
            future.cancel()
        self.running.clear()
