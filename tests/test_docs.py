"""The README and the docs are true: their Python blocks run, their commands succeed, their links
lead somewhere."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import softhat
from tests.cli.run import softhat as softhat_command

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


@pytest.fixture
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder to work in that has the project's examples, with warnings as a user has them."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        yield


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("page", pages_with("python"), ids=lambda page: page.name)
def test_python_blocks_run(page: Path) -> None:
    """In this process, so that PyTorch is not loaded once a page; classes need a module's name."""
    code = compile("\n".join(blocks(page, "python")), page.name, "exec")
    exec(code, {"__name__": f"page_{page.stem}"})


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("page", pages_with("console"), ids=lambda page: page.name)
def test_commands_succeed(page: Path) -> None:
    lines = "\n".join(blocks(page, "console")).splitlines()
    commands = [shlex.split(line[2:]) for line in lines if line.startswith("$ ")]
    assert commands
    for program, *arguments in commands:
        assert program == "softhat" and not set(arguments) & {"|", ">", "<", "&&", ";"}
        done = softhat_command(*arguments)
        assert done.code == 0, f"{arguments}\n{done.err}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_headline_is_true() -> None:
    found = re.search(
        r"by (\d+) layers and (\d+) parameters .*?([\d.]+) million symbols in float32: `([^`]+)`",
        (ROOT / "README.md").read_text(),
        re.DOTALL,
    )
    assert found is not None
    model = softhat.compile(found[4], alphabet="ab")
    assert (model.size.layers, model.size.parameters) == (int(found[1]), int(found[2]))
    proved = model.certificate.max_length["float32"]
    assert 0 <= proved - float(found[3]) * 1e6 < 1e5


def test_the_table_of_certified_lengths_is_true() -> None:
    page = (ROOT / "docs" / "certificates.md").read_text()
    examples = {
        "`S O H T` and their mirror images, any depth": ("a S b", "O (a & O b)", "a U b"),
        "`Y Z X N`": ("Y a", "X a"),
    }
    row = re.compile(r"^\| (`[^|]+?) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)
    rows = row.findall(page)
    assert len(rows) >= 4
    for said, *lengths in rows:
        stated = [int(length.replace(",", "")) for length in lengths]
        for text in examples.get(said, (said.strip("`"),)):
            proved = softhat.compile(text, alphabet="abc").certificate.max_length
            assert [proved[d] for d in ("bfloat16", "float16", "float32")] == stated, text
