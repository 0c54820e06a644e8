"""What is proved about a model: for which lengths, number formats and outputs, and why."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from softhat.errors import SofthatError

FORMAT = "softhat-certificate/1"


@dataclass(frozen=True)
class HeadCertificate:
    """What is proved about one head. Layers and heads are counted from 0."""

    layer: int
    head: int
    kind: str
    label: str
    """What the model's author calls it: not part of the proof."""
    min_gap: float
    """In logits: the best score minus the next, for every n (inf: uniform attention)."""
    leak: float
    """Attention outside the winner, at most, in real arithmetic."""
    holds_for: str
    beta: str
    """The inverse temperature, as a function of n."""
    slack: float
    """What its gates would still tolerate beyond the leak, in real arithmetic."""
    max_length: dict[str, int]
    reasons: dict[str, str]
    """What ends the proof one position further."""


@dataclass(frozen=True)
class OutputCertificate:
    """An output and whether it is proved to compute its formula."""

    name: str
    formula: str
    proved: bool
    slack: float


@dataclass(frozen=True)
class Certificate:
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

    def to_json(self) -> str:
        """The certificate as JSON text, the same for the same model."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; an infinite gap is null."""
        data = {"format": FORMAT, **asdict(self)}
        for head in data["heads"]:
            head["min_gap"] = _finite(head["min_gap"])
            head["slack"] = _finite(head["slack"])
        for output in data["outputs"]:
            output["slack"] = _finite(output["slack"])
        return data

    @staticmethod
    def from_json(text: str) -> Certificate:
        """Read back what `to_json` wrote."""
        try:
            data = json.loads(text)
            if data.pop("format", None) != FORMAT:
                raise SofthatError(f"expected a certificate of format {FORMAT}")
            heads = tuple(
                HeadCertificate(
                    **{**h, "min_gap": _number(h["min_gap"]), "slack": _number(h["slack"])}
                )
                for h in data.pop("heads")
            )
            outputs = tuple(
                OutputCertificate(**{**o, "slack": _number(o["slack"])})
                for o in data.pop("outputs")
            )
            lists = {key: tuple(data.pop(key)) for key in ("assumptions", "void")}
            return Certificate(heads=heads, outputs=outputs, **lists, **data)
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise SofthatError(f"not a certificate: {error}") from None

    def explain(self) -> str:
        """Why the model is right, in plain sentences."""
        from softhat.certificate.explain import explain

        return explain(self)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float | None) -> float:
    return math.inf if value is None else float(value)
