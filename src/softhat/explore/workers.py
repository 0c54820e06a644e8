"""Compiling for strangers: in processes of their own, with limits on time and memory.

A request that takes too long costs its process, not the server; a request that comes while too
many wait is refused at once. Answers to equal requests are kept.
"""

from __future__ import annotations

import json
import multiprocessing
import threading
from collections import OrderedDict
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

SECONDS = 8.0
MEMORY = 3 << 30
WAITING = 24
KEPT = 128

Answer = tuple[int, bytes]
"""An HTTP status and a JSON document."""


class Workers:
    """A few processes that turn requests into views, one request at a time each."""

    def __init__(self, count: int = 2, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._idle = [_Worker() for _ in range(count)]
        self._free = threading.Semaphore(count)
        self._lock = threading.Lock()
        self._waiting = 0
        self._known: OrderedDict[str, Answer] = OrderedDict()

    def answer(self, request: Mapping[str, Any]) -> Answer:
        """The answer to a request; 503 if too many wait, 504 if it took too long."""
        key = json.dumps(request, sort_keys=True)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
            if self._waiting >= WAITING:
                return _said(503, "too many requests at once: try again")
            self._waiting += 1
        try:
            with self._free:
                found = self._ask(key)
        finally:
            with self._lock:
                self._waiting -= 1
        if found[0] in (200, 422):
            with self._lock:
                self._known[key] = found
                while len(self._known) > KEPT:
                    self._known.popitem(last=False)
        return found

    def _ask(self, key: str) -> Answer:
        with self._lock:
            worker = self._idle.pop()
        try:
            found = worker.ask(key, self.seconds)
            if found is None:
                worker.end()
                worker = _Worker()
                return _said(504, f"this takes more than {self.seconds:g} s or too much memory")
            return found
        finally:
            with self._lock:
                self._idle.append(worker)

    def end(self) -> None:
        """Stop the processes."""
        for worker in self._idle:
            worker.end()


class _Worker:
    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.here, there = context.Pipe()
        self.process = context.Process(target=_serve, args=(there,), daemon=True)
        self.process.start()
        there.close()

    def ask(self, request: str, seconds: float) -> Answer | None:
        """The answer, or None if none came in time."""
        try:
            self.here.send_bytes(request.encode())
            if not self.here.poll(seconds):
                return None
            status = int.from_bytes(self.here.recv_bytes(), "big")
            return status, self.here.recv_bytes()
        except (EOFError, OSError):
            return None

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.here.close()


def _serve(pipe: Connection) -> None:
    """The process's loop: a request, an answer."""
    import signal

    from softhat.errors import SofthatError
    from softhat.explore.requests import explained, view_of

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends its workers
    _limit_memory()
    while True:
        try:
            request = json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            return
        try:
            view = view_of(request)
            answer = 200, json.dumps(view, allow_nan=False, separators=(",", ":")).encode()
        except SofthatError as error:
            answer = 422, json.dumps(explained(error)).encode()
        except (MemoryError, RecursionError):
            answer = _said(422, "the input is too large for the page")
        pipe.send_bytes(answer[0].to_bytes(2, "big"))
        pipe.send_bytes(answer[1])


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _said(status: int, message: str) -> Answer:
    return status, json.dumps({"error": message}).encode()
