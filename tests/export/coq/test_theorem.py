"""The page about the file of `!c S a` shows that very file."""

from __future__ import annotations

import re
from pathlib import Path

import softhat
from softhat.export.coq.theorem import theorem

PAGE = Path(__file__).resolve().parents[3] / "docs" / "kernel.md"


def test_the_page_shows_the_real_file() -> None:
    text = "".join(theorem(softhat.compile("!c S a", alphabet="abc")).split())
    shown = re.findall(r"```coq\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(shown) == 4
    for part in shown:
        assert "".join(part.split()) in text, part
