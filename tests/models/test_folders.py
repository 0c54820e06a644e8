"""Model folders: what is saved is loaded, and what is damaged is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.ahat import gallery
from softhat.frontends.rasp import lib
from softhat.io.errors import SofthatError
from softhat.models.folders import load, load_compiled

pytestmark = pytest.mark.usefixtures("nobody_saves")


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


def _kinds(place: Path) -> Iterator[Path]:
    model = softhat.compile("a S (b & Y a)", alphabet="ab", attention="temperature")
    loop = softhat.compile(softhat.from_regex("(aa)*", depth="log"))
    hist = softhat.compile(lib.make_hist(), alphabet="ab", max_length=4)
    majority = softhat.simulate(gallery.majority(), epsilon=0.1)
    for kind, made in (("c", model), ("l", loop), ("r", hist), ("s", majority)):
        made.save(place / kind)
        yield place / kind


OTHERS: tuple[Any, ...] = (None, True, 77, 1.5, {}, ["a"])
PLACES: tuple[tuple[Any, ...], ...] = (
    ("more",),
    ("version",),
    ("size", "parameters"),
    ("size", "layers"),
    ("size", "more"),
    ("layers", 0, "more"),
    ("layers", 0, "heads", 0, "label"),
    ("layers", 0, "heads", 0, "more"),
    ("coordinates", 0),
    ("coordinates", 0, 0, "holds"),
    ("coordinates", 0, 0, "more"),
)


def test_a_configuration_says_what_the_weights_are(tmp_path: Path) -> None:
    """Names and sizes are those of the weights, of the right types, and nothing is said besides."""
    for folder in _kinds(tmp_path):
        path = folder / "config.json"
        honest = path.read_text()
        for *parents, last in PLACES:
            for value in OTHERS:
                document = json.loads(honest)
                part: Any = document
                for key in parents:
                    part = part[key] if len(part) > (key if isinstance(key, int) else 0) else {}
                if isinstance(part, list) and not part:
                    continue
                part[last] = value
                if json.dumps(document) == json.dumps(json.loads(honest)):
                    continue
                path.write_text(json.dumps(document))
                with pytest.raises(SofthatError) as raised:
                    load(folder)
                assert "\n" not in str(raised.value)
        path.write_text(honest)
        load(folder)
