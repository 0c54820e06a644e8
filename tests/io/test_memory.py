"""Arrays that are freed and made again cost no page faults, in workers neither."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import numpy as np
from softhat.io import memory
getattr(memory, sys.argv[1])()
def churn():
    for _ in range(50):
        sum((np.ones(1 << 16) for _ in range(3)), np.zeros(1 << 16))
churn()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
churn()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="page faults of Linux")
@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("hold_freed_memory", {}),
        ("hold_freed_memory_in_a_worker", {"MALLOC_TRIM_THRESHOLD_": "65536"}),
    ],
)
def test_no_page_faults(how: str, told: dict[str, str]) -> None:
    command = [sys.executable, "-c", SCRIPT, how]
    found = subprocess.run(
        command, env={**os.environ, **told}, capture_output=True, text=True, check=True
    )
    # 128 pages an array, 200 arrays, if each were given back; a busy machine takes some away.
    assert int(found.stdout) < 5_000
