"""What the page asks for: the same weights are compiled and proved once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from softhat.explore import requests
from softhat.proof import check

ASKED = {"kind": "formula", "alphabet": "", "attention": "unbounded"}


def test_typing_a_word_proves_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    proofs = []
    certify = check.certify

    def counted(*given: Any, **named: Any) -> Any:
        proofs.append(given)
        return certify(*given, **named)

    monkeypatch.setattr(check, "certify", counted)
    requests._view.cache_clear()
    first = requests.view_of({**ASKED, "text": "H (a -> O b)", "word": "c"})
    again = requests.view_of({**ASKED, "text": "(H (a -> (O b)))", "word": "cabcab"})
    assert again == first
    assert len(proofs) == 1

    for changed in (
        {"text": "H (a -> O b)", "word": "cd"},  # a new symbol
        {"text": "H (a -> O b)", "word": "c", "attention": "temperature"},
        {"text": "H (a -> O b)", "word": "", "alphabet": "abc"},  # given, not inferred
        {"text": "H (b -> O a)", "word": "c"},
    ):
        fresh = json.dumps(requests.view_of({**ASKED, **changed}))
        assert fresh != json.dumps(first)
        requests._view.cache_clear()
        assert json.dumps(requests.view_of({**ASKED, **changed})) == fresh
