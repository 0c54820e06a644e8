"""What a verification keeps in a file is believed only if this softhat wrote it there."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import softhat
from softhat.io.errors import SofthatError
from softhat.io.files import writing
from tests.cli.run import softhat as command
from tests.models.verification.test_verify import SMALL, stable


def forged_all(document: dict[str, Any]) -> None:
    """Invent an untroubled finding for every item."""
    found = next(iter(document["done"].values()))
    document["done"] = {str(k): {**found, "mismatch": None} for k in range(10_000)}


def forged_one(document: dict[str, Any]) -> None:
    document["done"]["0"]["words"] += 1


def forged_signature(document: dict[str, Any]) -> None:
    document["done"].pop("0")
    document["signature"] = "0" * 64


def no_signature(document: dict[str, Any]) -> None:
    document["done"].pop("0")
    document["signature"] = None


@pytest.mark.parametrize("forge", [forged_all, forged_one, forged_signature, no_signature])
def test_invented_entries_are_not_believed(
    tmp_path: Path, forge: Callable[[dict[str, Any]], None]
) -> None:
    file = tmp_path / "state.json"
    model = softhat.compile("a S b", alphabet="ab")
    expected = stable(softhat.verify(model, resume=file, **SMALL))
    assert stable(softhat.verify(model, resume=file, **SMALL)) == expected
    document = json.loads(file.read_text())
    forge(document)
    file.write_text(json.dumps(document))
    with pytest.raises(SofthatError, match="cannot be believed"):
        softhat.verify(model, resume=file, **SMALL)


def test_exit_code_of_an_invented_file(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    arguments = [
        "verify", "a S b", "--alphabet", "ab", "--exhaustive", "4", "--random", "5",
        "--adversarial", "2", "--max-length", "20", "-j", "1", "--resume", str(file),
    ]  # fmt: skip
    assert command(*arguments).code == 0
    document = json.loads(file.read_text())
    forged_all(document)
    file.write_text(json.dumps(document))
    done = command(*arguments)
    assert done.code == 2 and "cannot be believed" in done.err and not done.out


def test_another_softhat_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    model = softhat.compile("a S b", alphabet="ab")
    softhat.verify(model, resume=file, **SMALL)
    with (
        mock.patch("softhat.models.verification.verify.source_digest", lambda: "another"),
        pytest.raises(SofthatError, match="another softhat"),
    ):
        softhat.verify(model, resume=file, **SMALL)


def test_another_user_does_not_believe_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "state.json"
    model = softhat.compile("a S b", alphabet="ab")
    softhat.verify(model, resume=file, **SMALL)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    with pytest.raises(SofthatError, match="cannot be believed"):
        softhat.verify(model, resume=file, **SMALL)
    assert (tmp_path / "another" / "softhat" / "key").stat().st_mode & 0o777 == 0o600


def test_a_full_disk_does_not_lose_the_verification(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    model = softhat.compile("a S b", alphabet="ab")
    expected = stable(softhat.verify(model, **SMALL))
    write, calls = writing._write_new, 0

    def full(path: Path, data: bytes, mode: int | None = None) -> None:
        nonlocal calls
        calls += 1
        if calls > 1:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, data, mode)

    with (
        mock.patch.object(writing, "_write_new", full),
        pytest.warns(UserWarning, match=r"not kept: cannot write .*No space left"),
    ):
        assert stable(softhat.verify(model, resume=file, **SMALL)) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]
    assert stable(softhat.verify(model, resume=file, **SMALL)) == expected
