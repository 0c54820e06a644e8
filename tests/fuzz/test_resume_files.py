"""Damaged and invented states of a verification: refused, or it runs."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.fuzz.mutations import damage_file
from tests.fuzz.running import call, cases

ARGUMENTS = [
    "verify", "a S (b & Y a)", "--alphabet", "ab", "--exhaustive", "3", "--random", "4",
    "--adversarial", "1", "--max-length", "12", "-j", "1", "--json",
]  # fmt: skip


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, int]:
    path = tmp_path_factory.mktemp("state") / "state.json"
    done = call(*ARGUMENTS, "--resume", str(path))
    return path.read_bytes(), json.loads(done.out)["words"]


@pytest.mark.parametrize("seeds", cases(3))
def test_damaged_states(seeds: list[int], state: tuple[bytes, int], tmp_path: Path) -> None:
    data, words = state
    for seed in seeds:
        rng = random.Random(seed)
        path = tmp_path / f"{seed}.json"
        path.write_bytes(data)
        damage_file(path, rng)
        done = call(*ARGUMENTS, "--resume", str(path))
        if done.code == 0:  # nothing was invented: all that was asked for was done
            assert json.loads(done.out)["words"] == words and json.loads(done.out)["ok"]
        else:
            assert done.code == 2
