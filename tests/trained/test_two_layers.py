"""Two layers: what is proved, against all short words in `transformers`.

`models/two-dyck2`: `train(spec, layers=2, context=34, steps=900)`; `models/two-ends`: `train(spec,
layers=2, width=8, context=34, steps=400)`; seed 0, with the specifications beside them.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.trained.checkpoint import Checkpoint, read_checkpoint
from softhat.trained.one_layer import cells_to
from softhat.trained.question import TrainedQuestion
from softhat.trained.refinement import refined
from softhat.trained.replay import Replay
from softhat.trained.rounding import rounding_of
from softhat.trained.specification import FAR, Specification, read_specification
from softhat.trained.two_layers import TwoLayers
from tests.slices import every
from tests.trained import tiny

MODELS = Path(__file__).resolve().parent / "models"


def bounds_of(
    model: Checkpoint, spec: Specification, most: int, memory: int, counts: bool
) -> dict[tuple[int, int, int], float]:
    """Lower bounds of the margins of each cell that is proved."""
    finer = refined(spec, memory, counts, most)
    question = TrainedQuestion(model, spec, 0, most, "all", rounding_of("float32"))
    prover = TwoLayers(question, finer)
    return {
        (outcome.cell.read, outcome.cell.last, state): outcome.margin
        for outcome in prover.prove(cells_to(question), np.inf, lambda: FAR)
        if outcome.proved
        for state in outcome.cell.states
    }


def random_model(tmp_path: Path, seed: int, counts: bool) -> None:
    """The specification allows what the model says after one word of each state, so that some
    cells are proved; none of their words is below the bound."""
    folder = tiny.model(tmp_path / "m", seed, 2, scale=0.25)
    model = read_checkpoint(folder)
    row = Replay(model).logits([[2, 0, 1]])[0]
    named = {0: "a", 1: "b", 3: "<eos>"}
    says = [[named[k] for k in (0, 1, 3) if row[at][k] > 0] for at in (1, 2)]
    spec = read_specification(
        {**tiny.AB, "next": {"q0": {"a": "q1", "b": "q0"}, "q1": {"a": "q1", "b": "q0"}},
         "allowed": {"q0": says[1], "q1": says[0]}}
    )  # fmt: skip
    bounds = bounds_of(model, spec, 5, 1 + seed % 2, counts)
    words = list(product(range(2), repeat=5))
    seen = 0
    for attention in ("eager", "sdpa"):
        logits = Replay(model, attention=attention).logits(
            [[spec.bos, *(spec.ids[k] for k in word)] for word in words]
        )
        for word, rows in zip(words, logits, strict=True):
            states = spec.run(word)
            for read in range(1, 6):
                bound = bounds.get((read, word[read - 1], states[read]))
                if bound is not None:
                    allowed = spec.allowed[states[read]]
                    signs = [1 if k in allowed else -1 for k in range(4)]
                    assert min(s * x for s, x in zip(signs, rows[read], strict=True)) >= bound
                    seen += 1
    assert seen > 0 or not bounds


@pytest.mark.parametrize(("seed", "counts"), [(1, False), (2, True)])
def test_random_models(tmp_path: Path, seed: int, counts: bool) -> None:
    pytest.importorskip("transformers")
    random_model(tmp_path, seed, counts)


@pytest.mark.full
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("seed", range(3, 40))
def test_many_random_models(tmp_path: Path, seed: int, counts: bool) -> None:
    pytest.importorskip("transformers")
    random_model(tmp_path, seed, counts)


@pytest.mark.parametrize(
    ("name", "method"), every(2, [("two-ends", "abstraction"), ("two-dyck2", "enumeration")])
)
def test_proved_to_the_context(name: str, method: str) -> None:
    """Words of brackets that are two deep are few enough to be walked, all of them."""
    folder = MODELS / name
    verdict = softhat.prove(folder, folder / "spec.json", budget=40)
    assert (verdict.status, verdict.proved_to) == ("proved", 32)
    assert verdict.method[32] == method
    assert verdict.least_margin is not None and verdict.least_found is not None
    assert 0 < verdict.least_margin <= verdict.least_found


def test_the_first_layer_averages_over_everything() -> None:
    """Of `two-dyck2`: no position has more than a few times its share of the attention."""
    pytest.importorskip("transformers")
    import torch

    model = read_checkpoint(MODELS / "two-dyck2")
    stock = Replay(model, attention="eager").model
    ids = torch.tensor([[2, *([0, 0, 1, 1] * 7)], [2, *([0, 1] * 14)]])
    with torch.no_grad():
        first = stock(input_ids=ids, output_attentions=True).attentions[0]
    assert float(first[:, :, -1].max()) < 2 / 29
