"""Certificates of compiled models as JSON."""

from __future__ import annotations

import json

import pytest

import softhat
from softhat.io.errors import SofthatError
from softhat.proof.certificate import Certificate


def test_json_and_back() -> None:
    certificate = softhat.compile("Y a & #(a) > 2", alphabet="ab").certificate
    text = json.dumps(certificate.to_json())
    assert Certificate.from_json(text) == certificate
    assert Certificate.from_json(json.loads(text)) == certificate
    with pytest.raises(SofthatError, match="format"):
        Certificate.from_json("{}")
    with pytest.raises(SofthatError, match="not a certificate"):
        Certificate.from_json("[")
