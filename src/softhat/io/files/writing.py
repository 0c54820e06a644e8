"""Putting files and folders in place: whole or not at all, and nobody else's work under them.

One file is written under a temporary name beside its own and renamed. Files that belong together
(a folder's, an ONNX graph and its certificate) change in one step, see `_exchange`: whoever is
killed, or reads, in between finds the old ones or the new ones. New folders are built beside
their place and renamed. One writer at a time works in a directory, under a lock that the system
takes back from the dead; what a killed writer left there is put right by the next.

Only what softhat wrote is replaced. A folder's `config.json` lists the digests of the files that
were written with it, so that a file which came later, or changed since, is known for somebody's
work and refused by name; and a folder is replaced only by one of its own kind, a model by a model
and never by a page. The one file that a user names (`-o trace.json`) is replaced as by any
program, unless it is an input or a part of a model (`check_output`); a link stays a link, and
devices and pipes are written to, never replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from softhat.io.errors import SofthatError
from softhat.io.files.names import as_path, is_folder
from softhat.io.files.reading import MOST_TENSOR_BYTES, refusals
from softhat.io.files.replacing import check_is_folder, check_replaceable
from softhat.io.protection import RECORD, check_derived, check_not_joining, check_output

PATIENCE = 30.0
"""Seconds to wait for another writer."""
_OURS = re.compile(r"\.softhat-[0-9a-f]{16}\.(file|folder|set)\Z")


def json_bytes(document: Any) -> bytes:
    """A JSON document as it stands in our files."""
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def json_files(documents: Mapping[str, Any]) -> dict[str, bytes]:
    """JSON documents by the names of their files."""
    return {name: json_bytes(document) for name, document in documents.items()}


def write_file(path: str | Path, data: bytes, own: bool = False) -> None:
    """Put `data` at `path`, in a folder that exists. A device or a pipe is written to.

    `own` says that the file is the writer's to replace, such as a state that it has read itself;
    any other must not be an input or a part of a model (`softhat.io.protection`).
    """
    target = as_path(path)
    with refusals("write", target):
        if _is_stream(target):
            _write_stream(target, data)
            return
        if not own:
            check_output(target)
        target = resolved(target)
        with locked(target.parent), _scratch(target.parent) as fresh:
            _write_new(fresh, data, _mode(target))
            fresh.replace(target)


def resolved(path: str | Path) -> Path:
    """Where a name leads. Links that a killed run left are not the user's: they are gone first."""
    with refusals("write", as_path(path)):
        parent = os.path.realpath(as_path(path).parent)
        if is_folder(parent):
            with locked(parent):
                pass
        return Path(os.path.realpath(path))


def check_writable(path: str | Path) -> None:
    """Refuse a file that could not be written later, before any work is done for it."""
    target = as_path(path)
    with refusals("write", target):
        if not _is_stream(target):
            check_output(target)
            _check_takes_files(resolved(target).parent)


def check_folder_writable(folder: str | Path, config: Mapping[str, Any]) -> None:
    """Refuse a folder that could not be written later, before any work is done for it."""
    with refusals("write", as_path(folder)):
        place = Path(os.path.realpath(folder))
        check_not_joining(place)
        if place.exists():
            check_is_folder(folder)
            with locked(place):
                check_replaceable(folder, config)
        above = next(parent for parent in (place, *place.parents) if parent.exists())
        _check_takes_files(above)


def _check_takes_files(directory: Path) -> None:
    with locked(directory), _scratch(directory) as fresh:
        fresh.touch()


def write_files(
    directory: str | Path, contents: Mapping[str, bytes], derived: Mapping[str, str] | None = None
) -> None:
    """Put files of one directory in place together; its other files are left alone.

    `derived` has the kind (see `check_derived`) of those whose names the user did not choose.
    """
    kinds = derived or {}
    with refusals("write", as_path(directory)):
        place = Path(os.path.realpath(directory))
        make_folder(place)
        for name in contents:
            if name in kinds:
                check_derived(place / name, kinds[name])
            else:
                check_output(place / name)
            if (place / name).exists() and not (place / name).is_file():
                raise SofthatError(f"{place / name} is not a regular file: choose another name")
        with locked(place):
            _exchange(place, contents, contents)


