"""Kept views: signed, of this source, and never needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from softhat.explore import view_cache
from softhat.explore.requests import view_of

ASKED = {"kind": "zoo", "text": "tomita-1", "alphabet": "", "attention": "unbounded", "word": "aa"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "cache" / "softhat" / "views"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What has been computed, and not read."""
    done: list[Any] = []

    def counted(request: Any) -> Any:
        done.append(request)
        return view_of(request)

    monkeypatch.setattr(view_cache, "view_of", counted)
    return done


def test_a_view_is_made_once(folder: Path, made: list[Any]) -> None:
    first = view_cache.cached_view(ASKED)
    assert json.loads(json.dumps(view_cache.cached_view({**ASKED, "word": "a"}))) == json.loads(
        json.dumps(first)
    )
    assert len(made) == 1
    assert len(list(folder.glob("*.json"))) == 1


def test_what_somebody_else_wrote_is_not_believed(folder: Path, made: list[Any]) -> None:
    view_cache.cached_view(ASKED)
    (file,) = folder.glob("*.json")
    document = json.loads(file.read_text())
    document["view"]["certificate"]["lengths"][0]["length"] = 10**9
    file.write_text(json.dumps(document))
    view = view_cache.cached_view(ASKED)
    assert view["certificate"]["lengths"][0]["length"] != 10**9
    assert len(made) == 2
    file.write_text("{")
    view_cache.cached_view(ASKED)
    assert len(made) == 3


def test_another_source_keeps_its_own(
    folder: Path, made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    view_cache.cached_view(ASKED)
    monkeypatch.setattr(view_cache, "_source", lambda: "another version")
    view_cache.cached_view(ASKED)
    assert len(made) == 2
    assert len(list(folder.glob("*.json"))) == 2


def test_what_is_typed_is_not_kept(folder: Path, made: list[Any]) -> None:
    view_cache.cached_view({**ASKED, "kind": "formula", "text": "a S b"})
    assert not folder.exists()
    assert len(made) == 1


def test_without_a_place_it_is_computed(
    tmp_path: Path, made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert view_cache.cached_view(ASKED)["kind"] == "formula"
    assert view_cache.cached_view(ASKED)["kind"] == "formula"
    assert len(made) == 2
