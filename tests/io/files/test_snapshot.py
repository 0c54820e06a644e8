"""A folder is read as it was at one moment, however often others save into it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import softhat
from softhat.io.errors import SofthatError
from softhat.io.files import read_as_a_whole, read_text, write_folder
from softhat.models.folders import load_compiled


def files(k: int) -> dict[str, bytes]:
    return {"config.json": b'{"k": %d}' % k, "a": b"%d" % k, "b": b"%d" % k}


def test_two_saves_are_never_mixed(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    write_folder(folder, files(0))
    stop = threading.Event()

    def save() -> None:
        k = 0
        while not stop.is_set():
            k += 1
            write_folder(folder, files(k))

    writer = threading.Thread(target=save)
    writer.start()
    try:
        for _ in range(60):
            parts = read_as_a_whole(
                folder, lambda: {read_text(folder / "a"), read_text(folder / "b")}
            )
            assert len(parts) == 1
    finally:
        stop.set()
        writer.join()


def test_a_save_between_two_reads_is_noticed(tmp_path: Path) -> None:
    """Also one that puts back what was there before."""
    folder = tmp_path / "f"
    write_folder(folder, files(1))
    pending = [2, 1]

    def read() -> tuple[str, str]:
        first = read_text(folder / "a")
        if pending:
            write_folder(folder, files(pending.pop(0)))
        return first, read_text(folder / "b")

    first, second = read_as_a_whole(folder, read)
    assert first == second == "1" and not pending


def test_models_saved_over_each_other_while_they_are_loaded(tmp_path: Path) -> None:
    models = [
        softhat.compile("a S b", alphabet="ab"),
        softhat.compile("Y (a & O b)", alphabet="ab"),
    ]
    truth = [[bool(x) for x in m.truth("abbab")] for m in models]
    models[0].save(tmp_path / "m")
    stop = threading.Event()

    def save() -> None:
        while not stop.is_set():
            for model in models:
                model.save(tmp_path / "m")

    writer = threading.Thread(target=save)
    writer.start()
    try:
        for _ in range(25):
            model = load_compiled(tmp_path / "m")
            k = 0 if str(model.formulas["output"]) == "a S b" else 1
            assert [bool(x) for x in model.truth("abbab")] == truth[k]
    finally:
        stop.set()
        writer.join()


def test_a_folder_edited_by_hand_is_read_as_it_is(tmp_path: Path) -> None:
    write_folder(tmp_path / "f", files(1))
    (tmp_path / "f" / "a").write_text("mine")
    assert read_as_a_whole(tmp_path / "f", lambda: read_text(tmp_path / "f" / "a")) == "mine"


def test_a_fault_is_told(tmp_path: Path) -> None:
    write_folder(tmp_path / "f", files(1))

    def read() -> None:
        raise SofthatError("damaged")

    with pytest.raises(SofthatError, match="damaged"):
        read_as_a_whole(tmp_path / "f", read)


def test_a_link_that_leads_nowhere_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a folder is in one state: it is read at the first try, or its fault is told."""
    folder = tmp_path / "f"
    write_folder(folder, files(0))
    (folder / "c").symlink_to(tmp_path / "nothing")
    (folder / "d").symlink_to(folder / "d")
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it waits"))
    assert read_as_a_whole(folder, lambda: read_text(folder / "a", inside=folder)) == "0"
