"""Verdicts against brute force over all words, in `transformers` itself."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import SofthatError, Verdict
from softhat.trained.checkpoint import read_checkpoint
from softhat.trained.replay import Replay
from softhat.trained.specification import Specification, read_specification
from tests.trained import tiny


def shortest_failure(
    folder: Path, spec: Specification, most: int, offset: int = 0, domain: str = "completable"
) -> int | None:
    """The length of the shortest word that shows a wrong sign, by trying all."""
    replay = Replay(read_checkpoint(folder))
    lengths = []
    for n in range(most + 1):
        words = [w for w in product(range(len(spec.symbols)), repeat=n)
                 if len(spec.run(w)) == n + 1]  # fmt: skip
        if not words:
            continue
        ids = [[spec.bos, *(spec.ids[k] for k in word)] for word in words]
        logits = replay.logits(ids, offset)[:, -1]
        for word, row in zip(words, logits, strict=True):
            state = spec.run(word)[-1]
            length = n + (int(spec.need[state]) if domain == "completable" else 0)
            positive = {k for k in range(len(row)) if row[k] > 0}
            if length <= most and positive != spec.allowed[state]:
                lengths.append(length)
    return min(lengths, default=None)


def agreeing(folder: Path, seed: int, layers: int, states: int = 2) -> dict[str, Any]:
    """A specification that says after each state what the model says after one of its words: it
    is right on some words, and wrong from some length on."""
    random = np.random.default_rng(seed)
    spec = read_specification(tiny.AB)
    replay = Replay(read_checkpoint(folder))
    allowed = {}
    for name, word in (("q0", [0, 1]), ("q1", [0])):
        word = word if random.random() < 0.5 else [0, *word]
        row = replay.logits([[spec.bos, *word]])[0, -1]
        named = {0: "a", 1: "b", 3: "<eos>"}
        allowed[name] = [named[k] for k in (0, 1, 3) if row[k] > 0]
    return {**tiny.AB, "allowed": allowed}


@pytest.mark.parametrize("domain", ["completable", "all"])
@pytest.mark.parametrize("seed", range(3))
def test_against_all_words(tmp_path: Path, seed: int, domain: str) -> None:
    pytest.importorskip("transformers")
    layers = 1 + seed % 2
    folder = tiny.model(tmp_path / "m", seed, layers, scale=0.3)
    wanted = agreeing(folder, seed, layers)
    spec = read_specification(wanted)
    verdict = softhat.prove(folder, wanted, max_length=8, domain=domain, budget=20)
    first = shortest_failure(folder, spec, 8, domain=domain)
    assert verdict.status == ("proved" if first is None else "refuted")
    assert verdict.proved_to == (8 if first is None else first - 1)
    if first is not None:
        assert verdict.bracketed and verdict.broken_by is not None
        broken = verdict.broken_by
        assert broken.length == first
        row = Replay(read_checkpoint(folder)).logits([broken.ids])[0, broken.position]
        assert row[broken.token_id] == broken.logit
        state = spec.run([spec.symbols.index(s) for s in broken.prefix])[-1]
        assert (broken.logit > 0) != (broken.token_id in spec.allowed[state])


def test_offsets(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = tiny.model(tmp_path / "m", 3, scale=0.3)
    wanted = agreeing(folder, 3, 1)
    spec = read_specification(wanted)
    firsts = [shortest_failure(folder, spec, 4, offset) for offset in range(7)]
    for offset in (0, 3):
        verdict = softhat.prove(folder, wanted, max_length=4, offset=offset, budget=20)
        first = firsts[offset]
        assert verdict.proved_to == (4 if first is None else first - 1)
    every = softhat.prove(folder, wanted, max_length=4, offset="all", budget=40)
    known = [first for first in firsts if first is not None]
    assert every.proved_to == min(known, default=5) - 1


def test_a_verdict_is_json_and_sentences(tmp_path: Path) -> None:
    folder = tiny.model(tmp_path / "m")
    verdict = softhat.prove(folder, tiny.AB, max_length=5)
    assert isinstance(verdict, Verdict)
    document = json.loads(json.dumps(verdict.to_json()))
    assert {"status", "proved_to", "broken_by", "least_margin", "least_found", "method",
            "assumptions", "open_cells", "bracketed"} <= set(document)  # fmt: skip
    assert verdict.status in verdict.explain()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dtype": "float16"}, "float16"),
        ({"domain": "some"}, "domain"),
        ({"offset": 40}, "outside the context"),
        ({"offset": "none"}, "'all'"),
        ({"max_length": 40}, "do not fit"),
        ({"max_length": -1}, "count of symbols"),
        ({"budget": 0}, "seconds"),
    ],
)
def test_options_that_are_refused(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    folder = tiny.model(tmp_path / "m")
    with pytest.raises(SofthatError, match=said):
        softhat.prove(folder, tiny.AB, **options)


def test_ids_that_the_model_does_not_have(tmp_path: Path) -> None:
    folder = tiny.model(tmp_path / "m")
    with pytest.raises(SofthatError, match="vocabulary"):
        softhat.prove(folder, {**tiny.AB, "symbols": {"a": 0, "b": 77}})


@pytest.mark.parametrize("scale", [1e18, 3e38])
def test_overflow_proves_nothing(tmp_path: Path, scale: float) -> None:
    made = tiny.tensors(0)
    name = "transformer.h.0.mlp.c_fc.weight"
    made[name] = np.full_like(made[name], scale)
    tiny.write(tmp_path / "m", made, tiny.config())
    verdict = softhat.prove(tmp_path / "m", tiny.AB, max_length=9, budget=10)
    assert verdict.status != "proved" and verdict.proved_to < 1
