"""Marks: predictions against the truth, by method, dress, family, level and kind of edge.

Measures, each between 0 and 1, edges that carry constants left out:

    AUROC         the chance that a true edge scores higher than a false one
    AP            average precision, over the order that the scores give
    R-precision   of the highest scores, as many as there are true edges: the share that is true

Equal scores are no order: they count as their expectation. An interval is of 95 %, by bootstrap
over tasks (a task in several dresses counts as one draw) and over seeds.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softhat.circuits.exam.making import listed, read_paper
from softhat.circuits.exam.methods import METHODS
from softhat.circuits.exam.subject import Subject, read_subject
from softhat.circuits.graph import possible_edges
from softhat.circuits.score import score
from softhat.io.errors import SofthatError
from softhat.io.files import is_file, read_json

FORMAT = "softhat-exam-results/1"
MEASURES = ("AUROC", "AP", "R-precision")
KINDS = {
    "q": "into queries",
    "k": "into keys",
    "v": "into values",
    "m": "into feed-forwards",
    "logits": "into logits",
}
RECALLS = tuple(k / 20 for k in range(1, 21))
DRAWS = 1000
SURE = 0.999
"""How sure the marks are before they say that a method is better than chance."""


@dataclass(frozen=True)
class Mark:
    """One prediction, marked."""

    id: str
    seed: int
    measures: Mapping[str, float]
    kinds: Mapping[str, tuple[float, int]]
    """Of each kind of true edges: how many are among the highest scores, and how many there are."""
    curve: tuple[float, ...]
    """Precision at each of the RECALLS."""
    flat: bool
    """Has every edge the same score?"""
    seconds: float


def mark_prediction(subject: Subject, prediction: Mapping[str, Any]) -> Mark:
    """Compare one prediction with the truth. It is what softhat exam run writes, or whatever
    `softhat.score` takes: edges, scores by edge, an EAP graph."""
    stated = prediction.get("weights")
    if stated not in (None, subject.question["weights"]):
        raise SofthatError(f"a prediction for {subject.id} is for other weights: run it again")
    scores = given_scores(subject, prediction.get("scores", prediction))
    circuit = subject.circuit
    constant = {edge.name for edge in circuit.edges if edge.carries == "constant"}
    true = {edge.name for edge in circuit.edges} - constant
    names = [name for name in possible_edges(circuit.config) if name not in constant]
    values = np.array([scores[name] for name in names])
    is_true = np.array([name in true for name in names])
    chance = _chosen(values, len(true))
    precision, recall = _curve(values, is_true)
    curve = tuple(float(precision[recall >= level - 1e-9].max(initial=0.0)) for level in RECALLS)
    steps = np.diff(np.concatenate([[0.0], recall]))
    kinds: dict[str, tuple[float, int]] = {}
    for name, share, own in zip(names, chance.tolist(), is_true.tolist(), strict=True):
        if own:
            hits, total = kinds.get(kind_of(name), (0.0, 0))
            kinds[kind_of(name)] = (hits + share, total + 1)
    measures = {
        "AUROC": score(circuit, scores).auroc,
        "AP": float((steps * precision).sum()),
        "R-precision": float(chance[is_true].sum() / max(1, len(true))),
    }
    flat = bool((values == values[0]).all())
    seconds = float(prediction.get("seconds", 0.0))
    return Mark(subject.id, subject.seed, measures, kinds, curve, flat, seconds)


def given_scores(subject: Subject, predicted: Any) -> dict[str, float]:
    """A score for each possible edge; edges that are not named are the least."""
    graph = predicted.get("edges") if isinstance(predicted, Mapping) else None
    if isinstance(graph, Mapping):
        named = {name: edge.get("score", edge.get("in_graph")) for name, edge in graph.items()}
    elif isinstance(predicted, Mapping):
        named = dict(predicted)
    else:
        named = dict.fromkeys(predicted, 1.0)
    score(subject.circuit, named)  # refuses names and values that mean nothing
    least = min([0.0, *named.values()])
    given = {}
    for name in possible_edges(subject.circuit.config):
        given[name] = float(named.get(name, named.get(name.partition("<")[0], least)))
    return given


def kind_of(edge: str) -> str:
    """Into what the edge goes: a key of KINDS."""
    target = edge.partition("->")[2]
    if "<" in target:
        return target[-2]
    return "m" if target.startswith("m") else target


def _chosen(values: Any, count: int) -> Any:
    """The chance of each to be among the `count` highest, if equal ones are drawn."""
    chance = np.zeros(len(values))
    left = count
    for level in sorted(set(values.tolist()), reverse=True):
        tied = values == level
        share = min(1.0, left / int(tied.sum()))
        chance[tied] = share
        left -= int(tied.sum())
        if left <= 0:
            break
    return chance


def _curve(values: Any, is_true: Any) -> tuple[Any, Any]:
    """Precision and recall of the edges from each score up."""
    levels = np.array(sorted(set(values.tolist()), reverse=True))
    inside = values[None] >= levels[:, None]
    hits = (inside & is_true).sum(axis=1)
    return hits / inside.sum(axis=1), hits / max(1, int(is_true.sum()))


def mark_folder(
    paper: Path, predictions: Path, progress: Callable[[str, int, int], None]
) -> dict[str, Any]:
    """The results of all methods in a folder of predictions, as data."""
    files = _files(paper, predictions)
    marks: dict[str, list[Mark]] = {}
    versions: dict[str, str] = {}
    for done, (method, seed, id, file) in enumerate(files):
        prediction = read_json(file)
        if isinstance(prediction, Mapping):
            versions.setdefault(method, str(prediction.get("version", "")))
        else:
            prediction = {"scores": prediction}
        marks.setdefault(method, []).append(
            mark_prediction(read_subject(paper, id, seed), prediction)
        )
        progress("marks", done + 1, len(files))
    known = read_paper(paper)
    asked = {id: read_subject(paper, id).question for id in listed(paper)}
    return {
        "format": FORMAT,
        "paper": {"version": known["version"], "digest": known["digest"], "questions": len(asked)},
        "weights": hashlib.sha256("".join(known["weights"].values()).encode()).hexdigest(),
        "methods": {
            name: summary(name, given, asked, versions.get(name, ""))
            for name, given in _ordered(marks).items()
        },
    }


def _ordered(marks: dict[str, list[Mark]]) -> dict[str, list[Mark]]:
    order = list(METHODS)
    return dict(
        sorted(
            marks.items(),
            key=lambda entry: (
                order.index(entry[0]) if entry[0] in order else len(order),
                entry[0],
            ),
        )
    )


def _files(paper: Path, predictions: Path) -> list[tuple[str, int, str, Path]]:
    """(method, seed, id, file): METHOD/SEED/ID.json, METHOD/ID.json or ID.json."""
    ids = set(listed(paper))
    files = []
    for file in sorted(predictions.rglob("*.json")) if predictions.is_dir() else []:
        if file.stem not in ids or not is_file(file):
            continue
        parts = file.relative_to(predictions).parts[:-1]
        seed = int(parts[-1]) if parts and parts[-1].isdecimal() else 0
        named = [part for part in parts if not part.isdecimal()]
        files.append((named[0] if named else predictions.name, seed, file.stem, file))
    if not files:
        raise SofthatError(f"{predictions} has no predictions: files ID.json, or METHOD/ID.json")
    return files


def summary(
    name: str, marks: Sequence[Mark], asked: Mapping[str, Any], version: str
) -> dict[str, Any]:
    """What is said of a method."""
    method = METHODS.get(name)
    return {
        "title": method.title if method is not None else name,
        "own code": method.own_code if method is not None else None,
        "version": version,
        "models": len({mark.id for mark in marks}),
        "seeds": len({mark.seed for mark in marks}),
        "seconds": round(sum(mark.seconds for mark in marks), 1),
        "verdict": verdict(marks, asked),
        "overall": {m: interval(marks, asked, m) for m in MEASURES},
        **{
            f"by {what}": {
                str(value): interval([x for x in marks if asked[x.id][what] == value], asked)
                for value in sorted({asked[mark.id][what] for mark in marks})
            }
            for what in ("dress", "family", "level")
        },
        "found, by kind": {
            kind: [
                round(sum(mark.kinds.get(kind, (0, 0))[0] for mark in marks), 3),
                sum(mark.kinds.get(kind, (0, 0))[1] for mark in marks),
            ]
            for kind in KINDS
        },
        "curve": [round(float(x), 4) for x in np.mean([mark.curve for mark in marks], axis=0)],
    }


def interval(
    marks: Sequence[Mark], asked: Mapping[str, Any], measure: str = "AUROC", sure: float = 0.95
) -> list[float]:
    """[mean, low, high] of a measure."""
    by_task: dict[str, list[float]] = {}
    for mark in marks:
        by_task.setdefault(str(asked[mark.id]["name"]), []).append(mark.measures[measure])
    groups = [np.array(values) for values in by_task.values()]
    rng = np.random.default_rng(0)
    means = []
    for _ in range(DRAWS):
        chosen = rng.integers(0, len(groups), len(groups))
        drawn = [rng.choice(groups[at], len(groups[at])) for at in chosen]
        means.append(float(np.concatenate(drawn).mean()))
    tail = (1 - sure) / 2
    low, high = np.quantile(means, [tail, 1 - tail]).tolist()
    mean = float(np.concatenate(groups).mean())
    return [round(value, 4) for value in (mean, low, high)]


def verdict(marks: Sequence[Mark], asked: Mapping[str, Any]) -> str:
    """Is there anything in the scores? Found out: the same for every edge, the opposite of what is
    true, or no better than chance."""
    if sum(mark.flat for mark in marks) > len(marks) / 2:
        return "says the same of every edge"
    _, low, high = interval(marks, asked, sure=SURE)
    if high < 0.5:
        return "upside down"
    if low <= 0.5 or math.isnan(low):
        return "no better than chance"
    return "sound"
