"""What an output never replaces, so that no command destroys what somebody needs.

Three rules, asked by `softhat.io.files.writing` before a file is put in place:

1. A command never writes over a file that it has read. The command line turns this on
   (`watch_inputs`); a file is known by its device and inode, so links do not hide it.
2. The files of a model folder, a checkpoint, a corpus or an exam's paper change only together, and
   so do an ONNX graph and what says what it is: never one of them as the output of something else.
   No output joins a folder that softhat wrote: with a file more an export is not certified, and no
   folder is replaced.
3. A file whose name the user did not choose (the data beside a picture, the labels beside an ONNX
   graph) replaces only a file that softhat wrote for the same purpose, as its field `format` says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from softhat.io.errors import SofthatError

RECORD = "softhat_files"
"""The field of a model folder's `config.json` with the digests of the folder's other files."""
_CORPUS_HAS = re.compile(r"[^/]+(/[^/]+)?")
_PAPER_HAS = re.compile(r"paper\.json|questions\.jsonl|README\.md|(models|truth)/.+")
_INDEXED = {"corpus.json": ("corpus", _CORPUS_HAS), "paper.json": ("exam", _PAPER_HAS)}
"""Folders that grow file by file: what they are, by the file that says so, and what is theirs."""
_DEEPEST = 3  # folders between such a file and the deepest one, and one
_BESIDE_ONNX = re.compile(r"(.+)\.(certificate|labels)\.json")
"""What `to_onnx` writes beside a graph."""
_CHECKPOINT = re.compile(
    r"config\.json|generation_config\.json|.*\.safetensors(\.index\.json)?|pytorch_model.*\.bin"
    r"|tokenizer.*|vocab\..*|merges\.txt|(special|added)_tokens.*\.json"
)
"""Files that a checkpoint of Hugging Face consists of."""
_LARGEST_CONFIG = 1 << 26  # bytes; a larger config.json is no model's

_inputs: set[tuple[int, int]] | None = None
"""Device and inode of each file read since `watch_inputs`; None while nobody watches."""


@contextmanager
def watch_inputs() -> Iterator[None]:
    """Inside, no file that was read can be written over."""
    global _inputs
    outer, _inputs = _inputs, set()
    try:
        yield
    finally:
        _inputs = outer


def note_input(handle: int) -> None:
    """An open file is being read."""
    if _inputs is not None:
        status = os.fstat(handle)
        _inputs.add((status.st_dev, status.st_ino))


def is_input(path: str | Path) -> bool:
    """Was the file under this name read since `watch_inputs`?"""
    if not _inputs:
        return False
    try:
        status = os.stat(path)  # noqa: PTH116 - Path.stat takes no bytes names
    except OSError:
        return False
    return (status.st_dev, status.st_ino) in _inputs


def check_output(path: str | Path) -> None:
    """Refuse to put an output at `path` if that would destroy an input or a part of a model."""
    _check_unowned(path)
    check_not_joining(path)
    beside = _BESIDE_ONNX.fullmatch(Path(path).name)
    if beside is not None and Path(path).with_name(f"{beside[1]}.onnx").is_file():
        raise SofthatError(
            f"{path} belongs to {beside[1]}.onnx: choose another name for the output"
        )


def _check_unowned(path: str | Path) -> None:
    target = Path(os.path.realpath(path))
    if not target.is_file():
        return
    if is_input(target):
        raise SofthatError(f"{path} is what this command reads: choose another name for the output")
    owner = _owner(target)
    if owner is not None:
        raise SofthatError(
            f"{path} belongs to the {owner} {target.parent}: choose another name for the output"
        )


def check_not_joining(path: str | Path) -> None:
    """Refuse a new file or folder in a folder that softhat wrote as a whole."""
    target = Path(os.path.realpath(path))
    if target.exists():
        return
    while not target.parent.exists():
        target = target.parent
    if not (target.parent / "config.json").is_file():
        return
    try:
        config = document(target.parent / "config.json")
    except SofthatError:
        return
    if isinstance(config, dict) and isinstance(config.get(RECORD), dict):
        raise SofthatError(
            f"{target.parent} is a folder that softhat wrote as a whole: write {target.name} to "
            "another place"
        )


def check_derived(path: str | Path, kind: str) -> None:
    """Refuse to replace a file that the user did not name, unless softhat wrote one of this kind.

    The kind is what the field `format` begins with. An AHAT's file is softhat's too, and no data
    of a picture may replace it.
    """
    _check_unowned(path)
    if not os.path.lexists(path):
        return
    try:
        written = str(document(Path(path))["format"]).partition("/")[0]
    except (SofthatError, KeyError, TypeError):
        written = ""
    if written != kind:
        raise SofthatError(
            f"{path} is in the way, and softhat did not write it: choose another name"
        )


def _owner(target: Path) -> str | None:
    """What the file is a part of: a model folder, a checkpoint, a corpus, or nothing."""
    for place, _ in zip(target.parents, range(_DEEPEST), strict=False):
        name = target.relative_to(place).as_posix()
        for index, (kind, has) in _INDEXED.items():
            if has.fullmatch(name) and _is_indexed(place / index, kind):
                return kind
    config_file = target.parent / "config.json"
    if not config_file.is_file():
        return None
    try:
        config = document(config_file)
    except SofthatError:
        return None
    if not isinstance(config, dict):
        return None
    recorded = config.get(RECORD)
    if isinstance(recorded, dict) and (target.name in recorded or target == config_file):
        return "model folder"
    is_model = "model_type" in config or str(config.get("format", "")).startswith("softhat")
    return "model folder" if is_model and _CHECKPOINT.fullmatch(target.name) else None


def _is_indexed(file: Path, kind: str) -> bool:
    if not file.is_file():
        return False
    try:
        return str(document(file)["format"]).startswith(f"softhat-{kind}/")
    except (SofthatError, KeyError, TypeError):
        return False


def document(path: Path) -> Any:
    """The JSON in a file, without making it an input: it is looked at only to see whose it is."""
    from softhat.io.files.reading import parse_json, read_stream

    if not path.is_file() or path.stat().st_size > _LARGEST_CONFIG:
        raise SofthatError(f"{path} is not a JSON file of softhat")
    with path.open("rb") as file:
        return parse_json(read_stream(file, str(path)), str(path))
