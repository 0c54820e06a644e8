"""A slice of a long list of cases: `make test` runs it, `make test-full` runs the whole list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def every(step: int, values: Iterable[Any]) -> list[Any]:
    """Parameters for `parametrize`: each step-th is always run, the others at full size only.
    A tuple gives several."""
    groups = [value if isinstance(value, tuple) else (value,) for value in values]
    return [
        pytest.param(*group, marks=[pytest.mark.full] if at % step else [])
        for at, group in enumerate(groups)
    ]


def sizes(part: Any, whole: Any) -> list[Any]:
    """Parameters for `parametrize` or a fixture: the size of what one test does, in `make test` and
    at full size."""
    return [part, pytest.param(whole, marks=pytest.mark.full)]
