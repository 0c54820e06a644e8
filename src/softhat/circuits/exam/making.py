"""A paper on disk: one folder for each question, and a table of all.

    README.md                 the card; `datasets.load_dataset` reads the table
    paper.json                version, questions' digest, digests of all weights
    questions.jsonl           a line a question: task, dress, sizes, true edges
    models/ID/                a checkpoint with tokenizer, labels and certificate, which every tool
                              opens
    truth/ID/circuit.json     the truth: edges, with a witness each
    truth/ID/pairs.json       words to work with, for three seeds
    truth/ID/question.json    what is asked; written last

All of it is a function of the question alone: a run that was interrupted goes on where it was, and
ends with the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from softhat.circuits.exam.pairs import make_pairs
from softhat.circuits.exam.paper import Question, digest
from softhat.circuits.exam.soft import soft_twin
from softhat.circuits.graph import possible_edges
from softhat.circuits.stock import circuit_of_folder
from softhat.circuits.stock_network import StockNetwork
from softhat.export.gpt2.to_gpt2 import gpt2_files
from softhat.export.llama.to_llama import to_llama
from softhat.export.stock.options import StockOptions
from softhat.io.errors import SofthatError
from softhat.io.files import (
    as_path,
    is_file,
    json_bytes,
    locked,
    make_folder,
    read_bytes,
    read_json,
    write_file,
    write_folder,
)
from softhat.io.work.progress import Progress, unseen
from softhat.io.work.run import run, workers
from softhat.logic.syntax.parse import parse
from softhat.models.compiler import compile as compile_formula
from softhat.models.model import Model

FORMAT = "softhat-exam/1"
WORDS = 128
"""Pairs on which the edges of a circuit are judged."""


def make_paper(
    folder: Path,
    version: int,
    chosen: Sequence[Question],
    jobs: int = 0,
    progress: Progress = unseen,
) -> dict[str, Any]:
    """Write the questions that are missing, then the table; what `paper.json` says."""
    make_folder(folder)
    with workers(jobs) as renew, locked(folder, patience=0):
        _settle(folder, version, chosen)
        make_folder(folder / "models")
        missing = [q for q in chosen if not _is_whole(folder, q)]
        done = len(chosen) - len(missing)
        progress("questions", done, len(chosen))
        tasks = ((k, question_files, (q,)) for k, q in enumerate(missing))
        for k, (files, known) in run(tasks, renew=renew):
            write_question(folder, missing[k].id, files, known)
            done += 1
            progress("questions", done, len(chosen))
        return _write_tables(folder, version, chosen)


def write_question(
    folder: Path, id: str, files: Mapping[str, bytes], known: Mapping[str, bytes]
) -> None:
    """The model's folder, then what is known of it."""
    write_folder(folder / "models" / id, files)
    make_folder(folder / "truth" / id)
    for name, data in known.items():
        write_file(folder / "truth" / id / name, data, own=True)


