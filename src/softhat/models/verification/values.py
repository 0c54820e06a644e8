"""Models of RASP programs, compared with the exact meaning of their attention programs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softhat.ahat.words import all_words
from softhat.io.errors import CertificateWarning
from softhat.numerics.formats import format_of

if TYPE_CHECKING:
    from softhat.models.value_model import ValueModel

BATCH = 256
Value = Any
Proved = tuple[Mapping[str, int], Mapping[str, float]]
"""For each number format how long words may be, and how far numbers may be off."""


@dataclass(frozen=True)
class ValueCounterexample:
    """A word on which the model and its program differ; positions are counted from 0."""

    word: list[Value]
    position: int
    expected: Value
    found: Value
    certified: bool


@dataclass(frozen=True)
class ValueVerification:
    """What was tried, and the first difference."""

    ok: bool
    words: int
    exhaustive_length: int
    """All words to this length were tried."""
    max_error: float
    """The largest error of a number."""
    counterexample: ValueCounterexample | None
    runtime: str = "dense"
    """What ran the words."""


def verify_values(
    model: ValueModel,
    exhaustive: int,
    random: int,
    max_length: int,
    max_words: int,
    dtype: str,
    seed: int,
    run: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
    proved: Proved | None = None,
) -> ValueVerification:
    """All words to length `exhaustive` (as far as `max_words` allows), then random ones and
    words of one or two tokens as long as the certificate goes. `run` runs words in place of the
    model's own runtimes (an export, by what it is for); then `proved` is what is proved of that.
    """
    dtype = format_of(dtype).name
    lengths, errors = proved or (model.certificate.max_length, model.certificate.errors)
    reach = lengths[dtype]
    longest = min(max_length, reach or model.max_length)
    allowed = errors.get(dtype, 0.0) if reach else 0.5  # nothing proved: the next whole number
    complete, tried, worst = 0, 0, 0.0
    for n, words in _batches(model, exhaustive, random, longest, max_words, seed):
        if run is not None:
            computed = [model.decoded(run(word[None])[0]) for word in words]
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CertificateWarning)
                computed = model.values_many(words, dtype)
        for codes, values in zip(words, computed, strict=True):
            tried += 1
            exact = model.exact_values(codes)
            for at, (value, expected) in enumerate(zip(values, exact, strict=True)):
                off = _error(value, expected)
                worst = max(worst, off if off < float("inf") else 0.0)
                if off > allowed + 1e-12:
                    word = [model.alphabet[k] for k in codes.tolist()]
                    where = ValueCounterexample(word, at, expected, value, len(codes) <= reach)
                    return ValueVerification(False, tried, complete, worst, where)
        complete = max(complete, n)
    return ValueVerification(True, tried, complete, worst, None)


def _batches(
    model: ValueModel, exhaustive: int, random: int, longest: int, max_words: int, seed: int
) -> Iterator[tuple[int, list[NDArray[Any]]]]:
    """(n if these complete all words of length n, else 0; words)."""
    k, left = len(model.alphabet), max_words
    for n in range(1, min(exhaustive, longest) + 1):
        if k**n > left:
            break
        left -= k**n
        batches = [*all_words(k, n, BATCH)]
        yield from ((0, [*words]) for words in batches[:-1])
        yield n, [*batches[-1]]
    dice = np.random.default_rng(seed)
    hostile = [np.full(longest, a) for a in range(min(k, 4))]
    hostile += [np.arange(longest) % k, np.arange(longest) * k // longest]
    lengths: Sequence[int] = dice.integers(1, longest + 1, random).tolist()
    more = hostile + [dice.integers(0, k, n) for n in lengths]
    for start in range(0, len(more), BATCH):
        yield 0, more[start : start + BATCH]


def _error(value: Value, expected: Value) -> float:
    """0 for equal values, the difference of numbers, else infinity."""
    if value is None or expected is None:
        return 0.0 if value is expected else float("inf")
    if isinstance(value, float) and isinstance(expected, int | float):
        return abs(value - expected)
    return 0.0 if value == expected else float("inf")
