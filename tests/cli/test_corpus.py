"""`softhat corpus` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import softhat


def test_writes_a_corpus_and_says_so_in_json(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = str(tmp_path / "c")
    done = softhat("corpus", "--count", "5", "-j", "1", "-o", folder, "--family", "past", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["models"] == 5
    assert done.err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--family", "odd"], "unknown family 'odd'"),
        (["--alphabet", "abcdefghi"], "too many to compare"),
        (["-j", "-1"], "--jobs is a number of processes"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = softhat("corpus", "-o", str(tmp_path / "c"), *arguments)
    assert done.code == 2
    assert message in done.err and done.err.count("\n") == 1


def test_one_model_is_extracted(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    corpus, model = str(tmp_path / "c"), str(tmp_path / "m")
    made = softhat("corpus", "--count", "3", "-j", "1", "-o", corpus, "--family", "past")
    assert made.code == 0, made.err
    done = softhat("corpus", "extract", corpus, "2", "-o", model)
    assert done.code == 0, done.err
    assert softhat("certify", model).code == 0
    for wrong in (["extract", corpus, "3"], ["extract", "x"], ["take", corpus, "1"]):
        done = softhat("corpus", *wrong, "-o", str(tmp_path / "n"))
        assert done.code == 2 and done.err.count("\n") == 1
    assert softhat("circuit", corpus, "--id", "0").code == 0
    done = softhat("circuit", corpus)
    assert done.code == 2 and "--id" in done.err
    done = softhat("certify", corpus)
    assert done.code == 2 and "softhat corpus extract" in done.err
