"""What a disguised model stores in its residual stream: bits along directions, as a method that
looks for directions should find them.

They are read after the last block, where all that was stored still is. Two directions that hold the
same bit at every place (or one the opposite of the other) are one *stored bit*: no activations
tell them apart. Its direction is the way by which the residual stream moves when the bit turns from
false to true.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.circuits.exam.subject import Subject
from softhat.circuits.network import Array
from softhat.circuits.witness import draw
from softhat.io.files import read_json
from softhat.logic.semantics.truth import truths
from softhat.logic.syntax.parse import parse

Bools = NDArray[np.bool_]

TRAINING_WORDS, TEST_WORDS = 512, 128
"""Random words of the longest length, 31 symbols: 15,872 and 3,968 places."""
RARE = 0.01
"""A bit that is the same at all but this share of the test's places is not asked for."""


@dataclass(frozen=True, slots=True)
class StreamSample:
    """Words, and what the model holds at their places."""

    words: Array
    """(words, n): codes of symbols."""
    residual: Array
    """(places, d_model): the residual stream after the last block, `<bos>` left out."""


@dataclass(frozen=True, slots=True)
class StoredBits:
    """The bits of a model, with their truth by the definition of their formulas."""

    formulas: tuple[str, ...]
    directions: Array
    """(bits, d_model)"""
    true: Bools
    """(bits, places)"""


def learned_places(subject: Subject) -> StreamSample:
    """What a method may learn from; others for each seed."""
    return _activations(subject, TRAINING_WORDS, subject.seed)


def marked_places(subject: Subject) -> StreamSample:
    """What a method is marked on, the same for all seeds."""
    return _activations(subject, TEST_WORDS, None)


def _activations(subject: Subject, count: int, seed: int | None) -> StreamSample:
    network = subject.network
    kind = [0] if seed is None else [1, seed]
    rng = np.random.default_rng([*kind, *subject.id.encode()])
    assert network.longest is not None
    words = draw(network, rng, count, network.longest)
    seen: dict[str, Array] = {}
    network.run(words, seen=seen)
    residual = seen[f"blocks.{network.layers - 1}.hook_resid_post"][:, 1:]
    return StreamSample(words, residual.reshape(-1, residual.shape[-1]))


def stored_bits(subject: Subject, places: StreamSample) -> StoredBits:
    """The bits that are asked for: both values occur, not only rarely."""
    formulas, steps = zip(*_labelled(subject), strict=True)
    true = truth_of(subject, formulas, places)
    distinct: list[int] = []
    merged: list[Array] = []
    for number, row in enumerate(true):
        if not RARE <= row.mean() <= 1 - RARE:
            continue
        for at, other in enumerate(distinct):
            same = np.array_equal(row, true[other])
            if same or np.array_equal(row, ~true[other]):
                merged[at] = merged[at] + (steps[number] if same else -steps[number])
                break
        else:
            distinct.append(number)
            merged.append(steps[number])
    return StoredBits(tuple(formulas[k] for k in distinct), np.array(merged), true[distinct])


def truth_of(subject: Subject, formulas: tuple[str, ...], places: StreamSample) -> Bools:
    """(formulas, places): by definition, not by the model."""
    symbols = subject.network.symbols
    definitions = read_json(subject.folder / "labels.json")["definitions"]
    parsed = [parse("; ".join([*definitions, text]), alphabet=symbols) for text in formulas]
    words = [[symbols[code] for code in word] for word in places.words.tolist()]
    return np.array([np.concatenate(rows) for rows in truths(parsed, words)])


def _labelled(subject: Subject) -> Iterator[tuple[str, Array]]:
    """Formulas whose truth a direction holds, with the step that the residual stream makes when
    they turn true. A reading is w·x and grows by 1, so the step along w is w/|w|²."""
    for place in read_json(subject.folder / "labels.json")["directions"]:
        held = place["holds"][-1]
        if held["role"] not in BITS or "term" in held:
            continue
        reading = np.zeros(subject.network.d_model)
        for index, weight in held["direction"]:
            reading[index] = weight
        yield held["formula"], held["sign"] * reading / (reading @ reading)


BITS = ("input", "gate", "raw")
"""Roles of what depends on the word and is a formula. Positions and means are not asked for."""
