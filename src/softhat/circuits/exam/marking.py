"""Marks: predictions against the truth, by method, dress, family, level and kind of edge.

Measures, each between 0 and 1, edges that carry constants left out:

    AUROC         the chance that a true edge scores higher than a false one
    AP            average precision, over the order that the scores give
    R-precision   of the highest scores, as many as there are true edges: the share that is true

Equal scores are no order: they count as their expectation. Predictions of directions have marks of
their own (`matching`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softhat.circuits.exam.directions import Features
from softhat.circuits.exam.intervals import SURE, interval
from softhat.circuits.exam.making import listed, read_paper
from softhat.circuits.exam.matching import (
    DIRECTION_MEASURES,
    DirectionMark,
    direction_verdict,
    mark_features,
)
from softhat.circuits.exam.methods import METHODS
from softhat.circuits.exam.subject import Subject, read_subject
from softhat.circuits.graph import ends_of, possible_edges
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
    _same_weights(subject, prediction)
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


def mark_directions(subject: Subject, prediction: Mapping[str, Any]) -> DirectionMark:
    """Compare one prediction of directions with what the model stores."""
    _same_weights(subject, prediction)
    if not subject.is_disguised:
        raise SofthatError(f"{subject.id} is not disguised: its directions are the axes")
    features = Features.from_json(prediction["features"], subject.network.d_model)
    return mark_features(subject, features, float(prediction.get("seconds", 0.0)))


def _same_weights(subject: Subject, prediction: Mapping[str, Any]) -> None:
    if prediction.get("weights") not in (None, subject.question["weights"]):
        raise SofthatError(f"a prediction for {subject.id} is for other weights: run it again")


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
    _, target, slot = ends_of(edge)
    return slot or ("m" if target.startswith("m") else target)


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
    direction_marks: dict[str, list[DirectionMark]] = {}
    versions: dict[str, str] = {}
    for done, (method, seed, id, file) in enumerate(files):
        prediction = read_json(file)
        if isinstance(prediction, Mapping):
            versions.setdefault(method, str(prediction.get("version", "")))
        else:
            prediction = {"scores": prediction}
        subject = read_subject(paper, id, seed)
        if "features" in prediction:
            direction_marks.setdefault(method, []).append(mark_directions(subject, prediction))
        else:
            marks.setdefault(method, []).append(mark_prediction(subject, prediction))
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
        "directions": {
            name: direction_summary(name, given, asked, versions.get(name, ""))
            for name, given in _ordered(direction_marks).items()
        },
    }


def _ordered(marks: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
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
    return {
        **_about(name, marks, version),
        "verdict": verdict(marks, asked),
        "overall": {m: interval(marks, asked, m) for m in MEASURES},
        **{
            f"by {what}": {
                str(value): interval(
                    [x for x in marks if asked[x.id][what] == value], asked, "AUROC"
                )
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


def direction_summary(
    name: str, marks: Sequence[DirectionMark], asked: Mapping[str, Any], version: str
) -> dict[str, Any]:
    """What is said of a method that predicts directions."""
    return {
        **_about(name, marks, version),
        "levels": sorted({asked[mark.id]["level"] for mark in marks}),
        "verdict": direction_verdict(marks, asked),
        "overall": {m: interval(marks, asked, m) for m in DIRECTION_MEASURES},
        "by dress": {
            dress: {
                m: interval([x for x in marks if asked[x.id]["dress"] == dress], asked, m)
                for m in DIRECTION_MEASURES
            }
            for dress in sorted({asked[mark.id]["dress"] for mark in marks})
        },
    }


def _about(name: str, marks: Sequence[Mark | DirectionMark], version: str) -> dict[str, Any]:
    method = METHODS.get(name)
    return {
        "title": method.title if method is not None else name,
        "own code": method.own_code if method is not None else None,
        "version": version,
        "models": len({mark.id for mark in marks}),
        "seeds": len({mark.seed for mark in marks}),
        "seconds": round(sum(mark.seconds for mark in marks), 1),
    }


def verdict(marks: Sequence[Mark], asked: Mapping[str, Any]) -> str:
    """Is there anything in the scores? Found out: the same for every edge, the opposite of what is
    true, or no better than chance."""
    if sum(mark.flat for mark in marks) > len(marks) / 2:
        return "says the same of every edge"
    _, low, high = interval(marks, asked, "AUROC", sure=SURE)
    if high < 0.5:
        return "upside down"
    if low <= 0.5 or math.isnan(low):
        return "no better than chance"
    return "sound"
