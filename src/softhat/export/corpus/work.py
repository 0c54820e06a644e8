"""What the workers of a corpus do: draw formulas, and turn a shard of them into files.

Both are pure functions of the settings and a number, so that any worker, at any time and as
often as needed, gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.compiler import compile as compile_formula
from softhat.export.native_labels import labels_of
from softhat.logic.fragments import describe
from softhat.logic.random import random_formula
from softhat.logic.semantics.batch import WordBatch, all_words, evaluate, from_codes, unpack
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.transformer.weights import Attention

CHUNK = 200
"""Formulas drawn at a time."""
LONGEST = 8
"""Formulas that agree on all words to this length are the same unless a longer word is found."""
SAMPLES = 8
"""Accepted and rejected words given for each formula, at most so many of each."""


@dataclass(frozen=True)
class Settings:
    """What decides the contents of a corpus."""

    count: int
    seed: int
    alphabet: tuple[str, ...]
    attention: Attention
    family: str
    smallest: int
    largest: int
    shard: int


def draw(settings: Settings, chunk: int) -> list[tuple[str, str]]:
    """Formula number 200·chunk … of the seed: its text and the digest of its truth values."""
    words = [all_words(settings.alphabet, length) for length in range(1, LONGEST + 1)]
    drawn = []
    for number in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        rng = np.random.default_rng([settings.seed, number])
        size = int(rng.integers(settings.smallest, settings.largest + 1))
        formula = random_formula(rng, size, settings.alphabet, settings.family)
        drawn.append((str(formula), _digest(formula, words)))
    return drawn


def _digest(formula: Formula, words: list[WordBatch]) -> str:
    """Of the truth at every position of every word."""
    digest = hashlib.sha256()
    for batch in words:
        values = unpack(evaluate(formula, batch), batch.count)
        digest.update(np.packbits(values).tobytes())
    return digest.hexdigest()


def make_shard(settings: Settings, first: int, texts: list[str]) -> tuple[bytes, bytes]:
    """Models `first`, `first` + 1, …: their tensors (safetensors) and the rest (JSON lines)."""
    from safetensors.numpy import load as from_bytes
    from safetensors.numpy import save as to_bytes

    tensors: dict[str, NDArray[Any]] = {}
    lines = []
    for number, text in enumerate(texts, start=first):
        formula = parse(text, alphabet=settings.alphabet)
        model = compile_formula(formula, settings.alphabet, settings.attention)
        files = model.contents()
        weights = from_bytes(files["model.safetensors"])
        tensors |= {f"{number}/{name}": _narrow(array) for name, array in weights.items()}
        facts = describe(formula)
        lines.append(
            {
                "id": number,
                "formula": text,
                "fragment": facts.fragment,
                "temporal_depth": facts.temporal_depth,
                "decoder": facts.is_decoder,
                "max_length": model.certificate.max_length,
                "samples": _samples(formula, facts.acceptance, settings, number),
                "config": json.loads(files["config.json"]),
                "labels": labels_of(model).to_json(),
            }
        )
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return to_bytes(tensors), text.encode()


def _narrow(array: NDArray[np.float64]) -> NDArray[Any]:
    """As float32 where that loses nothing."""
    with np.errstate(over="ignore"):
        small = array.astype(np.float32)
    return small if np.array_equal(small, array) else array


def _samples(
    formula: Formula, acceptance: str | None, settings: Settings, number: int
) -> dict[str, Any]:
    """Accepted and rejected words, short ones first; two-way formulas are read off at the end."""
    at = acceptance or "last"
    rng = np.random.default_rng([settings.seed, number, 1])
    size = len(settings.alphabet)
    batches = [_every(size, length) for length in range(1, 5) if size**length <= 1 << 12]
    batches += [rng.integers(0, size, (64, length)) for length in (8, 16, 32)]
    found: dict[bool, list[Any]] = {True: [], False: []}
    for k, codes in enumerate(batches):
        values = unpack(evaluate(formula, from_codes(codes, settings.alphabet)), len(codes))
        answers = values[:, 0 if at == "first" else -1]
        # Half of the places are for the longer words.
        room = SAMPLES if k >= len(batches) - 3 else SAMPLES // 2
        for word, answer in zip(codes.tolist(), answers.tolist(), strict=True):
            symbols = [settings.alphabet[code] for code in word]
            if len(found[answer]) < room:
                found[answer].append(_written(symbols))
    return {"at": at, "accepted": found[True], "rejected": found[False]}


def _every(size: int, length: int) -> NDArray[np.int64]:
    return np.arange(size**length)[:, None] // size ** np.arange(length - 1, -1, -1) % size


def _written(symbols: list[str]) -> str | list[str]:
    """Text if every symbol is one character."""
    return "".join(symbols) if all(len(symbol) == 1 for symbol in symbols) else symbols
