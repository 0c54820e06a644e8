"""How often Python looks for cycles of objects, to free them.

Large formulas, and proofs about them, are many objects and no cycles: looking after every 700 new
ones took a third of the time of a certificate.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

OBJECTS = 500_000
"""New objects after which Python looks for cycles, where it looks rarely. With a fifth of it the
linear runtime's proof of 10,000 counting operators took a tenth of its time to look."""


class _Asked:
    """How many ask for it now, and what held before the first of them."""

    def __init__(self) -> None:
        self.lock, self.count, self.before = Lock(), 0, gc.get_threshold()


_ASKED = _Asked()


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Python looks for cycles rarely inside, and as before once the last one is through, in
    whatever threads they are."""
    with _ASKED.lock:
        _ASKED.count += 1
        if _ASKED.count == 1:
            _ASKED.before = gc.get_threshold()
            often, *rest = _ASKED.before
            gc.set_threshold(often and max(often, OBJECTS), *rest)  # 0 says never
    try:
        yield
    finally:
        with _ASKED.lock:
            _ASKED.count -= 1
            if not _ASKED.count:
                gc.set_threshold(*_ASKED.before)
