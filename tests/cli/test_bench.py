"""`softhat bench`: one command, tables with ratios, JSON that the results page is made from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from softhat.models.bench.run import SECTIONS, fresh, measure
from softhat.models.bench.running import AGAINST
from softhat.models.bench.tables import BenchTable, markdown, shown
from softhat.models.compiler import compile as softhat_of
from tests.cli.run import softhat
from tests.slices import every


def test_a_quick_section(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    done = softhat("bench", "memory", "--quick", "--out", str(out))
    assert done.code == 0, done.err
    assert "Peak memory" in done.out
    written = json.loads(out.read_text())
    assert written["format"] == "softhat-bench/1"
    assert written["quick"] is True
    table = written["tables"][0]
    assert all(len(row) == len(table["columns"]) for row in table["rows"])
    assert written["machine"]["numpy"]
    stream = table["rows"][1]
    assert stream[0] == "stream"
    assert stream[3] < 1.2  # ten times the tokens, the same memory


@pytest.mark.parametrize(
    ("section", "row"), every(2, [("memory", "stream"), ("startup", "softhat --help")])
)
def test_json_alone_on_standard_output(section: str, row: str) -> None:
    done = softhat("bench", section, "--quick", "--json")
    assert done.code == 0, done.err
    (table,) = json.loads(done.out)["tables"]
    assert row in [row[0] for row in table["rows"]]


def test_an_unknown_section() -> None:
    done = softhat("bench", "speed")
    assert done.code == 2
    assert "no section 'speed': choose from compile" in done.err


@pytest.mark.parametrize("name", every(2, ["verify", "compile"]))
def test_sections_measure_something(name: str) -> None:
    tables = list(measure(fresh(quick=True), [name]))
    assert len(tables) == len(SECTIONS[name])
    for table in tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)


@pytest.mark.full
def test_every_section() -> None:
    results = fresh(quick=True)
    titles = [table.title for table in measure(results)]
    assert len(titles) >= 9
    assert results.seconds > 0


def test_cells() -> None:
    assert [shown(cell) for cell in (None, 1234567, 12345.6, 0.012345, "x")] == [
        "–", "1,234,567", "12,346", "0.0123", "x",
    ]  # fmt: skip
    text = markdown(BenchTable("T", ("a", "b"), (("x | y", 2),), "Note."))
    assert text == "### T\n\nNote.\n\n| a | b |\n| --- | --- |\n| x \\| y | 2 |\n"


@pytest.mark.parametrize("text", AGAINST)
def test_what_is_compared_with_pytorch_attends(text: str) -> None:
    """A formula that simplifies to a constant has no heads, and nothing to compare."""
    assert softhat_of(text, alphabet="abc").size.heads > 0
