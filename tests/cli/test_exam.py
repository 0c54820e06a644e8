"""`softhat exam`, from the paper to the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import softhat

pytest.importorskip("transformer_lens")
ONE = ("--only", "n-gram-1.gpt2-disguised")


def test_from_the_paper_to_the_page(tmp_path: Path) -> None:
    paper, predictions, results = (str(tmp_path / name) for name in ("paper", "said", "results"))
    made = softhat("exam", "make", "-o", paper, *ONE, "-j", "1", "--json")
    assert made.code == 0 and json.loads(made.out)["questions"] == 1, made.err
    places = ("--paper", paper, "-o", predictions, "-j", "1", "--json")
    for sabotage in ((), ("--sabotage", "reversed")):
        run = softhat("exam", "run", "path-patching", *places, *sabotage)
        assert run.code == 0 and json.loads(run.out)["new"] == 1, run.err
    marked = softhat("exam", "mark", predictions, "--paper", paper, "-o", results)
    assert marked.code == 0, marked.err
    assert "upside down" in marked.out and "sound" in marked.out
    stored = json.loads((tmp_path / "results" / "results.json").read_text())
    assert stored["methods"]["path-patching"]["overall"]["AUROC"] == [1.0, 1.0, 1.0]
    assert "</html>" in (tmp_path / "results" / "results.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sit"], "expected one of list, make, run, mark, golden"),
        (["make"], "say where: softhat exam make"),
        (["make", "-o", "p", "--only", "x"], "no question, family, level or dress 'x'"),
        (["run", "-o", "p"], "say which method"),
        (["run", "eap", "-o", "p", "--paper", "nowhere"], "is not a paper"),
        (["mark", "nowhere", "--paper", "nowhere"], "is not a paper"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = softhat("exam", *arguments)
    assert done.code == 2
    assert message in done.err and done.err.count("\n") == 1


def test_lists_questions_and_methods() -> None:
    listed = json.loads(softhat("exam", "list", "--json").out)
    assert len(listed["questions"]) == 180
    assert sum(method["own code"] for method in listed["methods"].values()) >= 10
