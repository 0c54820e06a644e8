"""Damaged files of AHATs: refused, or analysed and simulated."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.mutations import damage_file, damage_json
from tests.fuzz.running import call, cases

EXAMPLES = sorted(
    (Path(__file__).resolve().parent.parent.parent / "examples" / "ahat").glob("*.json")
)


@pytest.mark.parametrize("seeds", cases(2))
def test_damaged_files(seeds: list[int], tmp_path: Path) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        path = tmp_path / f"{seed}.json"
        path.write_bytes(rng.choice(EXAMPLES).read_bytes())
        for _ in range(rng.choice((1, 1, 2))):
            if not path.is_file():
                break
            (damage_json if rng.random() < 0.8 else damage_file)(path, rng)
        out = str(tmp_path / f"{seed}")
        match rng.randrange(4):
            case 0:
                call("run", str(path), "abab", "ba")
            case 1:
                call("simulate", str(path), "--max-length", "3", "-o", out)
            case 2:
                call("trace", str(path), "ab")
            case _:
                call("analyze", str(path), "--up-to", "3", "--json")
