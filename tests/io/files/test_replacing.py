"""A folder takes the place of one of its own kind, and of no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from softhat.io.errors import SofthatError
from softhat.io.files import check_folder_writable, write_folder

MODEL = {"format": "softhat-model", "kind": "compiled"}
KINDS: list[dict[str, Any]] = [
    MODEL,
    {"format": "softhat-model", "kind": "simulation"},
    {"format": "softhat-catalogue/1"},
    {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]},
    {"model_type": "gpt2", "architectures": ["GPT2ForTokenClassification"]},
    {"model_type": "llama", "architectures": ["LlamaForCausalLM"]},
]


def files(config: dict[str, Any], weights: bytes = b"weights") -> dict[str, bytes]:
    return {"config.json": json.dumps(config).encode(), "weights": weights}


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_of_the_same_kind_is_replaced(tmp_path: Path, kind: dict[str, Any]) -> None:
    write_folder(tmp_path / "m", files(kind))
    check_folder_writable(tmp_path / "m", kind)
    write_folder(tmp_path / "m", files(kind, b"others"))
    assert (tmp_path / "m" / "weights").read_bytes() == b"others"


def test_formulas_and_programs_are_compiled_to_one_place(tmp_path: Path) -> None:
    for kind in ("compiled", "rasp", "loop"):
        write_folder(tmp_path / "m", files({"format": "softhat-model", "kind": kind}))


def test_a_version_is_no_kind(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", files({"format": "softhat-torch/1"}))
    write_folder(tmp_path / "m", files({"format": "softhat-torch/2"}))


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_folder_of_another_kind_stays(tmp_path: Path, kind: dict[str, Any]) -> None:
    write_folder(tmp_path / "m", files(MODEL))
    for write in (
        lambda: write_folder(tmp_path / "m", files(kind, b"others")),
        lambda: check_folder_writable(tmp_path / "m", kind),
    ):
        with pytest.raises(SofthatError, match="of another kind"):
            write()
    assert (tmp_path / "m" / "weights").read_bytes() == b"weights"


def test_what_could_not_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    check_folder_writable(tmp_path / "new", MODEL)
    (tmp_path / "empty").mkdir()
    check_folder_writable(tmp_path / "empty", MODEL)
    (tmp_path / "file").touch()
    with pytest.raises(SofthatError, match="is a file: give the name of a folder"):
        check_folder_writable(tmp_path / "file", MODEL)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(SofthatError, match=r"softhat did not write thesis\.txt"):
        check_folder_writable(tmp_path / "mine", MODEL)
