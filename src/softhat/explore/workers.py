"""Compiling for strangers: in processes of their own, with limits on time and memory.

Light work passes heavy work. A request runs in the quick lane first; what is not done there after
a moment is put to sleep, and goes on in the slow lane, a moment at a time, those first that have
run least. So a small formula never waits until a large one is done.

A request that takes too long costs its process, not the server; one that nobody waits for any more
is dropped; one that comes while too many wait is refused at once. Answers to equal requests are
kept.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing.connection import Connection
from typing import Any

SECONDS = 20.0
"""Running time that a request gets: what is typed may be anything."""
NAMED_SECONDS = 180.0
"""The same for what has a name in softhat itself, and so is known to end."""
MOMENT = 1.0
"""Running time in the quick lane, and at a time in the slow one."""
START_SECONDS = 60.0
"""How long a process may take to start; that is no time of the request."""
QUICK_LANE, SLOW_LANE = 2, 1
"""Requests that run at a time in each lane."""
ASLEEP = 8
"""Requests that wait for the slow lane, each with a process and its memory."""
MEMORY = 3 << 30
"""Bytes that a process may take."""
WAITING = 24
"""Requests at a time; more are refused."""
KEPT = 128
"""Answers that are remembered."""
GLANCE = 0.05
"""Seconds between looks whether anybody still waits."""

Answer = tuple[int, bytes]
"""An HTTP status and a JSON document."""


class Workers:
    """A few processes that turn requests into views, one request at a time each."""

    def __init__(self, count: int = QUICK_LANE, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._count = count
        self._quick = _Lane(count)
        self._slow = _Lane(SLOW_LANE)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._idle = [_Worker() for _ in range(count)]
        self._busy: set[_Worker] = set()
        self._waiting = 0
        self._asleep = 0
        self._known: OrderedDict[str, Answer] = OrderedDict()

    def answer(self, request: Mapping[str, Any], gone: threading.Event | None = None) -> Answer:
        """The answer to a request; 503 if too many wait, 504 if it took too long. `gone` is set
        when nobody waits for it any more."""
        key = json.dumps(request, sort_keys=True)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
            if self._waiting >= WAITING:
                return _BUSY
            self._waiting += 1
        try:
            answer = self._run(key, _limit(request, self.seconds), gone or threading.Event())
        except _DroppedError:
            return _said(503, "nobody waits for this any more")
        finally:
            with self._lock:
                self._waiting -= 1
        if answer[0] in (200, 422):
            self._keep(key, answer)
        return answer

    def _keep(self, key: str, answer: Answer) -> None:
        with self._lock:
            self._known[key] = answer
            while len(self._known) > KEPT:
                self._known.popitem(last=False)

    def _run(self, request: str, seconds: float, gone: threading.Event) -> Answer:
        """A request's answer: from the quick lane if a moment there is enough, else from the slow
        one."""
        with self._quick.turn(0.0, lambda: self._check(gone)):
            worker = self._take()
            try:
                self._wait(worker, START_SECONDS, gone)
                worker.send(request)
                done = self._wait(worker, min(MOMENT, seconds), gone)
                if not done and worker.lives:
                    worker.sleep()
            except BaseException:
                self._lose(worker)
                raise
        if done or not worker.lives:
            return self._received(worker, seconds)
        return self._run_slowly(worker, seconds, gone)

    def _run_slowly(self, worker: _Worker, seconds: float, gone: threading.Event) -> Answer:
        """The rest of a request that is asleep, when the slow lane is free."""
        with self._lock:
            refused = self._asleep >= ASLEEP
            self._asleep += not refused
        if refused:
            self._lose(worker)
            return _BUSY
        try:
            self._keep_one_idle()
            used, done = MOMENT, False
            while used < seconds and not done and worker.lives:
                with self._slow.turn(used, lambda: self._check(gone)):
                    worker.wake()
                    done = self._wait(worker, min(MOMENT, seconds - used), gone)
                    if not done:
                        worker.sleep()
                used += MOMENT
        except BaseException:
            self._lose(worker)
            raise
        finally:
            with self._lock:
                self._asleep -= 1
        return self._received(worker, seconds)

    def _received(self, worker: _Worker, seconds: float) -> Answer:
        """What a worker answered; one that has not is lost, and its request with it."""
        answer = worker.receive()
        if answer is None:
            self._lose(worker)
            return _said(504, f"this takes more than {seconds:g} s or too much memory")
        with self._lock:
            self._busy.discard(worker)
            spare = len(self._idle) >= self._count
            if not spare:
                self._idle.append(worker)
        if spare:
            worker.end()
        return answer

    def _wait(self, worker: _Worker, seconds: float, gone: threading.Event) -> bool:
        """Whether an answer comes within some seconds; a dead process gives none."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and worker.lives:
            if worker.has_answered(GLANCE):
                return True
            self._check(gone)
        return False

    def _check(self, gone: threading.Event) -> None:
        if gone.is_set() or self._ended.is_set():
            raise _DroppedError

    def _take(self) -> _Worker:
        with self._lock:
            if self._ended.is_set():
                raise _DroppedError
            worker = self._idle.pop() if self._idle else _Worker()
            self._busy.add(worker)
            return worker

    def _keep_one_idle(self) -> None:
        """A process takes a second to start: begin before it is needed."""
        with self._lock:
            if not self._idle and not self._ended.is_set():
                self._idle.append(_Worker())

    def _lose(self, worker: _Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
        worker.end()
        self._keep_one_idle()

    def end(self) -> None:
        """Stop the processes; whoever waits gets no answer."""
        self._ended.set()
        with self._lock:
            workers = [*self._idle, *self._busy]
            self._idle.clear()
        for worker in workers:
            worker.end()


class _Lane:
    """So many requests run at a time; of those that wait, the one that has run least is next."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int]] = []
        self._numbers = itertools.count()

    @contextmanager
    def turn(self, used: float, check: Callable[[], None]) -> Iterator[None]:
        """A place in the lane, for what has run so many seconds; `check` may give up waiting."""
        with self._changed:
            ticket = (used, next(self._numbers))
            self._waiting.append(ticket)
            try:
                while not self._free or ticket != min(self._waiting):
                    self._changed.wait(GLANCE)
                    check()
            finally:
                self._waiting.remove(ticket)
            self._free -= 1
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()


class _DroppedError(Exception):
    """Nobody waits for the answer."""


class _Worker:
    """One process and the pipe to it."""

    def __init__(self) -> None:
        context = _context()
        self._pipe, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there,), daemon=True)
        self._process.start()
        self._ending = threading.Lock()
        there.close()

    @property
    def lives(self) -> bool:
        return self._process.is_alive()

    def send(self, request: str) -> None:
        """Send a request to a process that has said that it is ready for one."""
        try:
            self._pipe.recv_bytes()
            self._pipe.send_bytes(request.encode())
        except (EOFError, OSError):  # it has died: nothing will come back
            self._process.kill()

    def has_answered(self, seconds: float) -> bool:
        """Whether there is something to receive; a dead process has nothing to say."""
        try:
            return self._pipe.poll(seconds)
        except (EOFError, OSError):
            return False

    def receive(self) -> Answer | None:
        """The answer that has come, or None."""
        try:
            if not self._pipe.poll(0):
                return None
            status = int.from_bytes(self._pipe.recv_bytes(), "big")
            return status, self._pipe.recv_bytes()
        except (EOFError, OSError):
            return None

    def sleep(self) -> None:
        """Stop running, with all that is in memory, until `wake`."""
        self._signal("SIGSTOP")

    def wake(self) -> None:
        """Run on."""
        self._signal("SIGCONT")

    def _signal(self, name: str) -> None:
        if hasattr(signal, name) and self._process.pid is not None:  # Windows has neither
            with suppress(ProcessLookupError):  # it has died: that is seen when it does not answer
                os.kill(self._process.pid, getattr(signal, name))

    def end(self) -> None:
        """Once, though its request and the server's own end may both ask for it."""
        with self._ending:
            if not self._pipe.closed:
                self._process.kill()
                self._process.join()
                self._pipe.close()


@cache
def _context() -> Any:
    """How processes start: where that can be had, as copies of one that has loaded everything."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["softhat.explore.view_cache"])
    return context


def _limit(request: Mapping[str, Any], seconds: float) -> float:
    """The seconds that a request gets."""
    from softhat.explore.requests import is_named

    return max(seconds, NAMED_SECONDS) if is_named(request) else seconds


def _serve(pipe: Connection) -> None:
    """The process's loop: a request, an answer."""
    from softhat.explore.requests import explained
    from softhat.explore.view_cache import cached_view
    from softhat.io.errors import SofthatError

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends its workers
    _limit_memory()
    while True:
        try:
            pipe.send_bytes(b"ready")
            request = json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            return
        try:
            view = cached_view(request)
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
    """An error as the page shows it, beside the field for the formula."""
    return status, json.dumps({"error": message, "field": "text"}).encode()


_BUSY = _said(503, "too many requests at once: try again")
