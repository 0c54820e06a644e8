"""What is proved about a model: for which lengths, number formats and outputs, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from softhat.proof.proved import ProvedLengths

Value = TypeVar("Value")


class WhenRead(Mapping[str, Value]):
    """A mapping that is computed when it is first read; copied or stored it is a dict.

    What a model is proved to takes one question a head; where each head alone would end takes many,
    and few ask.
    """

    def __init__(self, computed: Callable[[], dict[str, Value]]) -> None:
        self._computed = computed

    @cached_property
    def _values(self) -> dict[str, Value]:
        return self._computed()

    def __getitem__(self, key: str) -> Value:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)

    def __reduce__(self) -> tuple[type[dict[str, Value]], tuple[dict[str, Value]]]:
        return dict, (self._values,)


@dataclass(frozen=True)
class HeadCertificate:
    """What is proved about one head. Layers and heads are counted from 0."""

    layer: int
    head: int
    kind: str
    label: str
    """What the model's author calls it: not part of the proof."""
    numbers: dict[str, float]
    """Its score in logits, as read off the weights: see `softhat.proof.heads`."""
    min_gap: float
    """In logits: the best score minus the next, for every n (inf: uniform attention)."""
    leak: float
    """Attention outside the winner, at most, in real arithmetic."""
    holds_for: str
    beta: str
    """The inverse temperature, as a function of n."""
    slack: float
    """What its gates would still tolerate beyond the leak, in real arithmetic."""
    max_length: Mapping[str, int]
    """How far it is proved alone, whatever reads it."""
    reasons: Mapping[str, str]
    """What ends the proof one position further."""


@dataclass(frozen=True)
class OutputCertificate:
    """An output and whether it is proved to compute its formula."""

    name: str
    formula: str
    proved: bool
    slack: float


@dataclass(frozen=True)
class Certificate(ProvedLengths):
    """For every word of at most `max_length[dtype]` symbols the model's answers are right."""

    attention: str
    max_length: dict[str, int]
    binding: dict[str, str]
    """What limits each dtype."""
    heads: tuple[HeadCertificate, ...]
    outputs: tuple[OutputCertificate, ...]
    assumptions: tuple[str, ...]
    every_length: bool
    """In real arithmetic the outputs are right for every word of every length."""
    void: tuple[str, ...]
    """Why nothing is proved; empty if the certificate holds."""
    error: float = 0.0
    """How far numbers among a model's values can be off, in float32 up to its certified length."""
    errors: dict[str, float] = field(default_factory=dict)
    """The same for each dtype."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dump`, the same for the same model; an infinite gap is null."""
        from softhat.proof.compiled import to_json  # a text beside the proof

        return to_json(self)

    @staticmethod
    def from_json(data: Mapping[str, Any] | str) -> Certificate:
        """Read back what `to_json` gave, as data or as JSON text."""
        from softhat.proof.compiled import from_json

        return from_json(data)

    def __repr__(self) -> str:
        lengths = ", ".join(f"{name} {length:,}" for name, length in self.max_length.items())
        return f"<softhat.Certificate {'void' if self.void else lengths}>"

    def explain(self) -> str:
        """Why the model is right, in plain sentences."""
        from softhat.proof.explain import explain

        return explain(self)
