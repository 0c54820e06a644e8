"""`softhat radius`: numbers, copies, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.run import softhat as run
from tests.trained import tiny

MODEL = Path(__file__).resolve().parent.parent / "trained" / "models" / "nonempty"


def test_a_radius_and_a_copy() -> None:
    options = ["--max-length", "4", "--copy", str(MODEL), "--json"]
    done = run("radius", str(MODEL), *options)
    document = json.loads(done.out)
    assert done.code == 0 and document["radius"] > 1e-4 and document["max_length"] == 4
    assert document["moved"] == 0 and document["copy_proved"] is True


def test_a_copy_too_far_away(tmp_path: Path) -> None:
    other = str(MODEL.parent / "nonempty-early")
    done = run("radius", str(MODEL), "--max-length", "3", "--copy", other)
    assert done.code == 1 and "not proved" in done.out


def test_no_radius_and_mistakes(tmp_path: Path) -> None:
    folder = str(tiny.model(tmp_path / "m", 1))
    done = run("radius", folder, "--regex", "a*", "--alphabet", "ab", "--max-length", "3")
    assert done.code == 1 and "no change is borne" in done.out
    for options, said in (
        ([folder], "--spec"),
        ([folder, "--regex", "a", "--kind", "x"], "kind is one of"),
        ([folder, "--regex", "a", "--copy", str(tmp_path / "none")], "not a folder"),
        ([folder, "--regex", "a", "--budget", "0"], "budget"),
    ):
        done = run("radius", *options)
        assert done.code == 2 and said in done.err and done.err.count("\n") == 1
