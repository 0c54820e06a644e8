"""kill -9 at every file-system event of a piece of work.

The work runs in a forked child, in which Python's audit hooks see every opening, renaming,
linking and removing before it is done. At the k-th of them below a given folder the child kills
itself, as `kill -9` would: no handler runs, nothing is flushed.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

EVENTS = {
    "open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod",
    "os.truncate", "shutil.rmtree", "fcntl.flock", "os.listdir", "os.scandir",
}  # fmt: skip


def die_at(k: int, root: Path) -> None:
    """Let this process kill itself at the k-th event below `root`, counted from 0."""
    left = k

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if not _counts(event, arguments, root):
            return
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    sys.addaudithook(hook)


def events(root: Path, work: Callable[[], object]) -> int:
    """How many events there are below `root`; the work is done in a child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        count = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal count
            count += _counts(event, arguments, root)

        try:
            sys.addaudithook(hook)
            work()
            os.write(writer, str(count).encode())
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as file:
        return int(file.read())


def killed_at(k: int, root: Path, work: Callable[[], object]) -> bool:
    """Do the work in a child that dies at event k; False if there were not so many events."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        try:
            die_at(k, root)
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the work failed by itself"
    return False


def _counts(event: str, arguments: tuple[Any, ...], root: Path) -> bool:
    if event not in EVENTS:
        return False
    return event == "fcntl.flock" or any(_below(item, root) for item in arguments[:2])


def _below(item: object, root: Path) -> bool:
    if not isinstance(item, str | bytes | os.PathLike):
        return False
    return os.fsdecode(item).startswith((str(root), ".softhat"))
