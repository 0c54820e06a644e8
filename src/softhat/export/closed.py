"""Files mean what they say: nothing is proved of an export that holds more or less than was proved.

Whoever runs an export reads more than its weights: a configuration with hundreds of options, a
tokenizer with normalizers and templates, weights in other files beside. Most have a default, which
is not ours. So there is one closed list for each target, and it is the function that writes the
file: the few values that a file may choose are read from it, the proof takes them, and then the
file must be, key by key, what that function writes for them. What is missing is refused whatever
the default of a class is; what is not in the list is refused whatever it may mean. The same holds
of the tensors in a file and of the files in a folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from softhat.io.errors import SofthatError
from softhat.io.files import (
    RECORD,
    is_temporary,
    json_bytes,
    parse_json,
    read_bytes,
    read_json,
    read_metadata,
)

AGAIN = "export the model again"
UNREAD = frozenset({"README.md", "LICENSE", "labels.json", ".gitattributes", ".gitignore"})
"""Files that no runtime reads: texts for people, and labels of parts."""
UNREAD_FOLDERS = frozenset({".git", ".cache"})
"""What git and the Hugging Face hub keep for themselves. `__pycache__` is not among them:
Python runs what is in there in place of the program files beside it."""


def check_document(where: str, actual: Any, expected: Any) -> None:
    """A JSON document is the expected one: the same keys and values, of the same types."""
    _check(where, "", actual, expected)


def _check(where: str, at: str, actual: Any, expected: Any) -> None:
    if type(actual) is not type(expected):
        raise SofthatError(_is_not(where, at, actual, expected))
    match expected:
        case dict():
            for key in expected:
                if key not in actual:
                    raise SofthatError(
                        f"{where}: {_named(at, key)} is missing, and defaults are not "
                        f"proved: {AGAIN}"
                    )
            for key, value in actual.items():
                if key not in expected:
                    raise SofthatError(
                        f"{where}: {_named(at, key)} is {_shown(value)}, but softhat writes no "
                        "such key and proves nothing of it: take it out"
                    )
                _check(where, _named(at, key), value, expected[key])
        case list():
            if len(actual) != len(expected):
                raise SofthatError(_is_not(where, at, actual, expected))
            for k, (own, wanted) in enumerate(zip(actual, expected, strict=True)):
                _check(where, f"{at}[{k}]", own, wanted)
        case _:
            if actual != expected:
                raise SofthatError(_is_not(where, at, actual, expected))


def check_files(folder: Path, documents: Mapping[str, Any], others: Iterable[str]) -> None:
    """The folder holds these documents, `others`, what nobody reads, and nothing else."""
    allowed = {*documents, *others, *UNREAD}
    for path in sorted(folder.iterdir()):
        if path.name in allowed or is_temporary(path.name):
            continue
        if path.is_dir() and path.name in UNREAD_FOLDERS:
            continue
        raise SofthatError(
            f"{path} is no file of this export, and what reads it is not proved: take it out"
        )
    for name, expected in documents.items():
        if not (folder / name).exists():
            raise SofthatError(f"{folder} has no {name}: {AGAIN}")
        document = read_json(folder / name, inside=folder)
        if name == "config.json" and isinstance(document, dict):
            document.pop(RECORD, None)  # which files softhat may replace: no class reads it
        wanted = parse_json(json_bytes(expected), name)  # as a file holds it: lists, no tuples
        check_document(str(folder / name), document, wanted)


def check_sources(folder: Path, sources: Mapping[str, bytes]) -> None:
    """The program files of a folder are this version's, byte for byte."""
    for name, expected in sources.items():
        if not (folder / name).exists() or read_bytes(folder / name, inside=folder) != expected:
            raise SofthatError(f"{folder}/{name} is not the one of this version: {AGAIN}")


def check_tensors(
    path: Path, tensors: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """The file has these tensors of these shapes, no other, and says no more of itself than that
    they are PyTorch's."""
    for name, shape in shapes.items():
        if name not in tensors:
            raise SofthatError(f"{path} has no tensor {name}: {AGAIN}")
        if tensors[name].shape != shape:
            raise SofthatError(f"{path}: {name} has the shape {tensors[name].shape}, not {shape}")
    for name in tensors:
        if name not in shapes:
            raise SofthatError(f"{path} has a tensor {name}, of which nothing is proved: {AGAIN}")
    if read_metadata(path, inside=path.parent) not in ({}, {"format": "pt"}):
        raise SofthatError(f"{path} has metadata that softhat does not write: {AGAIN}")


def whole(where: str, document: Mapping[str, Any], key: str) -> int:
    """A size that a file chooses."""
    if key not in document:
        raise SofthatError(f"{where}: {key} is missing: {AGAIN}")
    value = document[key]
    if type(value) is not int or value < 1:
        raise SofthatError(f"{where}: {key} is {_shown(value)}, not a whole number from 1 up")
    return value


def choice(where: str, document: Mapping[str, Any], key: str, allowed: Iterable[str]) -> str:
    """A name that a file chooses."""
    names = list(allowed)
    if key not in document:
        raise SofthatError(
            f"{where}: {key} is missing, and nothing is proved of a default: {AGAIN}"
        )
    if document[key] not in names:
        raise SofthatError(f"{where}: {key} is {_shown(document[key])}, not {' or '.join(names)}")
    return str(document[key])


def _is_not(where: str, at: str, actual: Any, expected: Any) -> str:
    return f"{where}: {at or 'the document'} is {_shown(actual)}, not {_shown(expected)}"


def _named(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
