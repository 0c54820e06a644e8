"""`softhat prove`: verdicts, exit codes, options."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.run import softhat as run
from tests.trained import tiny

MODELS = Path(__file__).resolve().parent.parent / "trained" / "models"


def test_a_proof_and_its_specification() -> None:
    done = run("prove", str(MODELS / "dyck2"), "--max-length", "14", "--json")
    assert done.code == 0 and json.loads(done.out)["status"] == "proved"
    same = ["--regex", "(a(ab)*b)*", "--alphabet", "ab", "--max-length", "8"]
    done = run("prove", str(MODELS / "dyck2"), *same)
    assert done.code == 0 and "8 of 8 symbols" in done.out


def test_a_refutation(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(json.dumps(tiny.AB))
    options = ["--spec", str(tmp_path / "spec.json"), "--max-length", "6", "--json"]
    done = run("prove", str(tiny.model(tmp_path / "m", 1)), *options)
    document = json.loads(done.out)
    assert done.code == 1 and document["status"] == "refuted"
    assert document["broken_by"]["logit"] is not None


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    folder = str(tiny.model(tmp_path / "m"))
    for options, said in (
        ([folder], "--spec"),
        ([folder, "--regex", "a", "--formula", "a"], "one of"),
        ([folder, "--regex", "a", "--offset", "x"], "--offset"),
        ([str(tmp_path / "none"), "--regex", "a"], "not a folder"),
        ([folder, "--regex", "a", "--dtype", "float16"], "float16"),
    ):
        done = run("prove", *options)
        assert done.code == 2 and said in done.err and done.err.count("\n") == 1
