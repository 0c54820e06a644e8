"""Evidence is read whole or refused with one message."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from softhat.ahat.gallery import GALLERY
from softhat.io.errors import SofthatError
from softhat.proof.simulations.evidence import read
from tests.proof.simulations.claims import claims_of
from tests.proof.simulations.test_source import leaves


def test_what_simulations_write_is_read() -> None:
    found = claims_of(GALLERY["induction-average"]())
    claims = read(found.evidence)
    assert len(claims.layers) == len(found.model.layers)
    assert all(len(layer.stream) == found.model.d_model for layer in claims.layers)
    assert claims.allowed is not None and 0 < claims.share < 1


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [[1, 2, 3]], {"log": {"log": "1"}}])
def test_anything_else_is_one_message(value: Any) -> None:
    found = claims_of(GALLERY["histogram"]())
    for path in leaves(found.evidence):
        evidence = copy.deepcopy(found.evidence)
        place: Any = evidence
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        try:
            read(evidence)
        except SofthatError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("data", [None, [], "x", {}, {"format": "softhat-evidence/2"}])
def test_other_documents(data: Any) -> None:
    with pytest.raises(SofthatError):
        read(data)
