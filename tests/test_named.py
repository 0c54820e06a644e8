"""What docstrings, comments and documents name in backquotes exists: files, modules, functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "softhat"
BASES = (ROOT, SOURCE, *(ROOT / room for room in ("tests", "docs", "proofs", "benchmarks")))

QUOTED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FILE = re.compile(r"[\w-]+(/[\w.-]+)*(/|\.(py|md|v|js|lark|toml))")
DOTTED = re.compile(r"(softhat(?:\.[A-Za-z_]\w*)+)(\(.*\))?")
JOINED = re.compile(r"[a-z]+(_[a-z]+)+")
"""A name of several words: a function, a module, a field, or a theorem."""
PATTERNS = {"tests/room/test_part.py", "src/softhat/room/part.py", "part/"}
FOREIGN = {"attention_dir", "assert_type"}
"""Names of other libraries."""


def names() -> set[str]:
    """Everything that is called by a name outside backquotes, every module, and every theorem."""
    found = set(FOREIGN)
    for path in (p for room in ("src", "tests", "benchmarks") for p in (ROOT / room).rglob("*.py")):
        found |= {path.stem, path.parent.name}
        found |= set(re.findall(r"\w+", QUOTED.sub("", path.read_text(encoding="utf-8"))))
    for path in (ROOT / "proofs").glob("*.v"):
        found |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return found


def said() -> Iterator[tuple[str, str]]:
    """(place, what stands in backquotes)."""
    code = [*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *ROOT.glob("benchmarks/*.py")]
    for path in (*code, *ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for text in QUOTED.findall(line):
                yield f"{path.relative_to(ROOT)}:{number}", text


def exists(name: str) -> bool:
    return any((base / name).exists() for base in BASES)


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    return list(said())


def test_files_exist(texts: list[tuple[str, str]]) -> None:
    found = {p.name for base in BASES for p in base.rglob("*") if ".venv" not in p.parts}
    missing = [
        (place, text)
        for place, text in texts
        if FILE.fullmatch(text) and not exists(text) and text not in PATTERNS
        if "/" in text or text not in found
    ]
    assert not missing


def test_names_exist(texts: list[tuple[str, str]]) -> None:
    known = names()
    missing = [
        (place, text)
        for place, text in texts
        if ((found := DOTTED.fullmatch(text)) and not set(found[1].split(".")) <= known)
        or (JOINED.fullmatch(text) and text not in known)
    ]
    assert not missing
