"""`--predicates FILE` wherever a formula is taken."""

import json
from pathlib import Path

import pytest

from tests.cli.run import softhat


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "predicates.txt"
    path.write_text("// numerical predicates\np: 0110(01)\nt: 0101 1100\n")
    return str(path)


def test_eval_and_check(file: str) -> None:
    done = softhat("eval", "at(p) & a", "aaaaaa", "--predicates", file, "--json")
    truth = [False, True, True, False, False, True]
    assert json.loads(done.out)[0]["truth"] == truth
    done = softhat("check", "at(p) S a", "--predicates", file)
    assert "fragment     pure past with predicates" in done.out
    done = softhat("eval", "at(t)", "a" * 9, "--predicates", file)
    assert done.code == 2
    assert "'t' is a table of 8 positions, and the word has 9" in done.err
    assert "'p' is unknown" in softhat("check", "at(p)").err  # the file of another call is gone
    assert "at(prime)" in softhat("check", "at(prime)").out


def test_decisions(file: str) -> None:
    assert (
        softhat("equivalent", "at(p) | i < 5", "mod(2, 0) | i < 5", "--predicates", file).code == 0
    )
    done = softhat("satisfiable", "at(p) & !mod(2, 0)", "--predicates", file)
    assert (done.code, done.out) == (0, "aaa\n")


def test_models(file: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "model")
    done = softhat("compile", "at(t) S a", "--alphabet", "ab", "--predicates", file, "-o", folder)
    assert done.code == 0
    assert json.loads(softhat("run", folder, "abbb", "--json").out)[0]["truth"] == [
        True,
        True,
        False,
        False,
    ]
    assert softhat("run", folder, "a" * 9).code == 2
    assert softhat("verify", folder, "--exhaustive", "9", "--random", "10").code == 0
    assert "the table of at(t) ends" in softhat("certify", folder).out
    assert softhat("certify", "at(p) S a", "--predicates", file, "--alphabet", "ab").code == 0


def test_bad_files(tmp_path: Path) -> None:
    assert softhat("check", "at(p)", "--predicates", str(tmp_path / "none")).code == 2
    bad = tmp_path / "bad.txt"
    bad.write_text("p = 01")
    done = softhat("check", "at(p)", "--predicates", str(bad))
    assert done.code == 2
    assert "line 1: expected `name: bits`" in done.err
    bad.write_text("p: 012")
    assert "'p' must be bits" in softhat("check", "at(p)", "--predicates", str(bad)).err
    bad.write_text("// all\np: 1\nnothing")
    assert (
        "line 3: expected `name: bits`" in softhat("check", "at(p)", "--predicates", str(bad)).err
    )
    bad.write_text("p: 1 // ones\np: 0")
    assert "line 2: the predicate 'p' stands there twice" in (
        softhat("check", "at(p)", "--predicates", str(bad)).err
    )
