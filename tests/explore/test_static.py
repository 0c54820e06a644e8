"""The page without a server: it opens from a file, loads nothing, and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from softhat.explore import assets, names, static
from softhat.io.errors import SofthatError
from softhat.io.files import write_folder
from tests.cli.run import softhat
from tests.explore.browser import chromium, needs_browser, ready


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A catalogue of a few inputs of each kind; all of them take a minute."""
    some = {kind: entries[:3] for kind, entries in names.offers().items()}
    some["zoo"] = [
        entry for entry in names.offers()["zoo"] if entry["name"] in ("parity", "dyck-1")
    ]
    some["ahat"] = [entry for entry in names.offers()["ahat"] if entry["name"] == "dyck-uniform"]
    place = tmp_path_factory.mktemp("static") / "page"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static, "offers", lambda: some)
        patch.setattr(assets, "offers", lambda: some)
        count = static.write_static(place, lambda *_: None)
    assert count == sum(map(len, some.values()))
    yield place


def test_the_catalogue_is_data(folder: Path) -> None:
    entries = json.loads((folder / "catalogue.json").read_text())
    parity = next(entry for entry in entries if entry["text"] == "parity")
    assert set(parity["views"]) == {"unbounded", "temperature"}
    assert parity["views"]["unbounded"]["outputs"][0]["at"] == "first"


def test_nothing_else_is_overwritten(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SofthatError, match=r"mine\.txt"):
        write_folder(tmp_path, {"index.html": b"", "config.json": b"{}"})
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert not (tmp_path / "index.html").exists()


@needs_browser
def test_it_opens_from_the_file_system_and_answers(folder: Path) -> None:
    with chromium() as browser:
        context = browser.new_context(offline=True, viewport={"width": 1400, "height": 900})
        asked: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((folder / "index.html").as_uri())
        ready(page)
        assert page.inner_text("#verdict").startswith("Accepted")
        assert "no compiler" in page.inner_text("#about")
        assert page.locator("#text").is_editable() is False
        assert "nothing is compiled here" in page.inner_text("#text-name")
        for kind in ("regex", "program", "rasp", "ahat", "zoo"):
            page.select_option("#kind", kind)
            ready(page)
            assert page.inner_text("#answer").startswith("✔"), kind
            assert page.locator(".card").count() >= 1
        page.select_option("#names", label="parity: PARITY: an even number of a")
        page.fill("#word", "abba")
        ready(page)
        assert page.inner_text("#verdict").startswith("Accepted")
        page.fill("#word", "abb")
        ready(page)
        assert page.inner_text("#verdict").startswith("Not accepted")
        page.select_option("#attention", "temperature")
        ready(page)
        assert page.locator("#laws svg").count() >= 1
        assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
        assert errors == []
        context.close()


def test_without_a_terminal_the_command_says_what_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {"formula": names.offers()["formula"][:2]}
    for module in (names, static, assets):
        monkeypatch.setattr(module, "offers", lambda: few)
    done = softhat("explore", "--static", str(tmp_path / "page"))
    assert done.code == 0, done.err
    first, last = done.out.splitlines()
    assert first == "compiling 2 inputs: this takes a minute or two"
    assert last.startswith("2 inputs written to ")
