"""The certificate of a compiled model as JSON, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from softhat.io.errors import SofthatError
from softhat.proof.certificate import Certificate, HeadCertificate, OutputCertificate
from softhat.proof.document import document, kind_of


def to_json(certificate: Certificate) -> dict[str, Any]:
    """Plain data for `json.dump`, the same for the same model; an infinite gap is null."""
    data = document("compiled", **asdict(certificate))
    if certificate.errors:
        finite = {name: _or_null(x) for name, x in certificate.errors.items()}
        data |= {"error": finite["float32"], "errors": finite}
    else:
        del data["error"], data["errors"]
    for part in (*data["heads"], *data["outputs"]):
        part |= {key: _or_null(part[key]) for key in ("min_gap", "slack") if key in part}
    return data


def from_json(data: Mapping[str, Any] | str) -> Certificate:
    """Read back what `to_json` gave, as data or as JSON text."""
    try:
        facts = dict(json.loads(data) if isinstance(data, str) else data)
        if kind_of(facts) != "compiled":
            raise SofthatError(f"expected the certificate of a compiled model: {facts['kind']}")
        errors = _with_infinity(facts.get("errors", {}))
        return Certificate(
            attention=facts["attention"],
            max_length=dict(facts["max_length"]),
            binding=dict(facts["binding"]),
            heads=tuple(HeadCertificate(**_with_infinity(h)) for h in facts["heads"]),
            outputs=tuple(OutputCertificate(**_with_infinity(o)) for o in facts["outputs"]),
            assumptions=tuple(facts["assumptions"]),
            every_length=facts["every_length"],
            void=tuple(facts["void"]),
            error=errors["float32"] if errors else 0.0,
            errors=errors,
        )
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise SofthatError(f"not a certificate: {error}") from None


def _or_null(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _with_infinity(part: Mapping[str, Any]) -> dict[str, Any]:
    return {key: math.inf if value is None else value for key, value in part.items()}
