"""The workers of a Dask scheduler, asked first whether they have this very softhat.

A worker with another softhat would decide with other code than the one that was called, so it is
refused before anything runs, and a worker that joins later refuses by itself (`checked`).
Whether the scheduler still lives is asked again and again during the work (`alive`), since
nothing that waits for a dead one ever returns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from typing import Any

from softhat.io.errors import SofthatError, extra
from softhat.io.work.source import source_digest

CONNECTING = 10.0
"""Seconds for the scheduler to be there at all: it may have been started just now."""
PATIENCE = 20.0
"""Seconds for the scheduler or a worker to answer."""
_ASK = "__import__('softhat.io.work.source', fromlist=['source_digest']).source_digest()"


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """An executor on the workers of the scheduler at `address`."""
    with extra("distributed", "dask"):
        from distributed import Client
    with _silence("distributed", "tornado", "asyncio"):
        try:
            client = Client(address, timeout=CONNECTING, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise SofthatError(f"no Dask scheduler at {address}: {error}") from None
        try:
            executor = client.get_executor(pure=False)
            greet(executor)
            yield executor
        finally:
            with suppress(Exception):  # the scheduler may be gone
                client.close(timeout=2)


@contextmanager
def _silence(*names: str) -> Iterator[None]:
    """They would print a traceback for each message that a dead scheduler does not answer."""
    known = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in names]
    logs = [logging.getLogger(name) for name in known]
    before = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for log, level in zip(logs, before, strict=True):
            log.setLevel(level)


def is_cluster(executor: Executor) -> bool:
    return _client(executor) is not None


def greet(executor: Executor) -> int:
    """The number of the cluster's cores; an error unless all its workers have this softhat."""
    client = _client(executor)
    try:
        count = sum(client.ncores().values())
        if not count:
            raise SofthatError("the Dask scheduler has no workers: start some with dask worker")
        answers = client.sync(client._run, eval, _ASK, on_error="return", callback_timeout=PATIENCE)
    except (OSError, TimeoutError) as error:
        raise SofthatError(f"the Dask workers do not answer: {error}") from None
    for worker, answer in answers.items():
        if isinstance(answer, ImportError):
            raise SofthatError(
                f"the Dask worker {worker} cannot import softhat ({answer}): install it there"
            )
        if answer != source_digest():
            raise SofthatError(
                f"the Dask worker {worker} has another softhat ({answer}, here "
                f"{source_digest()}): install the same one there"
            )
    return count


def checked(digest: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """What a worker of a cluster does: the work, if it has the softhat that asks for it."""
    if digest != source_digest():
        raise RuntimeError("this worker has another softhat")
    return work(*arguments)


def alive(executor: Executor) -> bool:
    """Can the executor still finish anything? Always so, unless it is a cluster."""
    client = _client(executor)
    if client is None:
        return True
    try:
        return client.status == "running" and bool(
            client.sync(client.scheduler.ncores, callback_timeout=PATIENCE)
        )
    except Exception:  # in whatever way the connection was lost
        return False


def _client(executor: Executor) -> Any:
    """The Dask client behind an executor; None if it is another kind."""
    is_dask = type(executor).__name__ == "ClientExecutor"
    return getattr(executor, "_client", None) if is_dask else None
