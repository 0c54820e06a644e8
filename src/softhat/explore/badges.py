"""Who says that a model is right: Coq in the reals, softhat's checker in floats."""

from __future__ import annotations

from collections.abc import Mapping

from softhat.export.coq.records import is_machine_checked
from softhat.models.model import Model


def badges(model: Model | None, lengths: Mapping[str, int], void: bool = False) -> list[str]:
    """One sentence for exact arithmetic and one for float32, each only where it holds."""
    if void:
        return []
    said = []
    if model is not None and is_machine_checked(model):
        said.append("in the reals, for every length: machine-checked by Coq")
    if length := lengths.get("float32"):
        said.append(f"in float32, to length {length:,}: by softhat's checker")
    return said
