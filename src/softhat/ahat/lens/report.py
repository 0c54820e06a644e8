"""All heads of a checkpoint on some texts; one row of one head, opened."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from softhat.ahat.lens.checkpoint import OpenedCheckpoint, TextRun
from softhat.ahat.lens.heads import LensHead, argmax_sets, head_report, softmax
from softhat.io.errors import SofthatError


@dataclass(frozen=True, slots=True)
class LensReport:
    """All heads of a model on some texts."""

    model: str
    texts: int
    tokens: int
    delta: float
    heads: tuple[LensHead, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON data; what is infinite becomes null."""
        data = asdict(self)
        for head in data["heads"]:
            for key, value in head.items():
                if isinstance(value, float) and not math.isfinite(value):
                    head[key] = None
        return data


@dataclass(frozen=True, slots=True)
class Key:
    """One key of an opened row."""

    position: int
    token: str
    score: float
    gap: float  # to the greatest score
    weight: float
    best: bool  # in the argmax set


@dataclass(frozen=True, slots=True)
class OpenedRow:
    """One row of one head: every key it sees, the greatest weights first."""

    layer: int
    head: int
    row: int
    token: str
    keys: tuple[Key, ...]


def look(folder: str | Path, texts: str | Sequence[str], delta: float = 1e-3) -> LensReport:
    """Run a local checkpoint on the texts and look at every head."""
    listed = [texts] if isinstance(texts, str) else list(texts)
    if not listed:
        raise SofthatError("no text to look at: give at least one")
    if not 0 < delta < 1:
        raise SofthatError(f"the leak must lie strictly between 0 and 1, not {delta!r}")
    opened = OpenedCheckpoint(folder)
    return put_together([opened.run(text) for text in listed], delta)


def put_together(runs: Sequence[TextRun], delta: float) -> LensReport:
    """The rows of all texts, head by head."""
    ids = [run.ids for run in runs]
    heads = tuple(
        head_report([run.scores[l][h] for run in runs], ids, l, h, delta)
        for l, layer in enumerate(runs[0].scores)
        for h in range(len(layer))
    )
    return LensReport(runs[0].model, len(runs), sum(map(len, ids)), delta, heads)


def open_row(folder: str | Path, text: str, layer: int, head: int, row: int) -> OpenedRow:
    """One row of one head on a text; all are counted from 0."""
    run = OpenedCheckpoint(folder).run(text)
    sizes = (len(run.scores), len(run.scores[0]), len(run.tokens))
    for what, number, size in zip(("layer", "head", "row"), (layer, head, row), sizes, strict=True):
        if not 0 <= number < size:
            raise SofthatError(
                f"there is no {what} {number}: they are counted from 0 to {size - 1}"
            )
    scores = run.scores[layer][head][row : row + 1]
    weights, best = softmax(scores)[0], argmax_sets(scores)[0]
    top = float(scores.max())
    keys = [
        Key(j, run.tokens[j], float(s), top - float(s), float(weights[j]), bool(best[j]))
        for j, s in enumerate(scores[0])
        if math.isfinite(s)
    ]
    ordered = sorted(keys, key=lambda k: (-k.score, k.position))
    return OpenedRow(layer, head, row, run.tokens[row], tuple(ordered))
