"""GGUF files run in llama.cpp agree with the formulas, in a process that cannot import softhat."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import SofthatError
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.logic.syntax.walk import distinct
from tests.export.test_gpt2 import decoders
from tests.export.test_llama import past_formulas
from tests.transformer.lowering.suite import all_codes, expected, long_words

gguf = pytest.importorskip("gguf")
CHILD = Path(__file__).with_name("gguf_without_softhat.py")
needs_llama_cpp = pytest.mark.skipif(
    importlib.util.find_spec("cyllama") is None,
    reason="llama.cpp is run by cyllama, which is not installed (there are wheels for few systems)",
)


def counts(formula: Formula) -> bool:
    return any(isinstance(node, nodes.Comparison) for node, _ in distinct(formula)[0])


def task(
    formula: Formula, folder: Path, context: int, positions: Any, cache: str, exhaustive: int
) -> dict[str, Any]:
    folder.mkdir()
    model = softhat.compile(formula, "ab")
    softhat.to_gguf(model, folder / "model.gguf", context, positions=positions)
    hostile = long_words(context - 1, 2, 1)[[4, 10, 11]]
    arrays: dict[str, Any] = {}
    for at, codes in enumerate([*(all_codes(2, n) for n in range(1, exhaustive + 1)), hostile]):
        arrays[f"codes{at}"] = codes.astype(np.uint8)
        arrays[f"truth{at}"] = expected(formula, codes, "ab")
    np.savez(folder / "words.npz", **arrays)
    return {
        "file": str(folder / "model.gguf"),
        "words": str(folder / "words.npz"),
        "context": context,
        "vocabulary": 7,  # a, b, <bos>, <eos>, <unk>, <false>, <true>
        "cache": cache,
        "text": "b  a b",
    }


def run(tasks: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(tasks))
    done = subprocess.run(
        [sys.executable, str(CHILD), str(manifest)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    results: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return results


@needs_llama_cpp
def test_llama_cpp_agrees(tmp_path: Path) -> None:
    tasks = []
    for k, text in enumerate(("a S (b & Y a)", "#(a) > #(b) | Y (a S b)", "mod(3, 1) S b")):
        for positions in ("bits",) if "mod" in text else ("bits", "rope"):
            folder = tmp_path / f"{k}{positions}"
            tasks.append(task(parse(text), folder, 128, positions, "f32", 4))
    tasks.append(task(parse("a S (b & Y a)"), tmp_path / "far", 1024, "bits", "default", 2))
    results = run(tasks, tmp_path)
    assert [result["wrong"] for result in results] == [0] * len(tasks)
    assert min(result["margin"] for result in results) > 19.9
    assert results[0]["ids"] == [2, 1, 0, 1]


@needs_llama_cpp
@pytest.mark.full
@pytest.mark.parametrize(
    ("positions", "cache"), [("bits", "f32"), ("bits", "default"), ("rope", "f32")]
)
def test_all_formulas_in_llama_cpp(positions: str, cache: str, tmp_path: Path) -> None:
    every = decoders() if positions == "bits" else past_formulas()
    assert len(every) >= 100
    if cache == "default":  # means of counts need float32
        every = [formula for formula in every if not counts(formula)]
    tasks = [task(f, tmp_path / f"{k}", 1024, positions, cache, 5) for k, f in enumerate(every)]
    results = run(tasks, tmp_path)
    positions_tried = sum(result["positions"] for result in results)
    print(
        f"llama.cpp 1024 {positions} {cache}: {len(every)} formulas, {positions_tried:,} positions"
    )
    assert not [(str(f), r) for f, r in zip(every, results, strict=True) if r["wrong"]]


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    softhat.to_gguf("!off S on", tmp_path / "model.gguf", 64)
    reader = gguf.GGUFReader(tmp_path / "model.gguf")
    fields = {name: field.contents() for name, field in reader.fields.items()}
    assert fields["general.architecture"] == "llama"
    assert fields["llama.context_length"] == 64
    assert "!off S on" in fields["general.description"]
    assert fields["tokenizer.ggml.tokens"][:2] == ["▁off", "▁on"]
    assert fields["llama.rope.scaling.type"] == "linear"


def test_bytes_are_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        softhat.to_gguf("a S b", tmp_path / f"{name}.gguf", 64)
    assert (tmp_path / "one.gguf").read_bytes() == (tmp_path / "two.gguf").read_bytes()


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(SofthatError, match="uses F"):
        softhat.to_gguf("F a", tmp_path / "x.gguf")
    softhat.to_gguf("a S b", tmp_path / "x.gguf", 16)
    with pytest.raises(SofthatError, match="--to llama"):
        softhat.certify(tmp_path / "x.gguf")


def test_a_file_says_what_it_computes(tmp_path: Path) -> None:
    from softhat.export.gguf_verify import read_facts

    model = softhat.compile("on S off | at(odd)", ["on", "off"], predicates={"odd": "(10)"})
    softhat.to_gguf(model, tmp_path / "m.gguf", 32)
    facts = read_facts(tmp_path / "m.gguf")
    assert facts.symbols == ("on", "off") and facts.context == 32
    assert facts.head == "token-classification"
    (formula,) = facts.formulas.values()
    for word in (["on"], ["off", "on", "on"], ["on", "on"]):
        expected = model.formulas["output"].truth(word)
        assert (formula.truth(word) == expected).all()
    softhat.to_gguf(
        softhat.compile({"a": "!a", "b": "a"}, "ab"), tmp_path / "lm.gguf", 16, head="lm"
    )
    assert set(read_facts(tmp_path / "lm.gguf").formulas) == {"a", "b", "<eos>"}
    (tmp_path / "no.gguf").write_bytes(b"GGUF" + bytes(40))
    with pytest.raises(SofthatError, match="export it again"):
        read_facts(tmp_path / "no.gguf")


@pytest.mark.parametrize("head", ["token-classification", "lm"])
def test_a_language_in_logarithmic_depth(head: Any, tmp_path: Path) -> None:
    """The file says its automaton; another reader of GGUF, that of transformers, runs it."""
    from softhat.export.gguf_verify import read_facts

    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    language = softhat.from_regex("(b*ab*a)*b*", alphabet="ab", depth="log")
    softhat.to_gguf(language, tmp_path / "m.gguf", 40, head=head)
    facts = read_facts(tmp_path / "m.gguf")
    assert facts.head == head and facts.context == 40
    assert set(facts.formulas) == ({"a", "b", "<eos>"} if head == "lm" else {"member"})
    fields = gguf.GGUFReader(tmp_path / "m.gguf").fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    transformers.utils.logging.disable_progress_bar()
    known = {"gguf_file": "m.gguf"}
    config = transformers.AutoConfig.from_pretrained(tmp_path, **known)
    factor = fields["llama.rope.scaling.factor"].contents()  # which transformers does not read
    config.rope_parameters |= {"rope_type": "linear", "factor": factor}
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, config=config, **known)
    codes = np.random.default_rng(1).integers(0, 2, (8, 39))
    ids = np.array([tokens.index("▁a"), tokens.index("▁b")])[codes]
    with torch.no_grad():
        first = np.full((8, 1), tokens.index("<bos>"))
        logits = model(torch.from_numpy(np.concatenate([first, ids], axis=1))).logits[:, 1:]
    even = np.cumsum(codes == 0, axis=1) % 2 == 0
    assert "an automaton of 2 states" in fields["general.description"].contents()
    if head == "lm":
        assert ((logits[..., tokens.index("<eos>")] > 0).numpy() == even).all()
        assert (logits[..., tokens.index("▁a")] > 0).all()
    else:
        assert (logits.argmax(-1) == tokens.index("<true>")).numpy().tolist() == even.tolist()


def test_verify_says_what_to_install(tmp_path: Path) -> None:
    softhat.to_gguf(softhat.compile("a S b", "ab"), tmp_path / "m.gguf", 16)
    if importlib.util.find_spec("cyllama") is None:
        with pytest.raises(SofthatError, match="softhat\\[llamacpp\\]"):
            softhat.verify(tmp_path / "m.gguf")
        return
    found = softhat.verify(tmp_path / "m.gguf", exhaustive=4, random=4, adversarial=2)
    assert found.ok and "llama.cpp" in found.runtime
