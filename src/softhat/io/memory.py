"""Freed memory stays with the process, so that the next array of that size costs no page faults.

The runtimes make arrays of a few hundred kilobytes and free them, over and over. The C library of
most Linux systems gives memory back to the system as soon as a little of it is free, and then each
new array is paid for page by page: four times the processor time of the computation itself. It
gives back less once it has seen a large block freed, so one is allocated (not touched) and freed.
"""

from __future__ import annotations

import os
from functools import cache

import numpy as np

LARGEST = 31 << 20
"""The C library learns nothing from blocks of 32 MB and more."""
TRIM, BY_ITSELF = -1, -3
"""What `mallopt` calls the free memory from which some is given back, and the size from which a
block is allocated by itself."""


@cache
def hold_freed_memory() -> None:
    """Let the C library see a large block freed; once a process is enough."""
    np.empty(LARGEST, np.uint8)


@cache
def hold_freed_memory_in_a_worker() -> None:
    """The same where MALLOC_TRIM_THRESHOLD_ says otherwise, as it does in Dask's workers: there the
    C library does not learn, and has to be told."""
    hold_freed_memory()
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return
    import ctypes

    try:
        tell = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return
    tell(BY_ITSELF, LARGEST)
    tell(TRIM, 2 * LARGEST)
