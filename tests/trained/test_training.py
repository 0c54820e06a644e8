"""Models that this project trained: what is proved of them, and that a seed gives them again.

`models/dyck2`: `train(spec, context=42, steps=1500)`; `models/once`: `train(spec, context=34,
steps=600)`; `models/nonempty`: `train(spec, width=8, context=26, steps=700)`, and `-early` with
150 steps; one layer, one head, seed 0, with the specifications beside them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.trained.checkpoint import read_checkpoint
from softhat.trained.one_layer import OneLayer, cells_to
from softhat.trained.question import TrainedQuestion
from softhat.trained.replay import Replay
from softhat.trained.rounding import rounding_of
from softhat.trained.specification import FAR, read_specification
from softhat.trained.training import train
from tests.slices import every

MODELS = Path(__file__).resolve().parent / "models"


@pytest.mark.parametrize(
    ("name", "length"), every(3, [("nonempty", 24), ("once", 32), ("dyck2", 40)])
)
def test_proved_to_the_context(name: str, length: int) -> None:
    verdict = softhat.prove(MODELS / name, MODELS / name / "spec.json", budget=24)
    assert (verdict.status, verdict.proved_to) == ("proved", length)
    assert verdict.least_margin is not None and verdict.least_found is not None
    assert 0 < verdict.least_margin <= verdict.least_found


def test_broken_early() -> None:
    name = MODELS / "nonempty-early"
    verdict = softhat.prove(name, name / "spec.json", budget=12)
    assert verdict.status == "refuted" and verdict.broken_by is not None
    assert verdict.proved_to < verdict.broken_by.length


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_margins_of_random_words_are_above_the_proved_ones(attention: str) -> None:
    """Cell by cell: no word of it, in float32 by `transformers`, is below the cell's bound."""
    pytest.importorskip("transformers")
    folder = MODELS / "dyck2"
    model, spec = read_checkpoint(folder), read_specification(folder / "spec.json")
    question = TrainedQuestion(model, spec, 0, 40, "completable", rounding_of("float32"))
    prover = OneLayer(question)
    cells = [cell for cell in cells_to(question) if cell.read in (5, 20, 38)]
    bounds = {
        (outcome.cell.read, outcome.cell.last, outcome.cell.states[0]): outcome.margin
        for outcome in prover.prove(cells, np.inf, lambda: FAR)
        if outcome.proved
    }
    random, replay, seen = np.random.default_rng(0), Replay(model, attention=attention), 0
    words = []
    for _ in range(60):
        state, word = spec.start, []
        for _ in range(40):
            word.append(int(random.choice(np.flatnonzero(spec.step[state] >= 0))))
            state = int(spec.step[state, word[-1]])
        words.append(word)
    for size in (1, 7, 52):
        batch, words = words[:size], words[size:]
        logits = replay.logits([[spec.bos, *(spec.ids[k] for k in word)] for word in batch])
        for word, rows in zip(batch, logits, strict=True):
            states = spec.run(word)
            for read in (5, 20, 38):
                key = (read, word[read - 1], states[read])
                if key in bounds:
                    margin = prover.decisions.margins(rows[read], np.asarray(states[read]))
                    assert margin >= bounds[key]
                    seen += 1
    assert seen > 50


def test_a_seed_gives_the_same_model(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    spec = softhat.spec("a", alphabet="ab")
    for name in ("one", "two"):
        train(spec, tmp_path / name, width=4, context=8, steps=5, seed=3)
    read = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two")]
    assert read[0] == read[1]
    assert read_specification(tmp_path / "one" / "spec.json").to_json() == spec.to_json()
