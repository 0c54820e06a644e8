"""Marks, against values worked out by hand, and methods that are found out."""

from __future__ import annotations

from pathlib import Path

import pytest

from softhat.circuits.exam.making import listed
from softhat.circuits.exam.marking import (
    KINDS,
    MEASURES,
    RECALLS,
    mark_folder,
    mark_prediction,
    verdict,
)
from softhat.circuits.exam.methods import METHODS, sabotaged
from softhat.circuits.exam.page import page
from softhat.circuits.exam.running import run_method
from softhat.circuits.exam.subject import Subject, read_subject
from softhat.circuits.graph import possible_edges
from softhat.io.errors import SofthatError
from tests.slices import sizes


def ranked(subject: Subject, order: str) -> dict[str, float]:
    """Scores by which true (t) and false (f) edges come in this order, then all others at 0."""
    constant = {e.name for e in subject.circuit.edges if e.carries == "constant"}
    true = [e.name for e in subject.circuit.edges if e.carries == "input"]
    false = [
        name
        for name in possible_edges(subject.circuit.config)
        if name not in constant and name not in true
    ]
    return {
        (true if letter == "t" else false).pop(0): float(len(order) - at)
        for at, letter in enumerate(order)
    }


def test_measures_by_hand(paper: Path) -> None:
    subject = read_subject(paper, "star-free-1.llama")
    total = sum(e.carries == "input" for e in subject.circuit.edges)
    mark = mark_prediction(subject, ranked(subject, "tf" + "t" * (total - 1)))
    assert mark.measures["R-precision"] == pytest.approx((total - 1) / total)
    ap = (1 + sum(k / (k + 1) for k in range(2, total + 1))) / total
    assert mark.measures["AP"] == pytest.approx(ap)
    perfect = mark_prediction(subject, ranked(subject, "t" * total))
    assert set(perfect.measures.values()) == {1.0} and set(perfect.curve) == {1.0}


def test_equal_scores_are_no_order(paper: Path) -> None:
    subject = read_subject(paper, "star-free-1.llama")
    every = possible_edges(subject.circuit.config)
    mark = mark_prediction(subject, dict.fromkeys(every, 1.0))
    constant = sum(e.carries == "constant" for e in subject.circuit.edges)
    share = (len(subject.circuit.edges) - constant) / (len(every) - constant)
    assert mark.flat and mark.measures["AUROC"] == 0.5
    assert mark.measures["AP"] == pytest.approx(share)
    assert mark.measures["R-precision"] == pytest.approx(share)


def test_other_weights_are_refused(paper: Path) -> None:
    subject = read_subject(paper, "star-free-1.llama")
    with pytest.raises(SofthatError, match="other weights"):
        mark_prediction(subject, {"weights": "0", "scores": {}})
    with pytest.raises(SofthatError, match="no edge"):
        mark_prediction(subject, {"nobody->logits": 1.0})


def test_sabotage_is_found_out(paper: Path) -> None:
    asked = {id: read_subject(paper, id).question for id in listed(paper)}
    said = {}
    for how in ("random", "everything", "reversed", None):
        marks = []
        for id in listed(paper):
            for seed in range(3):
                subject = read_subject(paper, id, seed)
                scores = METHODS["true"].run(subject, None)
                if how is not None:
                    scores = sabotaged(scores, how, seed)
                marks.append(mark_prediction(subject, {"scores": scores}))
        said[how] = verdict(marks, asked)
    assert said == {
        "random": "no better than chance",
        "everything": "says the same of every edge",
        "reversed": "upside down",
        None: "sound",
    }


@pytest.mark.parametrize("names", sizes(["true", "atp"], ["true", "atp", "path-patching"]))
def test_runs_again_give_the_same_table(paper: Path, tmp_path: Path, names: list[str]) -> None:
    pytest.importorskip("torch")
    quiet = lambda what, done, total: None  # noqa: E731
    for place in ("one", "two"):
        for name in names:
            run_method(paper, tmp_path / place, name, seeds=(0, 1), jobs=1)
    tables = [mark_folder(paper, tmp_path / place, quiet) for place in ("one", "two")]
    for table in tables:
        for method in table["methods"].values():
            del method["seconds"]
    assert tables[0] == tables[1]
    assert list(tables[0]["methods"]) == names
    _, new, total = run_method(paper, tmp_path / "one", "atp", seeds=(0, 1), jobs=1)
    assert (new, total) == (0, 2 * len(listed(paper)))
    for method in tables[0]["methods"].values():
        method["seconds"] = 0.0
    shown = page(tables[0])
    assert shown.count("<polyline") == len(names)
    assert "src=" not in shown and "href=" not in shown
    assert "AtP on edges" in shown and "into keys" in shown


def test_the_page_says_nothing_of_what_it_does_not_know() -> None:
    """A kind of edge that no model has is no failure, one task gives no interval, and the code of
    a method that softhat does not know is not softhat's."""
    told = {
        "title": "mine",
        "version": "",
        "own code": None,
        "verdict": "sound",
        "overall": dict.fromkeys(MEASURES, (0.5, 0.5, 0.5)),
        "models": 1,
        "seeds": 1,
        "seconds": 0.0,
        "curve": [0.5] * len(RECALLS),
        "found, by kind": {kind: (1, 2) if at else (0, 0) for at, kind in enumerate(KINDS)},
        "by dress": {},
        "by family": {},
        "by level": {},
    }
    paper = {"version": 1, "questions": 1, "digest": "0" * 64}
    shown = page(
        {
            "paper": paper,
            "weights": "0" * 64,
            "methods": {"mine": told, "same": told},
            "directions": {},
        }
    )
    assert "softhat's own" not in shown and "0.50–0.50" not in shown
    assert "0.00" not in shown and "<td>–</td>" in shown
    assert shown.count('stroke-dasharray="8 8"') == 2  # the second lies on the first
