"""A Dask cluster that lacks workers, has others, or goes away: an answer, and no hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from softhat.io.errors import SofthatError
from softhat.io.work import cluster, run
from tests.io.work.test_run import EXPECTED, TASKS
from tests.slices import every

pytest.importorskip("distributed")


def slow(x: int) -> int:
    time.sleep(0.1)
    return x * x


@contextmanager
def started(workers: int, before: str = "") -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers in processes of their own; `before` runs in each worker."""
    everything: list[subprocess.Popen[bytes]] = []

    def start(code: str, *arguments: str) -> None:
        environment = {**os.environ, "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
        everything.append(
            subprocess.Popen(
                [sys.executable, "-c", code, *arguments],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    folder = Path(os.environ.get("TMPDIR", "/tmp"))
    file = folder / f"softhat-scheduler-{os.getpid()}-{time.time_ns()}.json"
    try:
        scheduler = "from distributed.cli.dask_scheduler import main; main()"
        start(scheduler, "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        worker = f"{before}\nfrom distributed.cli.dask_worker import main; main()"
        for _ in range(workers):
            start(worker, "--scheduler-file", str(file), "--no-nanny", "--no-dashboard")
        from distributed import Client

        for _ in range(600):
            if file.exists():
                break
            time.sleep(0.1)
        with Client(scheduler_file=str(file), timeout=60, set_as_default=False) as client:
            address = client.scheduler.address
            if workers:
                client.wait_for_workers(workers, timeout=60)
        yield address, everything
    finally:
        for process in everything:
            process.kill()
            process.wait()
        file.unlink(missing_ok=True)


@pytest.mark.filterwarnings("ignore")
def test_no_workers() -> None:
    with (
        started(0) as (address, _),
        pytest.raises(SofthatError, match="has no workers"),
        cluster(address),
    ):
        pass


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("import sys; sys.modules['softhat'] = None", "cannot import softhat"),
        ("import softhat.io.work.source as s; s.source_digest = lambda: 'old'", "another softhat"),
    ],
)
def test_workers_with_no_or_another_softhat(before: str, message: str) -> None:
    with (
        started(1, before) as (address, _),
        pytest.raises(SofthatError, match=message),
        cluster(address),
    ):
        pass


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("who", every(2, ["scheduler", "workers"]))
def test_a_cluster_that_goes_away(who: str) -> None:
    with started(2) as (address, everything), cluster(address) as executor:
        assert dict(run(TASKS, executor)) == EXPECTED
        found = {}
        tasks = [(k, slow, (k,)) for k in range(40)]
        for k, result in run(tasks, executor):
            found[k] = result
            if len(found) == 3:
                for process in everything[:1] if who == "scheduler" else everything[1:]:
                    process.send_signal(signal.SIGKILL)
        assert found == {k: k * k for k in range(40)}
