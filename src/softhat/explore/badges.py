"""Who says that a model is right: Coq in the reals and in float32, softhat's checker in float32."""

from __future__ import annotations

from collections.abc import Mapping

from softhat.export.coq.records import machine_checked
from softhat.models.model import Model


def badges(model: Model | None, lengths: Mapping[str, int], void: bool = False) -> list[str]:
    """One sentence for exact arithmetic and up to two for float32, each only where it holds:
    softhat's checker is named where it goes beyond what Coq has checked."""
    if void:
        return []
    claims = []
    binary32 = None if model is None else machine_checked(model)
    if binary32 is not None:
        claims.append("in the reals, for every length: machine-checked by Coq")
    if binary32:
        claims.append(f"in float32, to length {binary32:,}: machine-checked by Coq")
    if (length := lengths.get("float32", 0)) > (binary32 or 0):
        claims.append(f"in float32, to length {length:,}: by softhat's checker")
    return claims
