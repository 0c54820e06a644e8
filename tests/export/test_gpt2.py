"""Stock GPT-2 checkpoints agree with the formulas, in a process that cannot import softhat."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import SofthatError
from softhat.logic.fragments import describe
from softhat.logic.random import random_formula
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from tests.slices import sizes
from tests.transformer.lowering.suite import all_codes, expected, formulas, long_words, nested
from tests.without_softhat import run_script

pytest.importorskip("transformers")
CHILD = Path(__file__).with_name("stock_without_softhat.py")


def decoders() -> list[Formula]:
    """100 and more formulas that look only to the past, over {a, b}."""
    found = [formula for formula in formulas() if describe(formula).is_decoder]
    found += [nested(8, kinds) for kinds in ("S", "SY", "Y#", "T#", "#")]
    rng = np.random.default_rng(7)
    while len(found) < 120:
        found.append(random_formula(rng, int(rng.integers(4, 24)), ["a", "b"], "decoder"))
    return found


def write_words(
    path: Path, formula: Formula, lengths: Iterable[int], longest: int, few: bool = False
) -> None:
    """All words of the lengths, random words to 200, hostile ones to the longest."""
    arrays: dict[str, Any] = {}
    batches = [all_codes(2, length) for length in lengths]
    batches += [long_words(min(length, longest), 2, length) for length in (30, 97, 200)]
    hostile = long_words(longest, 2, 1)
    batches.append(hostile[[4, 10, 11]] if few else hostile)
    for at, codes in enumerate(batches):
        arrays[f"codes{at}"] = codes.astype(np.uint8)
        arrays[f"truth{at}"] = expected(formula, codes, "ab")
    np.savez(path, **arrays)


def run_stock(tasks: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(tasks))
    done = run_script(CHILD, str(manifest))
    assert done.code == 0, done.err[-3000:]
    results: list[dict[str, Any]] = json.loads(done.out.splitlines()[-1])
    return results


@dataclass(frozen=True)
class Export:
    """A formula as a checkpoint, and a manifest entry for each number format."""

    formula: Formula
    context: int
    tasks: list[dict[str, Any]]
    certified: dict[str, int]


def export(
    formula: Formula,
    folder: Path,
    context: int,
    activation: str,
    dtypes: tuple[str, ...],
    few: bool = False,
    lengths: Iterable[int] = range(1, 9),
) -> Export:
    folder.mkdir()
    softhat.to_gpt2(softhat.compile(formula, "ab"), folder / "out", context, activation)
    write_words(folder / "words.npz", formula, lengths, context - 1, few)
    stated = json.loads((folder / "out" / "certificate.json").read_text())["max_length"]
    entry = {"folder": str(folder / "out"), "words": str(folder / "words.npz")}
    return Export(formula, context, [{**entry, "dtype": dtype} for dtype in dtypes], stated)


def run_all(exports: list[Export], folder: Path) -> list[tuple[Export, str, dict[str, Any]]]:
    """(export, dtype, result) of each, all in one process."""
    flat = [(export, task) for export in exports for task in export.tasks]
    results = run_stock([task for _, task in flat], folder)
    return [
        (export, task["dtype"], result)
        for (export, task), result in zip(flat, results, strict=True)
    ]


@pytest.fixture(scope="module", params=sizes(24, 12))
def answers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[Export, str, dict[str, Any]]]:
    """Of every 24th formula, or of every 12th."""
    folder = tmp_path_factory.mktemp("gpt2")
    both = ("float32", "bfloat16")
    every = decoders()
    exports = [
        export(formula, folder / f"{k}", 128, ("relu", "gelu_new")[k % 2], both)
        for k, formula in enumerate(every[:: request.param])
    ]
    long = [parse(t) for t in ("!a S b", "#(#(a) > #(Y b)) > 2")]
    exports += [
        export(f, folder / f"1024.{k}", 1024, "gelu_new", both, few=True, lengths=[3])
        for k, f in enumerate(long)
    ]
    weighted = parse("2*#(a) - 3*#(b) = 1")
    exports.append(export(weighted, folder / "4096", 4096, "relu", both[:1], True, [3]))
    return run_all(exports, folder)


def test_stock_gpt2_agrees(answers: list[tuple[Export, str, dict[str, Any]]]) -> None:
    assert sum(result["positions"] for _, _, result in answers) > 100_000
    wrong = [(str(e.formula), d, result) for e, d, result in answers if result["wrong"]]
    assert not wrong


def test_logits_keep_their_distance(answers: list[tuple[Export, str, dict[str, Any]]]) -> None:
    assert min(result["margin"] for _, _, result in answers) > 19.9


def test_certificates_reach_the_context(
    answers: list[tuple[Export, str, dict[str, Any]]],
) -> None:
    short = [
        (str(e.formula), dtype, e.certified)
        for e, dtype, _ in answers
        if e.certified[dtype] < e.context - 1
    ]
    # Constants of many digits have no bfloat16; everything else is proved to the end.
    assert all(dtype == "bfloat16" and "100" in formula for formula, dtype, _ in short), short


@pytest.mark.full
@pytest.mark.parametrize("activation", ["relu", "gelu_new"])
@pytest.mark.parametrize(
    ("context", "dtypes"),
    [(128, ("float32",)), (1024, ("float32", "bfloat16")), (4096, ("float32",))],
)
def test_all_formulas(
    context: int, dtypes: tuple[str, ...], activation: str, tmp_path: Path
) -> None:
    every = decoders()
    assert len(every) >= 100
    few = context > 128
    results = run_all(
        [
            export(formula, tmp_path / f"{k}", context, activation, dtypes, few)
            for k, formula in enumerate(every)
        ],
        tmp_path,
    )
    for dtype in dtypes:
        proved = sum(e.certified[dtype] == context - 1 for e, d, _ in results if d == dtype)
        print(f"{context} {activation} {dtype}: {len(every)} formulas, {proved} certified")
    wrong = [(str(e.formula), dtype, r) for e, dtype, r in results if r["wrong"]]
    assert not wrong


def test_pipeline_outputs_and_sets_without_softhat(tmp_path: Path) -> None:
    symbols = ["on", "off", "wait"]
    softhat.to_gpt2(softhat.compile("!off S on", symbols), tmp_path / "flip", context=64)
    codes = np.array([[2, 0, 2, 1, 2, 0]])
    truth = np.array([[0, 1, 1, 0, 0, 1]], dtype=bool)
    np.savez(tmp_path / "flip.npz", codes=codes, truth=truth)
    propositional = softhat.compile("p S (q & !p)", propositions=["p", "q"])
    softhat.to_gpt2(propositional, tmp_path / "sets", context=64)
    # Sets are numbered by their bits: {} 0, {p} 1, {q} 2, {p,q} 3.
    sets = np.array([[1, 2, 1, 3, 0, 2]])
    np.savez(tmp_path / "sets.npz", codes=sets, truth=np.array([[0, 1, 1, 1, 0, 1]], dtype=bool))
    texts = {"flip": "wait on wait off wait on", "sets": "{p} {q} {p} {p,q} {} {q}"}
    several = softhat.compile({"safe": "H a", "never": "false", "often": "#(a) > 1"}, "ab")
    for name, formula in several.formulas.items():
        softhat.to_gpt2(several, tmp_path / name, context=32, output=name)
        write_words(tmp_path / f"{name}.npz", formula, [4], 31)
    names = ["flip", "sets", *several.formulas]
    results = run_stock(
        [
            {
                "folder": str(tmp_path / name),
                "words": str(tmp_path / f"{name}.npz"),
                **({"text": texts[name]} if name in texts else {}),
            }
            for name in names
        ],
        tmp_path,
    )
    assert [result["wrong"] for result in results] == [0] * 5
    assert results[0]["ids"] == [3, 2, 0, 2, 1, 2, 0]
    assert results[0]["pipeline"] == ["false", "true", "true", "false", "false", "true"]
    assert results[1]["ids"] == [4, 1, 2, 1, 3, 0, 2]
    assert results[1]["pipeline"] == ["false", "true", "true", "true", "false", "true"]
    assert (tmp_path / "safe" / "formula.txt").read_text() == "safe: H a\n"


def test_several_outputs_need_a_choice(tmp_path: Path) -> None:
    model = softhat.compile({"safe": "H a", "often": "#(a) > 1"}, "ab")
    with pytest.raises(SofthatError, match="choose output= one of safe, often"):
        softhat.to_gpt2(model, tmp_path / "out")


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("F a", {}, "sees only the past.*uses F"),
        ("a & n > 3", {}, "uses n:"),
        ("last | #*(a) > 2", {}, r"uses last, #\*"),
        ("a", {"context": 1}, "counts <bos>"),
        ("a", {"context": 2**20}, "at most"),
        ("a", {"activation": "gelu"}, "relu, gelu_new"),
        ("a", {"kernel": "flash"}, "sdpa, eager"),
        ("a", {"head": "cls"}, "token-classification, lm"),
        ("a", {"output": "b"}, "no output 'b'"),
        ("a", {"margin": 0.0}, "margin"),
        ("a", {"margin": "20"}, r"margin is .20.: give a number"),
        ("a", {"head": "lm"}, "one output for each symbol"),
    ],
)
def test_refusals_say_what_to_do(
    formula: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SofthatError, match=message):
        softhat.to_gpt2(softhat.compile(formula, "ab"), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_symbols_with_white_space(tmp_path: Path) -> None:
    softhat.to_gpt2(softhat.compile("' ' S b", "b "), tmp_path / "out", context=16)
    vocabulary = json.loads((tmp_path / "out" / "tokenizer.json").read_text())["model"]["vocab"]
    assert vocabulary == {"b": 0, "▁": 1, "<bos>": 2, "<eos>": 3}
    with pytest.raises(SofthatError, match="same token"):
        softhat.to_gpt2(softhat.compile("a", ["a", " ", "▁"]), tmp_path / "out2")
