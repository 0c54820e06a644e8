"""What stands under a name, and what is no name."""

from __future__ import annotations

from pathlib import Path

import pytest

from softhat.io.files import exists, is_file, is_folder


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a")
    asked = [(exists(p), is_file(p), is_folder(p)) for p in (tmp_path, tmp_path / "file")]
    assert asked == [(True, False, True), (True, True, False)]


@pytest.mark.parametrize("name", ["", "no such", "a" * 5000, "a/" * 5000, "\0", "a\0b"])
def test_what_is_no_name_is_nothing(name: str) -> None:
    assert not (exists(name) or is_file(name) or is_folder(name))
