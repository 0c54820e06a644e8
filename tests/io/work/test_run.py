"""Tasks: each result once, whoever dies; and nobody outlives the process that was called."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from softhat.io.errors import SofthatError
from softhat.io.work import processes, run, workers
from softhat.io.work.source import source_digest


def square(x: int) -> int:
    return x * x


def die_once(marker: str, x: int) -> int:
    """Kill the worker the first time it is called."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return x * x
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def refuse(x: int) -> int:
    raise SofthatError(f"{x} is bad")


TASKS = [(k, square, (k,)) for k in range(50)]
EXPECTED = {k: k * k for k in range(50)}


def test_here_and_on_threads() -> None:
    assert dict(run(TASKS)) == EXPECTED
    with ThreadPoolExecutor(3) as threads:
        assert dict(run(iter(TASKS), threads)) == EXPECTED


def test_a_worker_that_dies_changes_nothing(tmp_path: Path) -> None:
    tasks = [(k, die_once, (str(tmp_path / str(k % 3)), k)) for k in range(12)]
    with processes(2) as renew:
        found = list(run(tasks, renew=renew))
    assert sorted(found) == [(k, k * k) for k in range(12)]


class _Shut(Executor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise RuntimeError("cannot schedule new futures after shutdown")


def test_a_broken_executor_without_another() -> None:
    assert dict(run(TASKS, _Shut())) == EXPECTED


def test_bad_input_is_not_tried_again() -> None:
    with ThreadPoolExecutor(1) as threads, pytest.raises(SofthatError, match="0 is bad"):
        list(run([(0, refuse, (0,))], threads))


def test_jobs() -> None:
    with pytest.raises(SofthatError, match="--jobs"), workers(-1):
        pass
    with workers(1) as renew:
        assert renew is None


def test_the_digest_is_that_of_the_source(tmp_path: Path) -> None:
    assert source_digest() == source_digest()
    code = "from softhat.io.work.source import source_digest; print(source_digest())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == source_digest()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(text) for text in found.stdout.split()]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_end_with_a_run_that_is_killed() -> None:
    """kill -9 of `verify -j 2` leaves nobody behind."""
    command = [
        sys.executable, "-c", "from softhat.cli import main; main()",
        "verify", "a S b", "--alphabet", "abcdef", "--max-words", "100000000", "-j", "2",
    ]  # fmt: skip
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    children: list[int] = []
    for _ in range(600):
        children = _children(started.pid)
        if len(children) >= 3:  # two workers and their resource tracker
            break
        time.sleep(0.1)
    time.sleep(1)
    started.kill()
    started.wait()
    for _ in range(200):
        if not any(map(_alive, children)):
            break
        time.sleep(0.1)
    left = [pid for pid in children if _alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert len(children) >= 3 and not left
