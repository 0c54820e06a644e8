"""Workers of a corpus: processes on this machine that die with it, or a Dask cluster.

Only the process that was called writes files, so a worker that dies, or does its work twice,
loses and duplicates nothing: its task is sent again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from functools import cache
from multiprocessing import parent_process
from typing import Any

from softhat.errors import MissingExtraError, SofthatError
from softhat.verification.pool import processes

RETRIES = 3
"""Pools in a row that may break before the reason is shown."""

Task = tuple[int, Callable[..., Any], tuple[Any, ...]]
"""A number, a function and its arguments."""
Results = Iterator[tuple[int, Any]]
Runner = Callable[[Iterable[Task]], Results]


@contextmanager
def runner(jobs: int = 0, dask: str | None = None) -> Iterator[Runner]:
    """Something that runs tasks and yields (number, result), in any order."""
    if dask is not None:
        with _cluster(dask) as (executor, cores):
            yield lambda tasks: _run(lambda: executor, tasks, 2 * cores + 2)
        return
    count = jobs or _cores()
    if count == 1:
        yield lambda tasks: ((number, work(*arguments)) for number, work, arguments in tasks)
        return
    with processes(count) as renew:
        yield lambda tasks: _run(
            renew,
            ((number, _leashed, (work, *rest)) for number, work, rest in tasks),
            2 * count + 2,
        )


def _run(renew: Callable[[], Executor], tasks: Iterable[Task], ahead: int) -> Results:
    """A few tasks ahead of the results; after a pool broke, its tasks go to a new one."""
    executor = renew()
    waiting = iter(tasks)
    running: dict[Future[Any], Task] = {}
    again: list[Task] = []
    broken = 0
    try:
        while True:
            while len(running) < ahead:
                task = again.pop() if again else next(waiting, None)
                if task is None:
                    break
                running[executor.submit(task[1], *task[2])] = task
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                task = running.pop(future)
                try:
                    result = future.result()
                except BrokenExecutor:
                    again.append(task)
                else:
                    broken = 0
                    yield task[0], result
            if again:
                broken += 1
                if broken > RETRIES:
                    raise SofthatError(
                        "the worker processes keep dying (out of memory?): try fewer with --jobs"
                    )
                again += running.values()
                running.clear()
                executor = renew()
    finally:
        for future in running:
            future.cancel()


def _leashed(work: Callable[..., Any], *arguments: Any) -> Any:
    """Do the work in a process that ends when the process that started it does."""
    _watch_parent()
    return work(*arguments)


@cache
def _watch_parent() -> None:
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _cluster(address: str) -> Iterator[tuple[Executor, int]]:
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("distributed", "dask") from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise SofthatError(f"no Dask scheduler at {address!r}: {error}") from None
    with client:
        cores = sum(client.ncores().values())
        if not cores:
            raise SofthatError(f"the Dask scheduler at {address!r} has no workers: start some")
        yield client.get_executor(pure=False), cores
