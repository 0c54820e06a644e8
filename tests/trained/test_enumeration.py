"""All prefixes, against `transformers` prefix by prefix."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from softhat.trained.checkpoint import read_checkpoint
from softhat.trained.decisions import Decisions
from softhat.trained.enumeration import Enumeration, OutOfTimeError
from softhat.trained.question import TrainedQuestion
from softhat.trained.replay import Replay
from softhat.trained.rounding import rounding_of
from softhat.trained.specification import read_specification
from tests.trained import tiny


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("domain", ["completable", "all"])
def test_margins_and_failures(tmp_path: Path, layers: int, domain: str) -> None:
    pytest.importorskip("transformers")
    model = read_checkpoint(tiny.model(tmp_path / "m", layers, layers, scale=0.3))
    spec = read_specification(tiny.AB)
    tree = Enumeration(TrainedQuestion(model, spec, 1, 6, domain, rounding_of("float32")))
    seen = tree.walk(6, np.inf, np.inf)
    replay, decisions = Replay(model), Decisions(spec, model.outputs)
    failures, least, count = set(), np.inf, 0
    for n in range(7):
        for word in product(range(2), repeat=n):
            run = spec.run(word)
            if len(run) <= n or spec.length(run[-1], n, domain) > 6:
                continue
            count += 1
            ids = [spec.bos, *(spec.ids[k] for k in word)]
            margin = decisions.margins(replay.logits([ids], 1)[0, -1], np.asarray(run[-1]))
            least = min(least, float(margin))
            if margin <= 0:
                failures.add(word)
    assert seen.walked == count and seen.whole
    assert abs(seen.least_found - least) < 1e-4
    assert {failure.word for failure in seen.failures} <= failures
    assert bool(seen.failures) == bool(failures)


def test_how_many_prefixes(tmp_path: Path) -> None:
    model = read_checkpoint(tiny.model(tmp_path / "m"))
    spec = read_specification(tiny.AB)
    tree = Enumeration(TrainedQuestion(model, spec, 0, 8, "all", rounding_of("float32")))
    # (aa*b)*: 1, 1, 2, 3, 5 … prefixes of 0, 1, 2 … symbols.
    assert [tree.depth(n)[:2] for n in (1, 2, 4, 7, 12)] == [
        (0, 1),
        (1, 2),
        (2, 4),
        (3, 7),
        (4, 12),
    ]
    assert tree.depth(1e9) == (8, 1 + 1 + 2 + 3 + 5 + 8 + 13 + 21 + 34, True)
    with pytest.raises(OutOfTimeError):
        tree.walk(8, -np.inf, -np.inf)


def test_proved_cells_need_no_closer_look(tmp_path: Path) -> None:
    model = read_checkpoint(tiny.model(tmp_path / "m", scale=2.0))
    spec = read_specification(tiny.AB)
    tree = Enumeration(TrainedQuestion(model, spec, 0, 5, "all", rounding_of("float32")))
    before = tree.walk(5, np.inf, -np.inf)
    tree.trusted = {(n, k, q): 7.5 for n in range(6) for k in range(2) for q in range(2)}
    after = tree.walk(5, np.inf, -np.inf)
    assert after.open_from >= before.open_from
    assert [f.word for f in after.failures] == [f.word for f in before.failures]
