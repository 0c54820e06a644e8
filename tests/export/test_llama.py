"""Stock Llama checkpoints agree with the formulas, in a process that cannot import softhat."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat import SofthatError
from softhat.logic.random import random_formula
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.logic.syntax.walk import distinct
from tests.export.test_gpt2 import Export, decoders, run_all, run_stock, write_words
from tests.slices import sizes

pytest.importorskip("transformers")


def fits_rope(formula: Formula) -> bool:
    """No predicate of the position that needs its digits."""
    return not any(isinstance(node, nodes.Mod | nodes.At) for node, _ in distinct(formula)[0])


def past_formulas() -> list[Formula]:
    """100 and more formulas for *rope*, over {a, b}."""
    found = [formula for formula in decoders() if fits_rope(formula)]
    rng = np.random.default_rng(11)
    while len(found) < 110:
        formula = random_formula(rng, int(rng.integers(4, 24)), ["a", "b"], "decoder")
        found += [formula] if fits_rope(formula) else []
    return found


def export(
    formula: Formula,
    folder: Path,
    context: int,
    tasks: tuple[tuple[str, str], ...],
    few: bool = False,
    lengths: Iterable[int] = range(1, 8),
    **options: Any,
) -> Export:
    """One checkpoint, with a manifest entry for each (dtype, kernel) of `tasks`."""
    folder.mkdir()
    softhat.to_llama(softhat.compile(formula, "ab"), folder / "out", context, **options)
    write_words(folder / "words.npz", formula, lengths, context - 1, few)
    stated = json.loads((folder / "out" / "certificate.json").read_text())["max_length"]
    entry = {"folder": str(folder / "out"), "words": str(folder / "words.npz")}
    entries = [{**entry, "dtype": dtype, "kernel": kernel} for dtype, kernel in tasks]
    return Export(formula, context, entries, stated)


BOTH = (("float32", "sdpa"), ("float32", "eager"))
SMALL = (("bfloat16", "sdpa"), ("float32", "sdpa"))
Answers = list[tuple[Export, str, dict[str, Any]]]


def exports(folder: Path, step: int) -> Iterator[Export]:
    for k, formula in enumerate(past_formulas()[::step]):
        yield export(formula, folder / f"rope{k}", 128, BOTH, lengths=(1, 2, 3, 6))
    for k, formula in enumerate(decoders()[::step]):
        options: dict[str, Any] = {"positions": "bits", "lengths": (1, 2, 3, 6)}
        yield export(formula, folder / f"bits{k}", 128, SMALL, **options)
    for k, text in enumerate(("a S (b & Y a)", "2*#(a) - 3*#(b) = 1")):
        yield export(parse(text), folder / f"far{k}", 4096, BOTH[:1], True, [3])
    mod = parse("(mod(3, 1) S b) | Y (a S (b & Y a))")
    yield export(mod, folder / "mod", 1024, SMALL[:1], True, [3], positions="bits")
    for family in ("mistral", "qwen2"):
        for positions in ("rope", "bits"):
            task = BOTH if positions == "rope" else SMALL
            yield export(
                parse("#(a & Y b) > 1 & (a S b)"), folder / f"{family}{positions}", 100, task,
                lengths=[5], family=family, positions=positions,
            )  # fmt: skip


@pytest.fixture(scope="module", params=sizes(28, 14))
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Of every 28th formula, or of every 14th."""
    folder = tmp_path_factory.mktemp("llama")
    return run_all(list(exports(folder, request.param)), folder)


def test_stock_llama_agrees(answers: Answers) -> None:
    assert sum(result["positions"] for _, _, result in answers) > 100_000
    wrong = [(str(e.formula), d, result) for e, d, result in answers if result["wrong"]]
    assert not wrong


def test_logits_keep_their_distance(answers: Answers) -> None:
    assert min(result["margin"] for _, _, result in answers) > 19.9


def test_certificates_reach_the_context(answers: Answers) -> None:
    short = [
        (str(e.formula), dtype, e.certified)
        for e, dtype, _ in answers
        if e.certified[dtype] < e.context - 1
    ]
    # Constants of many digits have no bfloat16; everything else is proved to the end.
    assert all(dtype == "bfloat16" and "100" in formula for formula, dtype, _ in short), short


def reported(name: str, results: Answers, context: int) -> None:
    """What the full runs found, with what is proved of it."""
    for dtype in sorted({dtype for _, dtype, _ in results}):
        own = [(e, r) for e, d, r in results if d == dtype]
        proved = sum(e.certified[dtype] == context - 1 for e, _ in own)
        positions = sum(r["positions"] for _, r in own)
        print(f"{name} {dtype}: {len(own)} runs, {positions:,} positions, {proved} certified")
    wrong = [(str(e.formula), dtype, r) for e, dtype, r in results if r["wrong"]]
    assert not wrong


