"""Model folders: what is saved is loaded, and what is damaged is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.io.errors import SofthatError
from softhat.models.folders import load, load_compiled


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    formulas = {"safe": softhat.parse("!c S a"), "many": softhat.parse("#(a) >= 2*#(b)")}
    softhat.compile(formulas, alphabet="abc", attention="temperature").save(tmp_path / "m")
    return tmp_path / "m"


def test_round_trip(folder: Path) -> None:
    model = load_compiled(folder)
    for name, formula in model.formulas.items():
        for word in ("a", "abca", "ccab", "abbaabbc"):
            assert (model.truth(word, output=name) == formula.truth(word)).all()
    assert sorted(p.name for p in folder.iterdir()) == [
        "certificate.json",
        "config.json",
        "formula.txt",
        "model.safetensors",
    ]
    assert (folder / "formula.txt").read_text() == "safe: !c S a\nmany: #(a) >= 2*#(b)\n"


def test_bytes_are_reproducible(folder: Path) -> None:
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    load(folder).save(folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert [p.name for p in folder.parent.iterdir()] == ["m"]  # nothing temporary is left


@pytest.mark.parametrize(
    ("symbols", "text"),
    [(["open", "close"], "#(open) >= #(close)"), (["%", "'", "\\", "\n"], "'%' S '\\''")],
)
def test_odd_symbols(tmp_path: Path, symbols: list[str], text: str) -> None:
    model = softhat.compile(softhat.parse(text), alphabet=symbols)
    model.save(tmp_path / "m")
    again = load_compiled(tmp_path / "m")
    assert again.formulas == model.formulas
    assert (again.truth(symbols * 2) == model.formulas["output"].truth(symbols * 2)).all()


def test_propositions(tmp_path: Path) -> None:
    model = softhat.compile(softhat.parse("p S (q & !r)"), propositions=["p", "q", "r"])
    model.save(tmp_path / "m")
    word = [{"q"}, {"p", "r"}, set(), {"q", "r"}, {"p", "q"}]
    assert (load(tmp_path / "m").truth(word) == model.formulas["output"].truth(word)).all()


def change(folder: Path, **entries: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"version": 99}, "version 99"),
        ({"version": 0}, "version 0"),
        ({"format": "gpt2"}, "another format"),
        ({"kind": "cake"}, "unknown kind"),
        ({"attention": "warm"}, "unknown attention"),
        ({"positions": ["1", "i/P", "sin(i)"]}, "unknown position feature"),
        ({"sinks": ["<eos>"]}, "unknown sinks"),
        ({"alphabet": ["a", "b"]}, "damaged"),
        ({"alphabet": "abc"}, "list of strings"),
        ({"outputs": ["safe"]}, "damaged"),
        ({"layers": []}, "unknown tensors"),
        ({"size": {}}, "missing"),
    ],
)
def test_foreign_configurations(folder: Path, entries: dict[str, object], message: str) -> None:
    change(folder, **entries)
    with pytest.raises(SofthatError, match=message):
        load(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "formula.txt"])
def test_damaged_files(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    for damaged in (b"", data[: len(data) // 2], b"\x00" * 40):
        (folder / name).write_bytes(damaged)
        with pytest.raises(SofthatError):
            load(folder)
    (folder / name).unlink()
    with pytest.raises(SofthatError):
        load(folder)


def test_deeply_nested_configuration(folder: Path) -> None:
    (folder / "config.json").write_text("[" * 100_000)
    with pytest.raises(SofthatError, match="damaged"):
        load(folder)


def test_an_output_twice(folder: Path) -> None:
    (folder / "formula.txt").write_text("safe: a\nmany: a\nsafe: !c S a\n")
    with pytest.raises(SofthatError, match="'safe' stands there twice"):
        load(folder)


def test_weights_of_a_wrong_shape_or_value(folder: Path) -> None:
    from safetensors.numpy import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    for name, array in tensors.items():
        for bad in (np.zeros((*array.shape, 2)), array.astype(np.float32), array + np.nan):
            if bad.size == 0:
                continue
            save_file({**tensors, name: bad}, path)
            with pytest.raises(SofthatError, match=name):
                load(folder)
    save_file({**tensors, "surprise": np.zeros(1)}, path)
    with pytest.raises(SofthatError, match="surprise"):
        load(folder)


def test_folders_that_are_not_ours(tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match="no model folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(SofthatError, match="no config"):
        load(tmp_path)
    (tmp_path / "thesis.tex").write_text("precious")
    model = softhat.compile("a")
    with pytest.raises(SofthatError, match="not a model folder"):
        model.save(tmp_path)
    with pytest.raises(SofthatError, match="is a file"):
        model.save(tmp_path / "thesis.tex")
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_models_of_other_programs_are_kept(tmp_path: Path) -> None:
    other = tmp_path / "bert"
    other.mkdir()
    (other / "config.json").write_text('{"model_type": "bert"}')
    (other / "model.safetensors").write_bytes(b"precious")
    with pytest.raises(SofthatError, match="not a model folder"):
        softhat.compile("a").save(other)
    assert (other / "model.safetensors").read_bytes() == b"precious"
