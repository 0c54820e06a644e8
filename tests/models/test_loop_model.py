"""One block of weights, run as often as a word asks: answers, folders, and what is refused."""

from __future__ import annotations

import json
import random
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.models.loop_model import LoopModel
from tests.frontends.regular.test_doubling import expected, group_automaton, random_automaton

A5 = [(1, 2, 0, 3, 4), (1, 2, 3, 4, 0)]
S5 = [(1, 0, 2, 3, 4), (1, 2, 3, 4, 0)]


@pytest.mark.parametrize("attention", ["unbounded", "temperature", "hard"])
@pytest.mark.parametrize("generators", [A5, S5])
def test_groups_on_all_short_words_and_some_long_ones(
    generators: list[tuple[int, ...]], attention: str
) -> None:
    given = group_automaton(generators, "ab")
    model = softhat.compile(softhat.from_dfa(given, depth="log"), attention=attention)
    words = ["".join(word) for n in range(1, 9) for word in product("ab", repeat=n)]
    dice = random.Random(3)
    words += ["".join(dice.choices("ab", k=n)) for n in (31, 32, 33, 100, 257)]
    for word, truth in zip(words, model.truth_many(words), strict=True):
        assert truth.tolist() == expected(given, word), word


def test_in_bfloat16() -> None:
    given = random_automaton(6, "abc", 8)
    model = softhat.compile(softhat.from_dfa(given, depth="log"))
    word = "".join(random.Random(1).choices("abc", k=200))
    assert model.truth(word, dtype="bfloat16").tolist() == expected(given, word)


def test_the_block_runs_as_often_as_the_word_asks() -> None:
    model = softhat.compile(softhat.from_regex("(aa)*", depth="log"))
    for n in (1, 2, 3, 8, 9):
        trace = model.run("a" * n)
        assert len(trace.attention) == (n - 1).bit_length()
        assert (trace.margins["member"][-1] > 0) == (n % 2 == 0)
    assert model.size.layers == 1
    assert len({id(layer) for layer in model.transformer.layers}) == 1
    assert model.depth is not None and model.depth.startswith(
        "logarithmic: one block of weights, run ⌈log₂ n⌉ times"
    )


def test_more_rounds_than_needed_change_nothing() -> None:
    """What knows nothing of loops runs all rounds, and is as right."""
    given = random_automaton(5, "ab", 9)
    model = softhat.compile(softhat.from_dfa(given, depth="log"))
    word = "".join(random.Random(2).choices("ab", k=40))
    ready = model.ready("float32")
    x = ready.embed(model.encode(word)[None])
    for layer in ready.layers:
        x, _ = ready.step(layer, x, keep=False)
    assert (ready.margins(x)[0, :, 0] > 0).tolist() == expected(given, word)


def test_folders(tmp_path: Path) -> None:
    language = softhat.from_regex("(b*ab*a)*b*", alphabet="ab", depth="log")
    model = softhat.compile(language, alphabet="ba")
    model.save(tmp_path / "m")
    again = softhat.load(tmp_path / "m")
    assert isinstance(again, LoopModel) and again.name == model.name
    assert again.certificate == model.certificate
    assert again.truth("abab").tolist() == [False, False, True, True]
    again.save(tmp_path / "n")
    for file in (tmp_path / "m").iterdir():
        assert file.read_bytes() == (tmp_path / "n" / file.name).read_bytes()


NOWHERE: dict[str, Any] = {"accepts": [], "pointer": []}


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("language.json", {"step": [[0, 9], [1, 0]]}, "its own states only"),
        ("language.json", {"step": [[0], [1]]}, "one step for each symbol"),
        ("language.json", {"accepting": [True]}, "not True"),
        ("language.json", {"alphabet": ["a", "c"]}, "different alphabets"),
        ("language.json", {"accepting": []}, "not minimal"),
        ("language.json", {"step": []}, "its own states only"),
        ("language.json", {"more": 1}, "and nothing else"),
        ("language.json", {"loop": {}}, "'function' is missing"),
        (
            "language.json",
            {"loop": {"function": [], "accepts": [], "pointer": []}},
            "1 to 40 digits",
        ),
        ("language.json", {"loop": {"function": 3, "accepts": [], "pointer": []}}, "damaged"),
    ],
)
def test_damaged_folders(tmp_path: Path, file: str, change: dict[str, Any], message: str) -> None:
    softhat.compile(softhat.from_regex("(b*ab*a)*b*", depth="log")).save(tmp_path / "m")
    path = tmp_path / "m" / file
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(softhat.SofthatError, match=f"is damaged: .*{message}|damaged"):
        softhat.load(tmp_path / "m")