@pytest.mark.full
def test_all_formulas_by_rope(tmp_path: Path) -> None:
    every = past_formulas()
    assert len(every) >= 100
    made = [export(f, tmp_path / f"{k}", 4096, BOTH, True) for k, f in enumerate(every)]
    reported("rope 4096", run_all(made, tmp_path), 4096)


@pytest.mark.full
def test_all_formulas_by_bits(tmp_path: Path) -> None:
    every = decoders()
    assert len(every) >= 100
    made = [
        export(f, tmp_path / f"{k}", 1024, SMALL[:1], True, positions="bits")
        for k, f in enumerate(every)
    ]
    reported("bits 1024", run_all(made, tmp_path), 1024)


@pytest.mark.full  # `make test` does so with a GPT-2
def test_pipeline_outputs_and_sets_without_softhat(tmp_path: Path) -> None:
    softhat.to_llama(softhat.compile("!off S on", ["on", "off", "wait"]), tmp_path / "flip", 64)
    codes = np.array([[2, 0, 2, 1, 2, 0]])
    truth = np.array([[0, 1, 1, 0, 0, 1]], dtype=bool)
    np.savez(tmp_path / "flip.npz", codes=codes, truth=truth)
    propositional = softhat.compile("p S (q & !p)", propositions=["p", "q"])
    softhat.to_llama(propositional, tmp_path / "sets", 64)
    # Sets are numbered by their bits: {} 0, {p} 1, {q} 2, {p,q} 3.
    sets = np.array([[1, 2, 1, 3, 0, 2]])
    np.savez(tmp_path / "sets.npz", codes=sets, truth=np.array([[0, 1, 1, 1, 0, 1]], dtype=bool))
    texts = {"flip": "wait on wait off wait on", "sets": "{p} {q} {p} {p,q} {} {q}"}
    several = softhat.compile({"safe": "H a", "never": "false", "often": "#(a) > 1"}, "ab")
    for name, formula in several.formulas.items():
        softhat.to_llama(several, tmp_path / name, 32, output=name)
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
    assert results[1]["pipeline"] == ["false", "true", "true", "true", "false", "true"]


def test_a_formula_is_compiled_first(tmp_path: Path) -> None:
    softhat.to_llama("!c S a", tmp_path / "text", 16)
    softhat.to_llama(parse("!c S a"), tmp_path / "formula", 16)
    softhat.to_llama(softhat.compile("!c S a"), tmp_path / "model", 16)
    weights = [
        (tmp_path / name / "model.safetensors").read_bytes()
        for name in ("text", "formula", "model")
    ]
    assert weights[0] == weights[1] == weights[2]


def test_query_heads_share_keys_and_values(tmp_path: Path) -> None:
    formula = "(a S b) & (b S Y a) & #(a) > 2 & #(b) > 3 & (Y a S (b & Y b)) & Y b"
    softhat.to_llama(softhat.compile(formula, "ab"), tmp_path / "out", 32)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["num_attention_heads"] > config["num_key_value_heads"]
    verification = softhat.verify(tmp_path / "out", exhaustive=6, random=20, adversarial=20)
    assert verification.ok and verification.words == 126 + 40


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("F a", {}, "Llama is a decoder.*uses F"),
        ("F a", {"family": "mistral"}, "Mistral is a decoder"),
        ("a", {"context": 1}, "counts <bos>"),
        ("a", {"context": 2**20}, "at most"),
        ("a S b", {"context": 2**14, "positions": "bits"}, "at most 8,192.*positions='rope'"),
        ("a", {"positions": "learned"}, "rope, bits"),
        ("a", {"kernel": "flash"}, "sdpa, eager"),
        ("a", {"head": "cls"}, "token-classification, lm"),
        ("a", {"family": "gemma2"}, "'gemma2' is no architecture.*llama, mistral, qwen2"),
        ("a", {"output": "b"}, "no output 'b'"),
        ("a", {"margin": 0.0}, "margin"),
        ("a & mod(3, 1)", {}, "no digits of a position, which .*positions='bits'"),
        ("a & at(prime)", {}, "positions='bits'"),
        ("a", {"head": "lm"}, "one output for each symbol"),
    ],
)
def test_refusals_say_what_to_do(
    formula: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SofthatError, match=message):
        softhat.to_llama(softhat.compile(formula, "ab"), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
