"""A paper on disk: the same bytes however it was made, and complete."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.circuits.exam.making import listed, make_paper, read_paper
from softhat.circuits.exam.paper import questions
from softhat.circuits.exam.subject import read_subject
from softhat.circuits.graph import Circuit
from softhat.io.errors import SofthatError
from tests.circuits.exam.conftest import IDS


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def test_what_is_missing_or_damaged_is_made_again(paper: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    shutil.copytree(paper, again)
    shutil.rmtree(again / "models" / "star-free-1.llama")
    weights = again / "models" / "induction-1.gpt2" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"1234")
    asked = questions(1, IDS)
    with pytest.raises(SofthatError, match="did not write"):
        make_paper(again, 1, asked, jobs=1)  # what is not ours is not replaced
    shutil.rmtree(weights.parent)
    make_paper(again, 1, asked, jobs=1)
    assert contents(again) == contents(paper)


def test_other_questions_need_another_folder(paper: Path, tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match="other questions"):
        make_paper(paper, 1, questions(1, ["level-5"]), jobs=1)
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(SofthatError, match="not a paper"):
        make_paper(tmp_path, 1, questions(1, ["level-5"]), jobs=1)
    with pytest.raises(SofthatError, match="not a paper"):
        read_paper(tmp_path)


def test_a_row_for_each_folder(paper: Path) -> None:
    rows = [json.loads(line) for line in (paper / "questions.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == listed(paper)
    for row in rows:
        subject = read_subject(paper, row["id"])
        assert row["edges"] == [e.name for e in subject.circuit.edges if e.carries == "input"]
        assert row["certified_float32"] == subject.network.longest
        assert (paper / row["folder"] / "tokenizer.json").is_file()


def test_circuits_are_read_as_they_were_written(paper: Path) -> None:
    for id in listed(paper):
        circuit = read_subject(paper, id).circuit
        document = json.loads(json.dumps(circuit.to_json()))
        assert Circuit.from_json(document) == circuit
        assert document == json.loads((paper / "truth" / id / "circuit.json").read_text())


def test_pairs_have_the_formulas_answers(paper: Path) -> None:
    """By the definition of the formula, not by the model."""
    for id in listed(paper):
        subject = read_subject(paper, id, seed=1)
        formula = softhat.parse(subject.question["formula"])
        pairs = json.loads((subject.truth / "pairs.json").read_text())["seeds"][1]
        assert len(pairs) > 20
        for pair in pairs:
            truth = formula.truth(pair["clean"].split(" "))
            assert bool(truth[pair["position"]]) == pair["answer"]
        _, margins = subject.network.run(subject.pairs.clean)
        own = margins[np.arange(len(pairs)), subject.pairs.position, 0]
        assert ((own > 0) == subject.pairs.answer).all()


def test_a_question_in_the_tools_and_the_table_in_datasets(paper: Path, tmp_path: Path) -> None:
    """`softhat.lens.load(paper, id)`, and the table as `datasets` reads it."""
    torch = pytest.importorskip("torch")
    datasets = pytest.importorskip("datasets")
    subject = read_subject(paper, "star-free-1.llama")
    bridge = softhat.lens.load(paper, "star-free-1.llama", dtype="float64")
    with torch.no_grad():
        logits = bridge(subject.tokens[0])
    assert torch.allclose(logits, subject.hooked(subject.tokens[0]), atol=1e-4)
    rows = datasets.load_dataset(
        "json", data_files=str(paper / "questions.jsonl"), split="train", cache_dir=str(tmp_path)
    )
    assert rows["id"][:] == listed(paper)