def test_a_folder_that_states_another_language_proves_nothing(tmp_path: Path) -> None:
    softhat.compile(softhat.from_regex("(b*ab*a)*b*", depth="log")).save(tmp_path / "m")
    path = tmp_path / "m" / "language.json"
    stated = json.loads(path.read_text())
    path.write_text(json.dumps({**stated, "accepting": [1]}))
    stated_model = softhat.load(tmp_path / "m")
    assert isinstance(stated_model, LoopModel)
    certificate = stated_model.certificate
    assert certificate.void and set(certificate.max_length.values()) == {0}


def test_longer_words_are_refused_in_one_line() -> None:
    model = softhat.compile(softhat.from_regex("(aa)*", depth="log"))
    assert isinstance(model, LoopModel)
    with pytest.raises(softhat.SofthatError, match="serves words of up to 1,048,575 symbols"):
        model.rounds(2**20)
    with pytest.raises(softhat.SofthatError, match="and this one has 1,048,576"):
        model.truth(np.zeros(2**20, np.int64))


def test_a_language_of_one_state() -> None:
    everything = softhat.compile(softhat.from_regex("(a|b)*", depth="log"))
    nothing = softhat.compile(softhat.from_regex("a&b", alphabet="ab", depth="log"))
    assert everything.truth("abba").all() and not nothing.truth("abba").any()
    assert min(nothing.certificate.max_length.values()) > 1_000_000


def test_as_a_stock_decoder(tmp_path: Path) -> None:
    model = softhat.compile(softhat.from_regex("(aa)*", depth="log"))
    softhat.to_gpt2(model, tmp_path / "g", context=16)
    assert softhat.certify(tmp_path / "g").max_length["float32"] == 15


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The block as so many layers, for runtimes that know nothing of loops."""
    for name in ("torch", "transformers", "onnx", "onnxruntime"):
        pytest.importorskip(name)
    from softhat.export.torch import to_torch_file

    model = softhat.compile(softhat.from_regex("(b*ab*a)*b*", depth="log"))
    place = tmp_path_factory.mktemp("loops")
    to_torch_file(model, place / "torch")
    softhat.to_huggingface(model, place / "huggingface")
    softhat.to_onnx(model, place / "m.onnx")
    return {
        "torch": place / "torch",
        "huggingface": place / "huggingface",
        "onnx": place / "m.onnx",
    }


@pytest.mark.parametrize("kind", ["torch", "huggingface", "onnx"])
def test_exports_are_read_back(kind: str, exported: dict[str, Path]) -> None:
    found = softhat.certify(exported[kind])
    assert found.ok and found.max_length["float32"] > 500_000
    report = softhat.verify(exported[kind], exhaustive=4, random=4, max_length=40)
    assert report.ok and report.runtime.startswith(("torch", "transformers", "onnxruntime"))


def layer_changed(tensors: dict[str, Any], config: dict[str, Any]) -> None:
    tensors["layers.7.feed_forward.bias"][0] += 1.0


def layer_left_out(tensors: dict[str, Any], config: dict[str, Any]) -> None:
    config["architecture"]["layers"].pop()
    for name in [name for name in tensors if name.startswith("layers.19.")]:
        del tensors[name]


@pytest.mark.parametrize(
    ("change", "said"),
    [(layer_changed, "its layers differ"), (layer_left_out, "19 rounds, and pointers of 20")],
)
def test_exports_of_other_rounds_are_refused(
    change: Any, said: str, exported: dict[str, Path], tmp_path: Path
) -> None:
    from safetensors.numpy import load_file, save_file

    folder = Path(shutil.copytree(exported["torch"], tmp_path / "m"))
    tensors = load_file(folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    change(tensors, config)
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(softhat.SofthatError, match=said):
        softhat.certify(folder)
