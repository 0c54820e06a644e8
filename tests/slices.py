"""A slice of a long list of cases: `make test` runs it, `make test-full` runs the whole list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings


def every(step: int, values: Iterable[Any]) -> list[Any]:
    """Parameters for `parametrize`: each step-th is always run, the others at full size only.
    A tuple gives several."""
    groups = [value if isinstance(value, tuple) else (value,) for value in values]
    return [
        pytest.param(*group, marks=[pytest.mark.full] if at % step else [])
        for at, group in enumerate(groups)
    ]


def examples(whole: int, **options: Any) -> settings:
    """Settings of a property test: so many examples at full size, and no more than the seeded
    profile's own number in `make test`."""
    seeded = settings()
    count = min(whole, seeded.max_examples) if seeded.derandomize else whole
    return settings(max_examples=count, **options)


def sizes(part: Any, whole: Any) -> list[Any]:
    """Parameters for `parametrize` or a fixture: the size of what one test does, in `make test` and
    at full size."""
    return [part, pytest.param(whole, marks=pytest.mark.full)]