def question_files(question: Question) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files of the model, and those of what is known of it, by name."""
    task = question.task
    formula = parse(task.formula, alphabet=task.alphabet)
    model = compile_formula(formula, task.alphabet)
    assert isinstance(model, Model)
    asked = question.to_json()
    files = _exported(model, question)
    if question.dress.soft:
        files, attention, gates = soft_twin(files, question.dress.context)
        heads = {
            f"a{layer}.h{head}": float(f"{share:.6g}") for (layer, head), share in attention.items()
        }
        asked["softness"] = {"heads": heads, "gates": gates}
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        for name, data in files.items():
            (place / name).write_bytes(data)
        circuit = circuit_of_folder(place, words=WORDS)
        pairs = make_pairs(StockNetwork(place), circuit, formula, task.seed)
    asked["weights"] = hashlib.sha256(files["model.safetensors"]).hexdigest()
    asked["certified"] = json.loads(files["certificate.json"])["max_length"]
    return files, {
        "circuit.json": json_bytes(_rounded(circuit.to_json())),
        "pairs.json": json_bytes(pairs),
        "question.json": json_bytes(asked),
    }


def _exported(model: Model, question: Question) -> dict[str, bytes]:
    dress, task = question.dress, question.task
    disguise = task.seed if dress.disguised else None
    if dress.architecture == "gpt2":
        options = StockOptions(dress.context, disguise=disguise)
        return gpt2_files(model, options, dress.activation)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "m"
        to_llama(model, place, dress.context, disguise=disguise)
        return {path.name: path.read_bytes() for path in place.iterdir()}


def _rounded(document: Any) -> Any:
    """Numbers to five digits: the last ones depend on the number of threads."""
    match document:
        case float():
            return float(f"{document:.5g}")
        case dict():
            return {key: _rounded(value) for key, value in document.items()}
        case list() | tuple():
            return [_rounded(value) for value in document]
    return document


def _is_whole(folder: Path, question: Question) -> bool:
    """Is the question there, and are its weights those it was made with?"""
    weights_file = folder / "models" / question.id / "model.safetensors"
    question_file = folder / "truth" / question.id / "question.json"
    if not is_file(question_file) or not is_file(weights_file):
        return False
    asked = read_json(question_file)
    weights = hashlib.sha256(read_bytes(weights_file)).hexdigest()
    same = all(asked.get(key) == value for key, value in _plain(question.to_json()).items())
    return same and asked["weights"] == weights


def _plain(document: Mapping[str, Any]) -> dict[str, Any]:
    """The value as JSON has it: lists for tuples."""
    plain: dict[str, Any] = json.loads(json_bytes(document))
    return plain


def _settle(folder: Path, version: int, chosen: Sequence[Question]) -> None:
    """Begin a paper, or go on with the same one."""
    begun = {path.name for path in folder.iterdir()}
    if not is_file(folder / "paper.json"):
        if not all(name.startswith(".") for name in begun):
            raise SofthatError(f"{folder} exists and is not a paper: choose another folder")
        document = {"format": FORMAT, "version": version, "digest": digest(chosen)}
        write_file(folder / "paper.json", json_bytes(document), own=True)
        return
    known = read_paper(folder)
    if known["digest"] != digest(chosen):
        raise SofthatError(f"{folder} is a paper with other questions: choose another folder")


def is_paper(folder: str | Path) -> bool:
    """Is it the folder of a paper?"""
    return is_file(as_path(folder) / "paper.json")


def read_paper(folder: Path) -> dict[str, Any]:
    """What `paper.json` says."""
    if not is_file(folder / "paper.json"):
        raise SofthatError(f"{folder} is not a paper: softhat exam make -o DIR writes one")
    known: dict[str, Any] = read_json(folder / "paper.json")
    if known.get("format") != FORMAT:
        raise SofthatError(f"{folder} has format {known.get('format')!r}, expected {FORMAT!r}")
    return known


def listed(folder: Path) -> list[str]:
    """The ids of a paper on disk, in its order."""
    known = read_paper(folder)
    if "weights" not in known:
        raise SofthatError(f"{folder} is not finished: run softhat exam make again")
    return list(known["weights"])


def _write_tables(folder: Path, version: int, chosen: Sequence[Question]) -> dict[str, Any]:
    rows = [_row(folder, question) for question in chosen]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_file(folder / "questions.jsonl", lines.encode(), own=True)
    write_file(folder / "README.md", _card(rows).encode(), own=True)
    document = {
        "format": FORMAT,
        "version": version,
        "digest": digest(chosen),
        "weights": {row["id"]: row["weights"] for row in rows},
    }
    write_file(folder / "paper.json", json_bytes(document), own=True)
    return document


def _row(folder: Path, question: Question) -> dict[str, Any]:
    place = folder / "truth" / question.id
    asked, circuit = (read_json(place / f"{name}.json") for name in ("question", "circuit"))
    names = ("id", "name", "family", "level", "dress", "alphabet", "formula", "weights")
    config = circuit["config"]
    return {
        **{name: asked[name] for name in names},
        "folder": f"models/{question.id}",
        **{name: config[name] for name in ("n_layers", "n_heads", "d_model")},
        "n_key_value_heads": config.get("n_key_value_heads", config["n_heads"]),
        "possible": len(possible_edges(config)),
        "edges": [edge["name"] for edge in circuit["edges"] if edge["carries"] == "input"],
        "constants": [edge["name"] for edge in circuit["edges"] if edge["carries"] != "input"],
        "certified_float32": asked["certified"]["float32"],
        "pairs": json.dumps(read_json(place / "pairs.json")["seeds"][0]),
    }


def _card(rows: Sequence[Mapping[str, Any]]) -> str:
    return f"""\
---
pretty_name: An exam for methods that look for circuits
license: apache-2.0
configs:
- config_name: default
  data_files:
  - split: test
    path: questions.jsonl
---

# An exam for methods that look for circuits

{len(rows)} stock transformers, compiled by softhat, whose circuits are known and whose answers are
proved to the length `certified_float32`. `models/ID` is a checkpoint with its tokenizer, which
`transformers` opens; the table has a row a model:

```python
from datasets import load_dataset
from transformers import AutoModelForTokenClassification, AutoTokenizer

row = load_dataset(".", split="test")[0]
model = AutoModelForTokenClassification.from_pretrained(row["folder"])
tokenizer = AutoTokenizer.from_pretrained(row["folder"])
```

`edges` are the true edges, `constants` those that carry the same on all words of a length: they are
neither right nor wrong. `pairs` (JSON) are clean and corrupt words with the position of the answer.
A prediction is a file ID.json with a score for each edge; `softhat exam mark DIR` marks a folder of
them.
"""
