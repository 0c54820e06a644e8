"""The lists of files in CONTRIBUTING.md are true: they exist, and they are all there are."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def listed(title: str) -> list[str]:
    """The files in the table under a heading."""
    section = PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [name for row in rows for name in re.findall(r"`((?:src|tests)/[^`]+\.py)`", row)]


EXAMPLES = {
    "How to add an operator": ("StrongRelease", ["src/softhat/logic", "src/softhat/proof"]),
    "How to add a head kind": (
        "Shift",
        [
            f"src/softhat/{room}"
            for room in ("program", "transformer/lowering", "runtime", "proof", "ahat")
        ],
    ),
}
"""What each list is shown with, and the rooms of which it names every file that mentions it."""


@pytest.mark.parametrize("title", EXAMPLES)
def test_the_listed_files_mention_the_example(title: str) -> None:
    files = listed(title)
    assert len(files) > 8
    for name in files:
        text = (ROOT / name).read_text(encoding="utf-8")
        word = "shift" if re.search(r"proof/(stock/)?heads/__init__", name) else EXAMPLES[title][0]
        assert re.search(rf"\b{word}\b", text), name


@pytest.mark.parametrize("title", EXAMPLES)
def test_no_file_that_mentions_the_example_is_missing(title: str) -> None:
    word, rooms = EXAMPLES[title]
    files = set(listed(title))
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*.py")):
            if re.search(rf"\b{word}\b", path.read_text(encoding="utf-8")):
                assert path.relative_to(ROOT).as_posix() in files, path


def test_a_new_head_kind_reaches_the_proof_by_its_list() -> None:
    """Every kind of the proof is listed, so that a file alone would not be forgotten."""
    from softhat.proof.values import NAMES

    folder = ROOT / "src/softhat/proof/heads"
    files = {path.stem for path in folder.glob("*.py")}
    files -= {"__init__", "kind", "reading", "selection"}
    for stem in sorted(files):
        kind = importlib.import_module(f"softhat.proof.heads.{stem}")
        assert kind.NAMES.keys() <= NAMES.keys(), stem
