"""No output goes over an input, a part of a model, or a file that softhat did not write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from softhat.io.errors import SofthatError
from softhat.io.files import read_text, watch_inputs, write_file, write_files, write_folder
from softhat.io.protection import check_derived, check_output, is_input

FILES = {"config.json": b'{"format": "softhat-model"}', "weights": b"1234"}


def test_what_was_read_is_not_replaced_while_it_is_watched(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("input")
    (tmp_path / "link").symlink_to("f")
    with watch_inputs():
        assert not is_input(file)
        read_text(file)
        for name in ("f", "link"):
            with pytest.raises(SofthatError, match="is what this command reads"):
                write_file(tmp_path / name, b"output")
        write_file(file, b"state", own=True)
        write_file(tmp_path / "other", b"output")
    assert file.read_bytes() == b"state"
    write_file(file, b"output")


def test_a_folder_that_was_read_is_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    write_folder(folder, FILES)
    with watch_inputs():
        read_text(folder / "weights")
        with pytest.raises(SofthatError, match="choose another folder"):
            write_folder(folder, {**FILES, "weights": b"5678"})
    assert (folder / "weights").read_bytes() == b"1234"
    write_folder(folder, {**FILES, "weights": b"5678"})


def test_parts_of_models_and_corpora(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", FILES)
    stock = tmp_path / "stock"
    stock.mkdir()
    (stock / "config.json").write_text('{"model_type": "gpt2"}')
    corpus = tmp_path / "corpus"
    (corpus / "shards").mkdir(parents=True)
    (corpus / "corpus.json").write_text('{"format": "softhat-corpus/1"}')
    parts = ["m/config.json", "m/weights", "stock/config.json", "stock/model.safetensors"]
    parts += ["stock/tokenizer.json", "corpus/corpus.json", "corpus/shards/00000.jsonl"]
    for name in parts:
        path = tmp_path / name
        if not path.exists():
            path.write_text("{}")
        with pytest.raises(SofthatError, match=r"belongs to the (model folder|corpus)"):
            check_output(path)
    (stock / "notes.txt").write_text("mine")
    (tmp_path / "m" / "trace.json").write_text("{}")
    for name in ("stock/notes.txt", "m/trace.json", "stock/new.json", "config.json"):
        check_output(tmp_path / name)
    with pytest.raises(SofthatError, match=r"write new\.json to another place"):
        check_output(tmp_path / "m" / "new.json")


def test_names_that_nobody_chose_replace_only_files_of_their_kind(tmp_path: Path) -> None:
    path = tmp_path / "x.plot.json"
    check_derived(path, "softhat-plot")
    for document in ({"format": "softhat-ahat/1"}, {"format": "softhat-plotter/1"}, [1], {}):
        path.write_text(json.dumps(document))
        with pytest.raises(SofthatError, match="softhat did not write it"):
            check_derived(path, "softhat-plot")
        with pytest.raises(SofthatError, match="softhat did not write it"):
            write_files(tmp_path, {path.name: b"{}", "x": b""}, {path.name: "softhat-plot"})
        assert not (tmp_path / "x").exists()
    path.write_text('{"format": "softhat-plot/1"}')
    check_derived(path, "softhat-plot")
