"""The languages of docs/languages.md: each model against the language's definition."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.slices import every

SCRIPTS = Path(__file__).resolve().parent.parent / "docs" / "scripts"


def load(name: str) -> Any:
    sys.path.insert(0, str(SCRIPTS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(SCRIPTS))


compared, languages = load("compared"), load("languages")
SLOW = (
    "cycle navigation", "modular arithmetic", "D12", "odds first", "bucket sort", "D4",
    "binary addition", "stack manipulation",
)  # fmt: skip
WRITTEN = [e for e in compared.COMPARED if not isinstance(e.given, compared.Missing)]


def check(entry: Any, short: int, each: int, longer: int) -> None:
    model = compared.model_of(entry)
    for word in languages.words(entry, short, each, longer):
        assert compared.answer(model, word) == entry.member(word), word


@pytest.mark.parametrize(
    "entry", every(2, [e for e in WRITTEN if e.name not in SLOW]), ids=lambda entry: entry.name
)
def test_a_language(entry: Any) -> None:
    check(entry, 4, 12, 6)


@pytest.mark.full
@pytest.mark.parametrize("entry", WRITTEN, ids=lambda entry: entry.name)
def test_a_language_on_many_words(entry: Any) -> None:
    check(entry, 8, 500, 100)


def test_the_page_has_every_language() -> None:
    page = (SCRIPTS.parent / "languages.md").read_text()
    for entry in compared.COMPARED:
        name = entry.name.replace("*", "\\*")
        assert f"\n| {name} | {entry.of} |" in page, f"run docs/scripts/languages.py: {entry.name}"
