"""One schema for every certificate, and the kinds of those of earlier versions."""

from __future__ import annotations

import json

import pytest

from softhat.io.errors import SofthatError
from softhat.proof.document import FORMAT, document, kind_of


def test_what_is_always_there() -> None:
    made = document("export", {"float32": 7}, ("IEEE 754",), ["why"], target="onnx")
    assert json.loads(json.dumps(made)) == {
        "format": FORMAT,
        "kind": "export",
        "target": "onnx",
        "max_length": {"float32": 7},
        "assumptions": ["IEEE 754"],
        "void": ["why"],
    }


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"format": FORMAT, "kind": "simulation"}, "simulation"),
        ({"format": "softhat-certificate/1"}, "compiled"),
        ({"format": "softhat-certificate/1", "kind": "simulation"}, "simulation"),
        ({"format": "softhat-kernel-certificate/1"}, "export"),
        ({"format": "softhat-gpt2-certificate/1"}, "export"),
    ],
)
def test_kinds(data: dict[str, str], kind: str) -> None:
    assert kind_of(data) == kind


@pytest.mark.parametrize(
    "data", [{}, [], None, {"format": FORMAT}, {"format": FORMAT, "kind": "other"}, {"format": "x"}]
)
def test_what_is_no_certificate(data: object) -> None:
    with pytest.raises(SofthatError, match=f"expected a certificate of format {FORMAT}"):
        kind_of(data)
