"""What s-ops and selectors have in common: parts, a name, and annotations."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Any, Self, TypeVar

_numbers = itertools.count(1)


class Encoding(Enum):
    """How an s-op is to be represented: exactly, by categories, or as a number."""

    CATEGORICAL = "categorical"
    NUMERICAL = "numerical"


class RASPExpr:
    """An s-op or a selector, with annotations."""

    kind = "expression"

    def __init__(self) -> None:
        self.annotations: Mapping[str, Any] = {}

    @property
    def children(self) -> Sequence[RASPExpr]:
        """The expressions that it is made of, in the order of its arguments."""
        return tuple(part for part in vars(self).values() if isinstance(part, RASPExpr))

    @property
    def name(self) -> str:
        return str(self.annotations.get("name", self.kind))

    @cached_property
    def unique_id(self) -> int:
        return next(_numbers)

    @property
    def label(self) -> str:
        return f"{self.name}_{self.unique_id}"

    def copy(self) -> Self:
        return copy.copy(self)

    def named(self, name: str) -> Self:
        """The same expression under a name, which messages and labels will use."""
        return annotate(self, name=name)

    def annotated(self, **annotations: Any) -> Self:
        return annotate(self, **annotations)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


E_co = TypeVar("E_co", bound=RASPExpr)


def annotate(expr: E_co, **annotations: Any) -> E_co:
    """A copy with more annotations; the expression itself stays as it is."""
    if not isinstance(expr, RASPExpr):
        raise TypeError(f"only expressions of RASP have annotations, not {expr!r}")
    new = expr.copy()
    new.__dict__.pop("unique_id", None)
    new.annotations = {**expr.annotations, **annotations}
    return new
