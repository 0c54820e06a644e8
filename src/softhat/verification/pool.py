"""Items on many processes or machines: each done at least once, counted exactly once.

Workers get the model as bytes (its folder's JSON and safetensors, never a pickled object) and
keep it for the next item. A worker that dies takes nothing with it: its items are sent again,
to a new pool if the old one broke, and in the end they are done here. Results are keyed by the
number of their item, so an item done twice counts once.
"""

from __future__ import annotations

import io
import os
import signal
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from softhat.folders import contents, load
from softhat.model import Model
from softhat.verification.items import Item, Job, Settings

RETRIES = 3
"""Times that an item is sent again before it is done in this process."""
AHEAD = 128
"""Items handed to an executor of unknown size before the first must be done."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Results = Iterator[tuple[int, dict[str, Any]]]


def pack_model(model: Model) -> bytes:
    """The files of the model's folder, but for the certificate, as one string of bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents(model).items():
            # A fixed date: equal models give equal bytes, which identify them.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def run_item(packed: bytes, settings: dict[str, Any], item: tuple[Any, ...]) -> dict[str, Any]:
    """What a worker does."""
    return _job(packed, tuple(sorted(settings.items()))).run(Item(*item))


@lru_cache(maxsize=2)
def _job(packed: bytes, settings: tuple[tuple[str, Any], ...]) -> Job:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model"
        place.mkdir()
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            for name in archive.namelist():
                (place / Path(name).name).write_bytes(archive.read(name))
        return Job(load(place), Settings(**dict(settings)))


def run_here(job: Job, items: Sequence[tuple[int, Item]]) -> Results:
    """One item after another, in this process."""
    for number, item in items:
        yield number, job.run(item)


def run_on(
    executor: Executor,
    job: Job,
    items: Sequence[tuple[int, Item]],
    renew: Callable[[], Executor] | None = None,
) -> Results:
    """Items on an executor, in any order. `renew` gives a new executor when one broke."""
    packed, settings = pack_model(job.model), asdict(job.settings)
    waiting = list(reversed(items))
    tries: dict[int, int] = {}
    running: dict[Future[dict[str, Any]], tuple[int, Item]] = {}
    size = getattr(executor, "_max_workers", None)
    ahead = 2 * size + 2 if isinstance(size, int) else AHEAD

    def submit(number: int, item: Item) -> bool:
        try:
            running[executor.submit(run_item, packed, settings, tuple(item))] = (number, item)
        except (RuntimeError, OSError):  # broken or shut down
            waiting.append((number, item))
            return False
        return True

    try:
        while waiting or running:
            broken = False
            while waiting and len(running) < ahead and not broken:
                broken = not submit(*waiting.pop())
            done, _ = wait(running, return_when=FIRST_COMPLETED) if running else (set(), set())
            for future in done:
                number, item = running.pop(future)
                try:
                    result = future.result()
                except (Exception, CancelledError):
                    # The worker is gone, or the item fails by itself: then it fails here too.
                    tries[number] = tries.get(number, 0) + 1
                    broken |= renew is not None
                    if tries[number] > RETRIES:
                        yield number, job.run(item)
                    else:
                        waiting.append((number, item))
                else:
                    yield number, result
            if broken and not running:
                if renew is None:
                    yield from run_here(job, waiting[::-1])
                    return
                executor = renew()
    finally:
        for future in running:
            future.cancel()


class _Pool(ProcessPoolExecutor):
    """A pool whose workers never see Ctrl-C, which the process that started them handles.

    A pool starts its workers one by one, as items are submitted, and a worker loads for a
    while before it could ignore anything: so Ctrl-C is blocked around every start, which the
    worker inherits, and comes to this process right after.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with _interrupts_blocked():
            return super().submit(fn, *args, **kwargs)


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
        pools.append(_Pool(count, get_context("spawn")))
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
