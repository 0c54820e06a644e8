"""Ways to damage a file or a folder: bytes, JSON documents, and what a name stands for."""

from __future__ import annotations

import json
import os
import random
import struct
from pathlib import Path
from typing import Any

MOST = 1 << 24
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**64, -(10**30), 1e308, -0.0, "", "a", "\x1b[31m", "λ",
    "1/0", "1/3", "<bos>", "<eos>", "\ud800", [], {}, [[]], [None], "9" * 4000, {"a": {"b": []}},
    "../../etc/passwd", "none", "<=", "mod(3, 5)", [0.5], "NaN",
)  # fmt: skip


def damage_folder(folder: Path, rng: random.Random) -> None:
    """One fault in one file of the folder, sometimes more."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        paths = sorted(path for path in folder.iterdir() if path.is_file())
        if paths:
            damage_file(rng.choice(paths), rng)


def damage_file(path: Path, rng: random.Random) -> None:
    if path.stat().st_size > MOST:  # a hole of gigabytes, made before
        return
    kind = rng.random()
    if kind < 0.5 and path.suffix == ".json":
        damage_json(path, rng)
    elif kind < 0.6 and path.suffix == ".safetensors":
        damage_header(path, rng)
    elif kind < 0.88:
        path.write_bytes(damaged_bytes(path.read_bytes(), rng))
    else:
        replace_file(path, rng)


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    found = bytearray(data)
    match rng.randrange(7):
        case 0:
            return bytes(found[: rng.randrange(len(found) + 1)])
        case 1:
            at = rng.randrange(len(found) + 1)
            found[at:at] = rng.randbytes(rng.randrange(1, 20))
        case 2:
            for _ in range(rng.randrange(1, 6)):
                if found:
                    found[rng.randrange(len(found))] = rng.randrange(256)
        case 3:
            a, b = sorted(rng.randrange(len(found) + 1) for _ in range(2))
            del found[a:b]
        case 4:
            return b""
        case 5:
            return rng.randbytes(rng.randrange(200))
        case _:
            at = rng.randrange(len(found) + 1)
            found[at:at] = rng.choice((b"\xff", b"\0", b"\xef\xbb\xbf", b"\r\n", b"[" * 10_000))
    return bytes(found)


def damage_json(path: Path, rng: random.Random) -> None:
    if path.stat().st_size > MOST:
        return
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        path.write_bytes(damaged_bytes(path.read_bytes(), rng))
        return
    for _ in range(rng.choice((1, 1, 2))):
        document = _changed(document, rng)
    text = json.dumps(document)
    if rng.random() < 0.05:
        text = text.replace("1", rng.choice(("NaN", "1e999", "Infinity", "1" * 5000)), 1)
    if rng.random() < 0.05 and text.startswith("{"):
        text = '{"format": 1, ' + text[1:]
    path.write_text(text, encoding="utf-8", errors="surrogatepass")


def _changed(document: Any, rng: random.Random) -> Any:
    """The document with one place changed: dropped, doubled, replaced or swapped."""
    if isinstance(document, dict) and document and rng.random() < 0.9:
        key = rng.choice(sorted(document))
        copied = dict(document)
        match rng.randrange(8):
            case 0:
                del copied[key]
            case 1:
                copied[rng.choice(("extra", "\x1b", key + "x"))] = copied[key]
            case 2:
                copied[key] = rng.choice(VALUES)
            case _:
                copied[key] = _changed(copied[key], rng)
        return copied
    if isinstance(document, list) and document and rng.random() < 0.9:
        at = rng.randrange(len(document))
        items = list(document)
        match rng.randrange(8):
            case 0:
                del items[at]
            case 1:
                items.append(items[at])
            case 2:
                items[at] = rng.choice(VALUES)
            case _:
                items[at] = _changed(items[at], rng)
        return items
    if isinstance(document, int | float) and not isinstance(document, bool) and rng.random() < 0.6:
        return rng.choice((document + 1, document - 1, -document, document * 2, document * 10**9))
    return rng.choice(VALUES)


def damage_header(path: Path, rng: random.Random) -> None:
    """The JSON header of a safetensors file."""
    data = path.read_bytes()
    if len(data) < 8:
        return
    (length,) = struct.unpack("<Q", data[:8])
    try:
        header = json.loads(data[8 : 8 + length])
    except ValueError:
        return
    text = json.dumps(_changed(header, rng)).encode("utf-8", "surrogatepass")
    stated = rng.choice((len(text), len(text), len(text), 2**62, len(text) + 1, 0))
    path.write_bytes(struct.pack("<Q", stated) + text + data[8 + length :])


def replace_file(path: Path, rng: random.Random) -> None:
    """Something else under that name."""
    path.unlink()
    match rng.randrange(6):
        case 0:
            return
        case 1:
            path.mkdir()
        case 2:
            os.mkfifo(path)
        case 3:
            path.symlink_to(rng.choice(("/etc/passwd", "/dev/zero", "/", path.name, "nowhere")))
        case 4:
            with path.open("wb") as file:
                file.truncate(rng.choice((1 << 20, 8 << 30)))
        case _:
            path.write_text("{}")
