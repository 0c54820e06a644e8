"""Writing: whole or not at all, whenever it is killed; nothing of anybody else is replaced."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import threading
from pathlib import Path
from unittest import mock

import pytest

from softhat.io.errors import SofthatError
from softhat.io.files import (
    check_folder_writable,
    check_writable,
    locked,
    write_file,
    write_files,
    write_folder,
    writing,
)
from tests.kills import killed_at
from tests.slices import every

OLD = {"config.json": b'{"n": 1}', "weights": b"old" * 1000, "gone": b"only in the old one"}
NEW = {"config.json": b'{"n": 2}', "weights": b"new" * 2000, "come": b"only in the new one"}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def holds(folder: Path, contents: dict[str, bytes]) -> bool:
    """Are the files, read through links as anybody would, these and no others?"""
    found = {p.name for p in folder.iterdir() if p.exists() and not p.name.startswith(".softhat")}
    if found != contents.keys():
        return False
    plain = all((folder / k).read_bytes() == v for k, v in contents.items() if k != "config.json")
    config = json.loads((folder / "config.json").read_bytes())
    return plain and config["n"] == json.loads(contents["config.json"])["n"]


def test_a_folder_is_made_replaced_and_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "er" / "m"
    write_folder(folder, OLD)
    assert holds(folder, OLD) and names(folder) == sorted(OLD)
    inode = folder.stat().st_ino
    write_folder(folder, NEW)
    assert holds(folder, NEW) and names(folder) == sorted(NEW)
    assert folder.stat().st_ino == inode  # who stands in it stays in it
    assert names(folder.parent) == ["m"]
    record = json.loads((folder / "config.json").read_text())["softhat_files"]
    assert record == {name: hashlib.sha256(NEW[name]).hexdigest() for name in ("come", "weights")}
    assert not any(path.is_symlink() for path in folder.iterdir())


@pytest.mark.parametrize("step", every(2, [3, 1]))
def test_killed_at_every_event_of_replacing_a_folder(tmp_path: Path, step: int) -> None:
    folder = tmp_path / "m"
    write_folder(folder, OLD)
    seen = set()
    for k in range(0, 1000, step):
        going = killed_at(k, tmp_path, lambda: write_folder(folder, NEW))
        seen.add("old" if holds(folder, OLD) else "new")
        assert holds(folder, OLD) or holds(folder, NEW), k
        write_folder(folder, OLD)
        assert holds(folder, OLD) and names(folder) == sorted(OLD) and names(tmp_path) == ["m"], k
        if not going:
            break
    assert k > 40 and seen == {"old", "new"}


def test_killed_at_every_event_of_making_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "m"
    for k in range(1000):
        going = killed_at(k, tmp_path, lambda: write_folder(folder, NEW))
        assert not folder.exists() or holds(folder, NEW), k
        write_folder(folder, NEW)
        assert holds(folder, NEW) and names(folder.parent) == ["m"], k
        for path in (*folder.iterdir(), folder, folder.parent):
            path.unlink() if path.is_file() else path.rmdir()
        if not going:
            break
    assert k > 8


@pytest.mark.parametrize("step", every(2, [3, 1]))
def test_killed_at_every_event_of_writing_one_and_three_files(tmp_path: Path, step: int) -> None:
    one = tmp_path / "one"
    together = dict(NEW)
    before = dict.fromkeys(together, b"before")
    for work in (
        lambda: write_file(one, b"after"),
        lambda: write_files(tmp_path, together),
    ):
        for k in range(0, 1000, step):
            write_file(one, b"before")
            write_files(tmp_path, before)
            assert names(tmp_path) == sorted(["one", *together])
            going = killed_at(k, tmp_path, work)
            assert one.read_bytes() in (b"before", b"after")
            found = {name: (tmp_path / name).read_bytes() for name in together}
            assert found in (before, together), k
            if not going:
                break
        assert k > 3


def test_killed_half_way_through_the_bytes(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", OLD)

    def half(path: Path, data: bytes, mode: int | None = None) -> None:
        path.write_bytes(data[: len(data) // 2])
        os.kill(os.getpid(), 9)

    with mock.patch.object(writing, "_write_new", half):
        assert killed_at(-1, tmp_path, lambda: write_folder(tmp_path / "m", NEW))
        assert killed_at(-1, tmp_path, lambda: write_folder(tmp_path / "n", NEW))
        assert killed_at(-1, tmp_path, lambda: write_file(tmp_path / "f", b"123456"))
    assert holds(tmp_path / "m", OLD)
    write_folder(tmp_path / "m", NEW)
    assert names(tmp_path) == ["m"] and names(tmp_path / "m") == sorted(NEW)


@pytest.mark.parametrize("links", [True, False])
def test_what_fails_leaves_everything_as_it_was(tmp_path: Path, links: bool) -> None:
    write_folder(tmp_path / "m", OLD)
    write_file(tmp_path / "f", b"before")
    write = writing._write_new

    def full(path: Path, data: bytes, mode: int | None = None) -> None:
        write(path, data[:3], mode)
        if data == NEW["weights"]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with (
        mock.patch.object(writing, "_write_new", full),
        mock.patch.object(writing, "_links_work", lambda directory: links),
    ):
        for work in (
            lambda: write_folder(tmp_path / "m", NEW),
            lambda: write_folder(tmp_path / "n", NEW),
            lambda: write_files(tmp_path, NEW),
            lambda: write_file(tmp_path / "f", NEW["weights"]),
        ):
            with pytest.raises(SofthatError, match=r"cannot write .*No space left"):
                work()
    assert holds(tmp_path / "m", OLD) and (tmp_path / "f").read_bytes() == b"before"
    assert names(tmp_path) == ["f", "m"] and names(tmp_path / "m") == sorted(OLD)


def test_without_links_files_are_replaced_one_by_one(tmp_path: Path) -> None:
    with mock.patch.object(writing, "_links_work", lambda directory: False):
        write_folder(tmp_path / "m", OLD)
        write_folder(tmp_path / "m", NEW)
    assert holds(tmp_path / "m", NEW) and names(tmp_path / "m") == sorted(NEW)


def test_without_links_all_are_put_back_if_one_cannot_be(tmp_path: Path) -> None:
    """What was new is gone again: a file that no record names could never be replaced."""
    write_folder(tmp_path / "m", OLD)
    replace = Path.replace

    def refuse(path: Path, target: Path) -> Path:
        if target.name == "weights":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return replace(path, target)

    with (
        mock.patch.object(writing, "_links_work", lambda directory: False),
        mock.patch.object(Path, "replace", refuse),
        pytest.raises(SofthatError, match=r"cannot write"),
    ):
        write_folder(tmp_path / "m", NEW)
    assert holds(tmp_path / "m", OLD) and names(tmp_path / "m") == sorted(OLD)
    write_folder(tmp_path / "m", NEW)
    assert holds(tmp_path / "m", NEW) and names(tmp_path / "m") == sorted(NEW)


def test_other_peoples_files_are_refused_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    write_folder(folder, OLD)
    (folder / "notes.txt").write_text("precious")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref")
    (folder / "weights").write_bytes(b"trained for a week")
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    with pytest.raises(SofthatError, match=r"did not write \.git, notes\.txt, weights"):
        write_folder(folder, NEW)
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before
    for k in range(9):
        (folder / f"{k}").write_text("")
    with pytest.raises(SofthatError, match=r"0, 1, 2, 3 and 7 more"):
        write_folder(folder, NEW)


@pytest.mark.parametrize(
    "config",
    [
        '{"model_type": "bert"}',
        '{"author": "softhat fan"}',
        '{"softhat_files": {}}',
        '{"softhat_files": {"model.safetensors": "0"}}',
        '{"softhat_files": ["model.safetensors"]}',
        "softhat",
        "[]",
    ],
)
def test_models_of_other_programs_are_kept(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "model.safetensors").write_bytes(b"precious")
    with pytest.raises(SofthatError, match=r"did not write .*model\.safetensors"):
        write_folder(tmp_path, NEW)
    assert (tmp_path / "model.safetensors").read_bytes() == b"precious"
    assert (tmp_path / "config.json").read_text() == config


def test_links_stay_links(tmp_path: Path) -> None:
    write_folder(tmp_path / "real", OLD)
    (tmp_path / "m").symlink_to("real")
    write_folder(tmp_path / "m", NEW)
    assert (tmp_path / "m").is_symlink() and holds(tmp_path / "real", NEW)
    (tmp_path / "later").symlink_to("not/yet")
    write_folder(tmp_path / "later", NEW)
    assert (tmp_path / "later").is_symlink() and holds(tmp_path / "not" / "yet", NEW)
    (tmp_path / "f").symlink_to("file")
    write_file(tmp_path / "f", b"1")
    write_file(tmp_path / "f", b"2")
    assert (tmp_path / "f").is_symlink() and (tmp_path / "file").read_bytes() == b"2"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(SofthatError):
        write_file(tmp_path / "loop", b"")
    assert (tmp_path / "loop").is_symlink()
    (folder := tmp_path / "real").joinpath("weights").unlink()
    (folder / "weights").symlink_to("/etc/passwd")
    with pytest.raises(SofthatError, match="did not write weights"):
        write_folder(folder, OLD)


def test_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(Path(), OLD)
    write_folder(".", NEW)
    assert holds(Path(), NEW) and names(tmp_path) == sorted(NEW)
    Path("mine").write_text("")
    with pytest.raises(SofthatError, match="did not write mine"):
        write_folder(".", OLD)
    assert holds(tmp_path, {**NEW, "mine": b""})


def test_devices_and_pipes_are_written_to_or_refused(tmp_path: Path) -> None:
    write_file("/dev/null", b"nothing")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(SofthatError, match="No space left"):
        write_file("/dev/full", b"x")
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(SofthatError, match="cannot write"):
        write_file(pipe, b"nobody reads")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(pipe, b"somebody reads")
    found = [os.read(reader, 100)]
    os.close(reader)
    assert found == [b"somebody reads"] and stat.S_ISFIFO(pipe.stat().st_mode)
    for work in (lambda: write_folder(pipe, NEW), lambda: write_files(tmp_path, {"pipe": b""})):
        with pytest.raises(SofthatError):
            work()
    assert stat.S_ISFIFO(pipe.stat().st_mode) and names(tmp_path) == ["pipe"]
    with pytest.raises(SofthatError, match="is a folder"):
        write_file("/", b"")


@pytest.mark.parametrize("name", ["a/" * 2500, "x" * 300, "nu\0l", "file/below"])
def test_names_that_cannot_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("mine")
    for write in (lambda p: write_file(p, b""), lambda p: write_folder(p, NEW)):
        with pytest.raises(SofthatError, match=r"cannot write|is a file|name of a file"):
            write(tmp_path / name)
    assert (tmp_path / "file").read_text() == "mine"


def test_two_writers_take_turns(tmp_path: Path) -> None:
    faults: list[BaseException] = []

    def write(contents: dict[str, bytes]) -> None:
        try:
            for _ in range(20):
                write_folder(tmp_path / "m", contents)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=write, args=(c,)) for c in (OLD, NEW)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        if (tmp_path / "m").exists():
            assert (tmp_path / "m" / "weights").read_bytes() in (OLD["weights"], NEW["weights"])
    for thread in threads:
        thread.join()
    assert not faults
    assert holds(tmp_path / "m", OLD) or holds(tmp_path / "m", NEW)
    assert names(tmp_path) == ["m"]


def test_a_writer_does_not_wait_for_ever(tmp_path: Path) -> None:
    import fcntl

    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(SofthatError, match="another run is writing"), locked(tmp_path, patience=0):
        pass
    os.close(handle)
    with locked(tmp_path), locked(tmp_path):  # whoever holds it may lock it again
        pass


def test_permissions_are_kept(tmp_path: Path) -> None:
    write_file(tmp_path / "f", b"1")
    (tmp_path / "f").chmod(0o600)
    write_file(tmp_path / "f", b"2")
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600


def test_ctrl_c_while_it_is_tried_whether_a_file_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch = Path.touch

    def interrupted(path: Path) -> None:
        touch(path)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "touch", interrupted)
    for check in (
        lambda: check_writable(tmp_path / "x.json"),
        lambda: check_folder_writable(tmp_path / "new" / "model", {}),
    ):
        with pytest.raises(KeyboardInterrupt):
            check()
        assert not list(tmp_path.iterdir())
