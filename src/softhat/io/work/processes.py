"""A pool of worker processes on this machine, which end when the process that started them does."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def cores() -> int:
    """How many processes can run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def processes(count: int) -> Iterator[Callable[[], Executor]]:
    """Pools of worker processes with one thread each; calling gives a new pool.

    Workers are spawned, so that they read the numbers of threads from the environment before
    NumPy is loaded.
    """
    before = {name: os.environ.get(name) for name in THREADS}
    pools: list[_Pool] = []

    def renew() -> Executor:
        if pools:
            pools[-1].shutdown(wait=False, cancel_futures=True)
        pools.append(_Pool(count, get_context("spawn"), initializer=_follow_parent))
        return pools[-1]

    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield renew
    finally:
        for pool in pools:
            pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class _Pool(ProcessPoolExecutor):
    """A pool whose workers never see Ctrl-C, which the process that started them handles.

    A pool starts its workers one by one, as items are submitted, and a worker loads for a
    while before it could ignore anything: so Ctrl-C is blocked around every start, which the
    worker inherits, and comes to this process right after.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with _interrupts_blocked():
            return super().submit(fn, *args, **kwargs)


def _follow_parent() -> None:
    """Let this worker end with its parent, however that ends: `kill -9` tells nobody."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: Any) -> None:
    parent.join()  # waits on a pipe that the system closes when the parent dies
    os._exit(1)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
