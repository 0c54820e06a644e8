"""The formulas and words that every export is tried on.

Expected truth values come from `softhat.logic`, which knows nothing of transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.logic.syntax.nodes import Formula
from tests.transformer.lowering.suite import all_codes, expected, formulas, long_words

with suppress(ImportError):  # these models are small: threads that wait for each other cost most
    import torch

    torch.set_num_threads(1)

Codes = NDArray[np.int64]
TARGETS = ("unbounded", "temperature", "hard")


def chosen(count: int) -> list[tuple[Formula, str]]:
    """Formulas with a target each; the same formula meets every target in the full run."""
    every = formulas()
    step = max(1, len(every) // count)
    picked = every[::step][:count]
    return [(formula, TARGETS[k % len(TARGETS)]) for k, formula in enumerate(picked)]


def batches(seed: int, longest: int = 200) -> Iterator[Codes]:
    """All words over {a, b} to length 8, then random and adversarial words to `longest`."""
    for length in range(1, 9):
        yield all_codes(2, length)
    for length in (9, longest // 2 + 1, longest):
        yield long_words(length, 2, seed)


def wrong(
    formula: Formula, truth: Callable[[Codes], NDArray[np.bool_]], seed: int, longest: int = 200
) -> list[str]:
    """The words on which an export and the formula differ."""
    found = []
    for codes in batches(seed, longest):
        differ = (truth(codes) != expected(formula, codes, "ab")).any(axis=1)
        found += ["".join("ab"[c] for c in word) for word in codes[differ].tolist()]
    return found


def padded(seed: int, width: int = 24, words: int = 8) -> tuple[Codes, Codes, list[Codes]]:
    """Words of different lengths at random places of a batch: tokens, mask, the words."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(0, 2, (words, width))  # padding is garbage, not zeros
    mask = np.zeros_like(tokens)
    written: list[Any] = []
    for row, length in enumerate(rng.integers(1, width + 1, words).tolist()):
        places = np.sort(rng.choice(width, length, replace=False))
        mask[row, places] = 1
        written.append(tokens[row, places])
    return tokens, mask, written
