"""Opening files that may be anything: damaged, hostile, or not files at all.

A name can stand for a pipe nobody writes to, a device without end, eight gigabytes of nothing, a
link to somebody's keys. So: only regular files are read, no further than a limit, and a file of a
folder only if it really lies in it. Text is UTF-8 whatever the locale is. JSON is read in linear
time, to a bounded depth, without fields that appear twice and numbers that are none; tensors only
where the header accounts for every byte of the file.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from softhat.io.errors import SofthatError
from softhat.io.files.names import as_path
from softhat.io.protection import note_input

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_BYTES = 1 << 28
"""Of a text that is held in memory as a whole: 256 MiB."""
MOST_TENSOR_BYTES = 1 << 32
"""Of a file of tensors: 4 GiB."""
MOST_TOKENIZER_BYTES = 1 << 26
"""Of a file that another library reads as text: 64 MiB, twice the largest tokenizer known."""
MOST_DEPTH = 64
"""Lists and objects inside each other; our own files need fewer than ten."""
_MOST_HEADER = 100_000_000  # bytes; the limit of the safetensors format
_MOST_ENTRIES = 1 << 31  # along one axis of a tensor

_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
}  # fmt: skip
_OPEN_ALREADY = re.compile(r"/(?:dev|proc/self)/fd/(\d+)\Z")


def opened(path: str | Path, inside: Path | None = None) -> BufferedReader:
    """A regular file, open for reading; one that lies in the folder `inside`, if given.

    Descriptors that this process was started with are taken as they are, so that `@<(command)`
    of a shell and /dev/stdin can be read: opening those waits for nobody.
    """
    name = str(as_path(path))
    with refusals("read", name):
        descriptor = 0 if name == "/dev/stdin" else _descriptor(name)
        if descriptor is not None:
            return os.fdopen(os.dup(descriptor), "rb")
        _check_kind(name, os.stat(name).st_mode)  # noqa: PTH116 - Path.stat takes no bytes names
        if inside is not None and not _lies_in(name, inside):
            raise SofthatError(f"{name} is a link that leads out of its folder: not followed")
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
        try:
            _check_kind(name, os.fstat(handle).st_mode)  # it may be another one by now
            note_input(handle)
            return os.fdopen(handle, "rb")
        except BaseException:  # Ctrl-C too
            os.close(handle)
            raise


@contextmanager
def refusals(doing: str, name: str | Path) -> Iterator[None]:
    """What the system refuses, as an error that names the file."""
    try:
        yield
    except OSError as error:
        raise SofthatError(f"cannot {doing} {name}: {error.strerror or error}") from None
    except ValueError as error:
        if isinstance(error, SofthatError):
            raise
        # A null in the name.
        raise SofthatError(f"cannot {doing} {str(name)!r}: {error}") from None


def read_stream(file: IO[bytes], name: str, most: int = MOST_BYTES) -> bytes:
    """All bytes of an open file or standard input, refused beyond `most`."""
    try:
        data = file.read(most + 1)
    except OSError as error:
        raise SofthatError(f"cannot read {name}: {error.strerror or error}") from None
    if len(data) > most:
        raise SofthatError(f"{name} is too large: it has more than {most:,} bytes")
    return data


def read_bytes(path: str | Path, inside: Path | None = None, most: int = MOST_BYTES) -> bytes:
    """What a file holds."""
    with opened(path, inside) as file:
        _check_size(path, os.fstat(file.fileno()).st_size, most)
        return read_stream(file, str(path), most)


def read_text(path: str | Path, inside: Path | None = None) -> str:
    """What a file holds, as UTF-8 text."""
    return decoded(read_bytes(path, inside), str(path))


def decoded(data: bytes, name: str) -> str:
    """UTF-8, with or without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SofthatError(
            f"cannot read {name}: it is not UTF-8 text: byte {error.start} is wrong"
        ) from None


def check_folder(folder: Path) -> None:
    """Refuse a folder that another library shall load if it would wait, or read without end."""
    for path in folder.iterdir():
        if path.is_dir():
            continue
        if not path.is_file():
            raise SofthatError(f"{path} is not a regular file: not a checkpoint to be opened")
        most = MOST_TENSOR_BYTES if path.suffix == ".safetensors" else MOST_TOKENIZER_BYTES
        if path.suffix in (".json", ".txt", ".jinja", ".safetensors"):
            _check_size(path, path.stat().st_size, most)


def read_json(path: str | Path, inside: Path | None = None) -> Any:
    """The JSON document in a file."""
    return parse_json(read_text(path, inside), str(path))


