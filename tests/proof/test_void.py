"""What a derivation raises becomes the reason in the certificate; anything else is raised."""

from __future__ import annotations

import pytest

import softhat
from softhat.io.errors import VoidError
from softhat.proof import check, derivation
from softhat.proof.boolean import TooLargeError
from softhat.proof.void import UNPROVED, reason_of


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (VoidError("layer 0: no kind"), "layer 0: no kind"),
        (TooLargeError(), "more than 2,000,000 nodes: not decided"),
        (OverflowError("too large"), "float64 does not hold (too large)"),
        (ZeroDivisionError("by zero"), "float64 does not hold (by zero)"),
    ],
)
def test_reasons(error: Exception, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(error, UNPROVED) and words in reason_of(error)
    model = softhat.compile("Y a", alphabet="ab")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(derivation, "embedded", fail)
    found = check.certify(model.transformer, model.formulas)
    assert found.void == (reason_of(error),) and set(found.max_length.values()) == {0}


def test_a_mistake_of_ours_is_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("ours")

    model = softhat.compile("Y a", alphabet="ab")
    monkeypatch.setattr(derivation, "embedded", fail)
    with pytest.raises(KeyError, match="ours"):
        check.certify(model.transformer, model.formulas)
