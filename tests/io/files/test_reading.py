"""Reading: regular files only, bounded, UTF-8, linear; nothing waits and nothing is allocated."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from softhat.io.errors import SofthatError
from softhat.io.files import parse_json, read_bytes, read_json, read_tensors, read_text
from softhat.io.files.reading import check_folder


def test_pipes_devices_and_folders_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), Path("/dev/tty")):
        with pytest.raises(SofthatError, match="not a regular file"):
            read_bytes(path)
    with pytest.raises(SofthatError, match="it is a folder"):
        read_bytes(tmp_path)


@pytest.mark.parametrize("name", ["missing", "a/" * 2000, "x" * 300, "nu\0l", "file/below"])
def test_names_that_lead_nowhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SofthatError, match=r"cannot read|name of a file"):
        read_bytes(tmp_path / name)


def test_large_files_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(8 << 30)  # sparse: no disk is used
    for read in (read_bytes, read_text, read_json, read_tensors):
        with pytest.raises(SofthatError, match="too large"):
            read(path)


def test_links_are_followed_within_the_folder_only(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "real").write_text("mine")
    (folder / "good").symlink_to("real")
    (folder / "bad").symlink_to("../secret")
    (folder / "loop").symlink_to("loop")
    assert read_text(folder / "good", inside=folder) == "mine"
    assert read_text(folder / "bad") == "key"  # named by the user, not by the folder
    with pytest.raises(SofthatError, match="leads out of its folder"):
        read_text(folder / "bad", inside=folder)
    with pytest.raises(SofthatError, match=r"cannot read|name of a file"):
        read_text(folder / "loop", inside=folder)
    (tmp_path / "alias").symlink_to("m")  # the folder itself may be a link
    assert read_text(tmp_path / "alias" / "good", inside=tmp_path / "alias") == "mine"


def test_text_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("λ ⊨ φ".encode())
    code = (
        "import sys; from softhat.io.files import read_text; from pathlib import Path; "
        "assert read_text(Path(sys.argv[1])) == '\\u03bb \\u22a8 \\u03c6'"
    )
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", code, tmp_path / "text"], env=environment, check=True)
    (tmp_path / "text").write_bytes(b"abc\xff")
    with pytest.raises(SofthatError, match="not UTF-8 text: byte 3"):
        read_text(tmp_path / "text")


def test_a_descriptor_of_this_process_is_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"abc")
    os.close(writer)
    assert read_text(f"/dev/fd/{reader}") == "abc"
    os.close(reader)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("[" * 65 + "]" * 65, "nested too deeply"),
        ("{", "not JSON"),
        ('{"a": 1, "b": 2, "a": 3}', "'a' appears twice"),
        ("[NaN]", "not a number"),
        ("[-Infinity]", "not a number"),
        ("[1e999]", "not a number"),
        ("1" * 5000, "cannot be read"),
        (r'["\ud800"]', "half a character"),
        (b'"\xff"', "not UTF-8"),
    ],
)
def test_json_that_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(SofthatError, match=message):
        parse_json(text, "the file")


def test_brackets_in_strings_are_not_nesting() -> None:
    document = {"a": "[" * 1000, 'q"[': '\\"' + "{" * 1000, "pair": "\U0001d49c"}
    assert parse_json(json.dumps(document), "x") == document


def test_many_fields_are_read_in_linear_time() -> None:
    """A quadratic check for duplicates would take a quarter of an hour."""
    text = json.dumps({f"field {k}": k for k in range(200_000)})
    assert len(parse_json(text, "x")) == 200_000


json_documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)  # fmt: skip


@given(json_documents)
def test_what_json_writes_is_read(document: Any) -> None:
    assert parse_json(json.dumps(document), "x") == document
    assert parse_json(json.dumps(document, ensure_ascii=False).encode(), "x") == document


def tensors_file(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1234567",
        struct.pack("<Q", 1 << 62) + b"{}",
        struct.pack("<Q", 100) + b"{}",
        tensors_file(b"[" * 1000),
        tensors_file([]),
        tensors_file({"x": 1}),
        tensors_file({"x": entry(dtype="F7")}, b"8" * 8),
        tensors_file({"x": entry(dtype=[])}, b"8" * 8),
        tensors_file({"x": entry(shape=[-2])}, b"8" * 8),
        tensors_file({"x": entry(shape=[2.0])}, b"8" * 8),
        tensors_file({"x": entry(shape=[True, 2])}, b"8" * 8),
        tensors_file({"x": entry(shape=[3])}, b"8" * 8),
        tensors_file({"x": entry(shape=[1 << 31, 0], offsets=[0, 0])}),
        tensors_file({"x": entry(offsets=[8, 0])}, b"8" * 8),
        tensors_file({"x": entry(offsets=[0, 8, 9])}, b"8" * 8),
        tensors_file({"x": entry(), "y": entry()}, b"8" * 16),  # overlap
        tensors_file({"x": entry(), "y": entry(offsets=[16, 24])}, b"8" * 24),  # a hole
        tensors_file({"x": entry()}, b"8" * 9),
        tensors_file({"x": entry()}, b"8" * 7),
        tensors_file(b'{"x": 1, "x": 2}'),
    ],
)
def test_headers_that_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.safetensors").write_bytes(data)
    with pytest.raises(SofthatError, match=r"x\.safetensors"):
        read_tensors(tmp_path / "x.safetensors")


def test_a_header_of_eight_gigabytes_allocates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(tensors_file({"x": entry("F64", [1 << 29], [0, 1 << 32])}))
    with path.open("r+b") as file:
        file.truncate(3 << 30)  # below the limit, and not what the header says
    with pytest.raises(SofthatError, match="its header speaks of"):
        read_tensors(path)


def test_tensors_are_what_the_library_wrote(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tensors = {
        f"{dtype}.{k}": np.array(100 * rng.normal(size=shape)).astype(dtype)
        for dtype in ("float64", "float32", "float16", "int64", "int32", "uint8", "bool")
        for k, shape in enumerate([(), (3,), (2, 0), (4, 5, 6)])
    }
    (tmp_path / "x").write_bytes(save(tensors, metadata={"format": "pt"}))
    found = read_tensors(tmp_path / "x")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype and found[name].shape == tensor.shape
        assert (found[name] == tensor).all()
    assert read_tensors(tmp_path / "x", wanted=lambda name: name == "bool.1").keys() == {"bool.1"}


@given(st.binary(max_size=200), st.integers(0, 400))
def test_damaged_tensors_are_refused_or_read(tmp_path_factory: Any, noise: bytes, at: int) -> None:
    path = tmp_path_factory.mktemp("t") / "x"
    data = bytearray(save({"a": np.arange(6.0), "b": np.ones((2, 3), np.float32)}))
    data[at : at + len(noise)] = noise
    path.write_bytes(data)
    with suppress(SofthatError):
        read_tensors(path)


@pytest.mark.parametrize("name", ["tokenizer.json", "merges.txt", "model.safetensors"])
def test_a_folder_for_another_library(name: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "more").mkdir()
    check_folder(tmp_path)
    with (tmp_path / name).open("wb") as file:
        file.truncate(8 << 30)
    with pytest.raises(SofthatError, match="too large"):
        check_folder(tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(SofthatError, match="not a regular file"):
        check_folder(tmp_path)