def parse_json(text: str | bytes, name: str) -> Any:
    """A JSON document; `name` says in errors where it stands."""
    if isinstance(text, bytes):
        text = decoded(text, name)
    _check_depth(text, name)
    try:
        document = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_number,
            parse_float=_finite,
        )
    except json.JSONDecodeError as error:
        raise SofthatError(
            f"{name} is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from None
    except SofthatError as error:
        raise SofthatError(f"{name}: {error}") from None
    except ValueError as error:  # an integer with thousands of digits
        raise SofthatError(f"{name} holds a number that cannot be read: {error}") from None
    if re.search(r"\\u[dD][89a-fA-F]", text):
        try:
            json.dumps(document, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise SofthatError(f"{name} holds half a character (a lone surrogate)") from None
    return document


def read_tensors(
    path: str | Path,
    inside: Path | None = None,
    wanted: Callable[[str], bool] = lambda name: True,
) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file, by name: all, or the wanted ones."""
    import numpy as np

    name = str(path)
    with opened(path, inside) as file:
        header, size, length = _header(file, name)
        entries = _entries(header, name)
        _check_tiles([(begin, end) for _, _, begin, end in entries.values()], name, size, length)
        tensors: dict[str, NDArray[Any]] = {}
        for key, (dtype, shape, begin, end) in entries.items():
            if not wanted(key):
                continue
            data = bytearray(end - begin)
            file.seek(8 + length + begin)
            if file.readinto(data) != len(data):
                raise SofthatError(f"{name} is cut off in the tensor {key}")
            tensors[key] = np.frombuffer(data, _numpy_dtype(dtype)).reshape(shape)
    return tensors


def read_metadata(path: str | Path, inside: Path | None = None) -> dict[str, Any]:
    """What a safetensors file says of itself, beside its tensors."""
    with opened(path, inside) as file:
        header, _, _ = _header(file, str(path))
    metadata = header.get("__metadata__", {}) if isinstance(header, dict) else {}
    if not isinstance(metadata, dict):
        raise SofthatError(f"{path} is not a safetensors file: its metadata is no object")
    return metadata


def _header(file: BufferedReader, name: str) -> tuple[Any, int, int]:
    """The header of a safetensors file, the file's size and the header's."""
    size = os.fstat(file.fileno()).st_size
    _check_size(name, size, MOST_TENSOR_BYTES)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _MOST_HEADER):
        raise SofthatError(f"{name} is not a safetensors file: its header is cut off")
    return parse_json(file.read(length), f"the header of {name}"), size, length


def _entries(header: Any, name: str) -> dict[str, tuple[str, tuple[int, ...], int, int]]:
    """(dtype, shape, begin, end) of each tensor, each as large as its shape says."""
    if not isinstance(header, dict):
        raise SofthatError(f"{name} is not a safetensors file: its header is no object")
    entries = {}
    for key, entry in header.items():
        if key == "__metadata__":
            continue
        try:
            dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            numbers = [*shape, begin, end]
            fits = all(type(x) is int and x >= 0 for x in numbers) and dtype in _DTYPES
            fits = fits and max(shape, default=0) < _MOST_ENTRIES
            wide = int(re.sub(r"\D", "", dtype) or 8) // 8
            fits = fits and end - begin == wide * math.prod(shape)
        except (KeyError, TypeError, ValueError):
            fits = False
        if not fits:
            raise SofthatError(f"{name}: the header of the tensor {key} is wrong")
        entries[key] = (dtype, tuple(shape), begin, end)
    return entries


def _check_tiles(parts: list[tuple[int, int]], name: str, size: int, header: int) -> None:
    """The tensors lie side by side and fill the file."""
    at = 0
    for begin, end in sorted(parts):
        if begin != at:
            raise SofthatError(f"{name}: its tensors overlap or leave a hole at byte {at}")
        at = end
    if 8 + header + at != size:
        raise SofthatError(f"{name} has {size:,} bytes, its header speaks of {8 + header + at:,}")


def _numpy_dtype(name: str) -> np.dtype[Any]:
    import numpy as np

    if name == "BF16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(_DTYPES[name]).newbyteorder("<")


def _check_size(name: str | Path, size: int, most: int) -> None:
    if size > most:
        raise SofthatError(f"{name} is too large: {size:,} bytes, at most {most:,} are read")


def _check_kind(name: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise SofthatError(f"cannot read {name}: it is a folder")
    if not stat.S_ISREG(mode):
        raise SofthatError(f"cannot read {name}: it is not a regular file")


def _descriptor(name: str) -> int | None:
    number = _OPEN_ALREADY.match(name)
    return None if number is None else int(number[1])


def _lies_in(name: str, folder: Path) -> bool:
    home = os.path.realpath(folder)
    return os.path.commonpath([os.path.realpath(name), home]) == home


def _check_depth(text: str, name: str) -> None:
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", re.sub(r'"[^"\\]*(?:\\.[^"\\]*)*"', "", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MOST_DEPTH:
            raise SofthatError(f"{name} is nested too deeply: lists more than {MOST_DEPTH} deep")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise SofthatError(f"the field {key!r} appears twice in one object: keep one")
            seen.add(key)
    return members


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text)


def _no_number(text: str) -> NoReturn:
    raise SofthatError(f"{text} is not a number that JSON can hold")
