"""The checker's reader: what the document says, or one message."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from softhat.ahat.file import dumps
from softhat.io.errors import SofthatError
from softhat.proof.simulations.source import read
from tests.proof.simulations.claims import random_source, source_of


@pytest.mark.parametrize("seed", range(10))
def test_it_reads_what_the_file_says(seed: int) -> None:
    model = random_source(seed)
    source = source_of(model)
    assert source.alphabet == model.alphabet
    assert (source.tokens, source.bos, source.eos) == (
        model.embedding, model.bos_embedding, model.eos_embedding,
    )  # fmt: skip
    assert (source.places, source.features) == (model.position_embedding, model.positions)
    assert (source.weights, source.bias) == (model.output_weights, model.output_bias)
    assert (source.longest, source.sinks, source.heads) == (
        model.longest, model.sinks, model.heads,
    )  # fmt: skip
    for l, h in model.heads:
        ours, theirs = source.head((l, h)), model.layers[l].heads[h]
        for part in ("mask", "ties", "query", "key", "value", "output"):
            assert getattr(ours, part) == getattr(theirs, part)


def leaves(data: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(data, dict):
        return [path for k, v in data.items() for path in leaves(v, (*at, k))]
    if isinstance(data, list):
        return [path for k, v in enumerate(data) for path in leaves(v, (*at, k))]
    return [at]


@pytest.mark.parametrize("value", [None, "x", [], {}, 0.5, [1, [2]]])
def test_anything_else_is_one_message(value: Any) -> None:
    document = json.loads(dumps(random_source(3)))
    for path in leaves(document)[::5]:
        changed = copy.deepcopy(document)
        place = changed
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        try:
            read(changed)
        except SofthatError as error:
            assert "\n" not in str(error)
