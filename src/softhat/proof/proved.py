"""What every certificate is to its reader, whatever was proved and by which part of softhat.

Each kind adds its own parts (heads and outputs of a compiled model, laws and lengths of a
simulation, formats and kernels of an export); as JSON all are one schema
(`softhat.proof.document`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any


class ProvedLengths(ABC):
    """For each number format the length of words to which everything is proved, and why."""

    __slots__ = ()
    max_length: Mapping[str, int]

    @abstractmethod
    def explain(self) -> str:
        """What is proved, and why, in plain sentences."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dump`: a `document`."""

    def latex(self) -> str:
        """The proved lengths as a table for papers (booktabs)."""
        from softhat.proof.latex import lengths_table  # a proof needs no tables

        return lengths_table(self.max_length)

    def _repr_html_(self) -> str:
        from softhat.io.markup import table  # nor pages

        rows = [[name, length or "nothing"] for name, length in self.max_length.items()]
        first = next(iter(self.explain().splitlines()), "")
        return table(["number format", "proved right to length"], rows, first)
