"""One hostile call of the command line, in this process, with a time limit."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Outcome, softhat

SECONDS = 10
"""Of this process: the machines are shared."""
ASLEEP = 60
"""Seconds of the clock, most of them without work: it waits for something that does not come."""
SLICE, WHOLE = 60, 10_000
"""Cases of each of the five fuzzers, in `make test` and in `make test-full`."""


def cases(seed: int, count: int = SLICE, whole: int = WHOLE) -> list[Any]:
    """Seeds of a slice, and those that only run at full size."""
    rng = random.Random(seed)
    seeds = [rng.getrandbits(32) for _ in range(whole)]
    step = 20
    parts = [seeds[k : k + step] for k in range(0, whole, step)]
    few = max(1, count // step)
    return [
        *(pytest.param(part, id=str(k)) for k, part in enumerate(parts[:few])),
        *(
            pytest.param(part, id=str(k), marks=pytest.mark.full)
            for k, part in enumerate(parts[few:], start=few)
        ),
    ]


class HangError(BaseException):
    """It took too long. Not an Exception, which the command line would catch."""


@contextmanager
def limited(what: object) -> Iterator[None]:
    def ring(number: int, _: object) -> None:
        limit = SECONDS if number == signal.SIGPROF else ASLEEP
        raise HangError(f"longer than {limit} s: {what!r}")

    timers = ((signal.ITIMER_PROF, signal.SIGPROF), (signal.ITIMER_REAL, signal.SIGALRM))
    before = [signal.signal(number, ring) for _, number in timers]
    for (timer, _), seconds in zip(timers, (SECONDS, ASLEEP), strict=True):
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (timer, number), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def call(*arguments: str, stdin: str = "") -> Outcome:
    """`softhat ARGUMENTS`, which may be refused but not fail."""
    with limited(arguments):
        done = softhat(*arguments, stdin=stdin)
    shown = f"{arguments!r}\n{done.err[-2000:]}"
    assert done.code in (0, 1, 2), shown
    assert "Traceback" not in done.err and "internal error" not in done.err, shown
    assert (done.out + done.err).replace("\n", "").isprintable(), shown
    if done.code == 2:
        assert "error: " in done.err, shown
    return done


def copy(source: Path, target: Path) -> Path:
    """A folder with the same files."""
    target.mkdir()
    for path in source.iterdir():  # of our own making, and small
        (target / path.name).write_bytes(path.read_bytes())
    return target
