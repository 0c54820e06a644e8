"""The guide is whole: it builds, its theorems are those of the code, its pictures are made here."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.numbers.positions import NAMES
from tests.slices import every

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
THEORY = sorted((DOCS / "theory").glob("*.md"))
PAGES = [page for page in THEORY if page.name != "index.md"]
NUMBER = re.compile(r"Theorem (\d+)")
STATED = re.compile(r"^\*\*Theorem (\d+)\*\*|^\*\*Theorem (\d+)\.\*\*", re.MULTILINE)
PATH = re.compile(r"`((?:src|tests|proofs)/[\w/.]+)`")


def stated(page: Path) -> list[int]:
    """The theorems that a page states, in order."""
    return [int(a or b) for a, b in STATED.findall(page.read_text())]


def test_theorems_of_the_code_are_those_of_the_guide() -> None:
    cited = {
        int(number)
        for file in (ROOT / "src").rglob("*.py")
        for number in NUMBER.findall(file.read_text())
    }
    numbers = [number for page in PAGES for number in stated(page)]
    assert sorted(numbers) == list(range(1, len(numbers) + 1)), "each number is stated once"
    assert set(numbers) == cited


def test_no_theorem_without_a_number() -> None:
    bare = re.compile(r"^\W*Theorem\W*[.(]", re.MULTILINE)
    for file in (ROOT / "src").rglob("*.py"):
        assert not bare.search(file.read_text()), f"{file}: a theorem without its number"


def test_the_index_lists_every_page_with_its_theorems() -> None:
    listed: dict[str, list[int]] = {}
    for numbers, name in re.findall(
        r"^\| ([\d–, ]+) \| \[[^]]+\]\(([\w-]+\.md)\)",
        (DOCS / "theory" / "index.md").read_text(),
        re.MULTILINE,
    ):
        ends = [part.split("–") for part in numbers.split(", ")]
        listed[name] = [n for end in ends for n in range(int(end[0]), int(end[-1]) + 1)]
    assert listed == {page.name: stated(page) for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_construction_names_its_code_its_proof_and_its_attack(page: Path) -> None:
    text = page.read_text()
    for row in ("built by", "machine-checked", "attacked by"):
        assert f"| {row} |" in text, row
    paths = PATH.findall(text)
    assert any(path.startswith("src/") for path in paths)
    assert any(path.startswith("tests/") for path in paths)
    for path in paths:
        assert (ROOT / path).exists(), path
    assert re.search(r"!\[[^]]+\]\(\.\./images/theory/[\w-]+\.svg\)", text), "no picture"


def test_every_picture_is_made_by_a_script() -> None:
    scripts = "".join(file.read_text() for file in (DOCS / "scripts").glob("*.py"))
    for image in (DOCS / "images").rglob("*"):
        drawn = image.name.removesuffix(".plot.json") if image.suffix == ".json" else image.stem
        if image.is_file() and (image.parent.name != "gallery" or drawn not in GALLERY):
            assert f'"{drawn}"' in scripts, f"{image}: which script makes it?"


def test_the_file_format_names_every_position_feature() -> None:
    text = (DOCS / "ahat-format.md").read_text()
    shares = [f"{place}/n^{k}" for place in "ij" for k in range(1, 9)]
    for name in NAMES:
        assert f'`"{name}"`' in text or name in shares, name


def test_the_page_of_the_zoo_is_the_zoo() -> None:
    script = DOCS / "scripts" / "tables.py"
    done = subprocess.run([sys.executable, str(script), "--check"], timeout=120)
    assert done.returncode == 0, "run `python docs/scripts/tables.py`"


def test_it_builds_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    built = {page.name for page in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "tutorial.html", "api.html", "latest.html"} <= built
    for page in (tmp_path / "site").rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', page.read_text()
        )
        assert not loaded, f"{page.name} loads {loaded[0]}"


@pytest.mark.parametrize("name", every(9, GALLERY))
def test_the_gallery_is_of_the_present(name: str) -> None:
    """Each model is called what it is called now, and its lengths are those of its certificate."""
    page = (DOCS / "gallery.md").read_text()
    section = page.split(f"\n## {name}\n")[1].partition("\n## ")[0]
    title = inspect.cleandoc(GALLERY[name].__doc__ or "").split("\n\n")[0]
    lengths = softhat.simulate(GALLERY[name]()).certificate.max_length
    floats = ", ".join(f"{dtype} to {n:,}" for dtype, n in lengths.items() if n)
    for line in (title, f"- proved right in {floats or 'no float format'}"):
        assert f"\n{line}\n" in section, "run `python docs/scripts/pictures.py gallery`"
