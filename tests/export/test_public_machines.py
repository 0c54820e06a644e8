"""Machines of a public generator, where it lies on disk (`public_machines` says which)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.export.public_machines import campaign

SOURCE = os.environ.get("SOFTHAT_PUBLIC_MACHINES", "")
needs_generator = pytest.mark.skipif(
    not (Path(SOURCE) / "tm" / "random_tm.py").is_file(),
    reason="SOFTHAT_PUBLIC_MACHINES is not `turingformer` of moritzbroe/transformer-expressivity",
)


@needs_generator
@pytest.mark.full
def test_random_machines_run_without_softhat() -> None:
    told = campaign(Path(SOURCE), count=20, seed=0, target="gpt2", tapes=(1, 3), most=24)
    assert told["right"] == told["runs"] == 40
