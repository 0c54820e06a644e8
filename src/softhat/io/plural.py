"""Amounts in sentences: one layer, two layers."""

from __future__ import annotations


def plural(count: int, name: str) -> str:
    """A number and what it counts."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"
