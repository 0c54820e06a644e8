"""Masks: which keys a query sees."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Mask: TypeAlias = Literal["none", "<=", "<", ">=", ">"]
"""Query i sees the keys j with j `mask` i; a row without keys gives 0."""
MASKS: tuple[Mask, ...] = ("none", "<=", "<", ">=", ">")


@lru_cache(maxsize=1024)
def allowed(mask: Mask, length: int) -> npt.NDArray[np.bool_]:
    """(length, length): may the query (row) look at the key (column)?"""
    i, j = np.arange(length)[:, None], np.arange(length)[None, :]
    grid = {"none": j >= 0, "<=": j <= i, "<": j < i, ">=": j >= i, ">": j > i}[mask]
    result = np.broadcast_to(grid, (length, length)).copy()
    result.setflags(write=False)
    return result
