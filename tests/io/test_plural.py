"""Amounts as people write them."""

from __future__ import annotations

from softhat.io.plural import plural


def test_one_and_many() -> None:
    assert [plural(n, "layer") for n in (0, 1, 2)] == ["0 layers", "1 layer", "2 layers"]
    assert plural(12345, "word") == "12,345 words"