def write_folder(folder: str | Path, contents: Mapping[str, bytes]) -> None:
    """Put a folder with these files in place. What may be there already: nothing, an empty folder,
    or a folder of the same kind that softhat wrote.

    `contents` has a `config.json`, in which the digests of the others are recorded.
    """
    for name, data in contents.items():
        if len(data) > MOST_TENSOR_BYTES:
            raise SofthatError(f"{name} has {len(data):,} bytes: softhat reads no such file")
    contents = _recorded(contents)
    with refusals("write", as_path(folder)):
        place = Path(os.path.realpath(folder))
        check_not_joining(place)
        make_folder(place.parent)
        with locked(place.parent):
            if place.exists():
                check_is_folder(folder)
                with locked(place):
                    old = check_replaceable(folder, json.loads(contents["config.json"]))
                    _exchange(place, contents, old)
                return
            fresh = _temporary(place.parent, "folder")
            try:
                fresh.mkdir()
                for name, data in contents.items():
                    _write_new(fresh / name, data)
                fresh.rename(place)
            except BaseException:  # Ctrl-C too
                shutil.rmtree(fresh, ignore_errors=True)
                raise


def _recorded(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """The contents with the digests of the other files in `config.json`."""
    config = json.loads(contents["config.json"])
    config[RECORD] = {
        name: hashlib.sha256(data).hexdigest()
        for name, data in sorted(contents.items())
        if name != "config.json"
    }
    return {**contents, "config.json": json_bytes(config)}


def _exchange(directory: Path, contents: Mapping[str, bytes], old: Iterable[str]) -> None:
    """Let `contents` take the place of the files `old` of the directory, all in one moment.

    Both sets of files stand in a folder of their own, `old` and `new`, and `now` is a link to
    one of them. First each name becomes a link to its file by way of `now`, which is `old`: to
    whoever reads, nothing changes. Then `now` becomes `new`, which is one step for all names.
    Then each link is replaced by the new file itself. A killed run leaves links that lead to
    one set or the other, and `_settle` does the rest.
    """
    names = sorted({*old, *contents})
    if ([*contents] == names and len(names) == 1) or not _links_work(directory):
        _one_by_one(directory, contents, old)
        return
    place = _temporary(directory, "set")
    try:
        (place / "new").mkdir(parents=True)
        (place / "old").mkdir()
        for name, data in contents.items():
            _write_new(place / "new" / name, data, _mode(directory / name))
        for name in old:
            with suppress(FileNotFoundError):
                os.link(directory / name, place / "old" / name)
        (place / "now").symlink_to("old")
        for name in names:
            (place / "link").symlink_to(f"{place.name}/now/{name}")
            (place / "link").replace(directory / name)
        (place / "link").symlink_to("new")
        (place / "link").replace(place / "now")
    finally:
        _settle(directory, place)


def _settle(directory: Path, place: Path) -> None:
    """Finish an exchange, at whatever step it stopped: files instead of links, then no trace."""
    prefix = f"{place.name}/now/"
    for path in directory.iterdir():
        if not path.is_symlink() or not str(path.readlink()).startswith(prefix):
            continue
        step, source = place / "link", place / "now" / path.name
        step.unlink(missing_ok=True)
        if source.exists():
            os.link(source, step)  # not moved: somebody may be following the link right now
            step.replace(path)
        else:
            path.unlink()
    shutil.rmtree(place, ignore_errors=True)


def _one_by_one(directory: Path, contents: Mapping[str, bytes], old: Iterable[str]) -> None:
    """A single file; or several without links, which some file systems do not have: each is
    whole, and all are put back if one fails."""
    names = sorted({*old, *contents})
    with ExitStack() as scratches:
        fresh = {name: scratches.enter_context(_scratch(directory)) for name in contents}
        for name, data in contents.items():
            _write_new(fresh[name], data, _mode(directory / name))
        several = names if len(names) > 1 else ()
        earlier = {
            name: (directory / name).read_bytes() if (directory / name).exists() else None
            for name in several
        }
        try:
            for name in names:
                if name in contents:
                    fresh[name].replace(directory / name)
                else:
                    (directory / name).unlink()
        except BaseException:  # Ctrl-C too
            for name, before in earlier.items():
                if before is None:
                    (directory / name).unlink(missing_ok=True)
                else:
                    (directory / name).write_bytes(before)
            raise


def _links_work(directory: Path) -> bool:
    """Does the file system have both kinds of links?"""
    with _scratch(directory) as one, _scratch(directory) as two:
        try:
            one.symlink_to("nothing")
            one.unlink()
            one.touch()
            os.link(one, two)
        except (OSError, NotImplementedError):
            return False
    return True


_held = threading.local()


def is_temporary(name: str) -> bool:
    """Is it a file or folder of a save that is going on, or was killed?"""
    return _OURS.fullmatch(name) is not None


@contextmanager
def locked(directory: str | Path, patience: float = PATIENCE) -> Iterator[None]:
    """Be the only softhat that writes in a directory; whoever holds it may lock it again."""
    try:
        import fcntl
    except ImportError:  # not on this system: then it is up to the user
        yield
        return
    handle = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        mine: set[tuple[int, int]] = _held.__dict__.setdefault("directories", set())
        key = (status.st_dev, status.st_ino)
        if key in mine:
            yield
            return
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise SofthatError(
                        f"another run is writing in {directory}: wait for it"
                    ) from None
                time.sleep(0.02)
            except OSError:  # a file system without locks
                yield
                return
        mine.add(key)
        try:
            _sweep(Path(directory))
            yield
        finally:
            mine.discard(key)
    finally:
        os.close(handle)


def _sweep(directory: Path) -> None:
    """Put right what killed runs left: under the lock, nobody else is at work here."""
    for path in directory.iterdir():
        ours = _OURS.match(path.name)
        if ours is None:
            continue
        with suppress(OSError):
            if ours[1] == "set":
                _settle(directory, path)
            elif ours[1] == "folder":
                shutil.rmtree(path)
            else:
                path.unlink()


def _temporary(directory: Path, kind: str) -> Path:
    return directory / f".softhat-{os.urandom(8).hex()}.{kind}"


@contextmanager
def _scratch(directory: Path) -> Iterator[Path]:
    """The name of a temporary file: what is not put in place by then is gone, at Ctrl-C too."""
    path = _temporary(directory, "file")
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink()


def _write_new(path: Path, data: bytes, mode: int | None = None) -> None:
    with path.open("xb") as file:
        if mode is not None and hasattr(os, "fchmod"):
            with suppress(OSError):
                os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())  # else a power cut after the renaming could leave it empty


def _mode(path: Path) -> int | None:
    """The permissions of the file that is replaced."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None


def _is_stream(path: Path) -> bool:
    """A device, a pipe, or another name of this process's own output."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise SofthatError(f"{path} is a folder: give the name of a file")
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise SofthatError(f"{path} is a disk or a socket: give the name of a file")
    return not stat.S_ISREG(mode) or str(path.absolute()).startswith(("/dev/", "/proc/"))


def _write_stream(path: Path, data: bytes) -> None:
    # Without waiting: a pipe that nobody reads is an error, not a hang.
    flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    handle = os.open(path, os.O_WRONLY | flags)
    with os.fdopen(handle, "wb") as file:
        os.set_blocking(handle, True)
        file.write(data)


def make_folder(folder: str | Path) -> None:
    """`mkdir -p`, however many levels there are."""
    missing = []
    with refusals("write", as_path(folder)):
        directory = Path(os.path.realpath(folder))
        while not directory.exists():
            missing.append(directory)
            directory = directory.parent
        check_not_joining(folder)
        if not missing:
            check_is_folder(folder)
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
