"""Machines as stock decoders: `generate()` of unmodified transformers writes the runs."""

from __future__ import annotations

import json
from itertools import product
from math import exp
from pathlib import Path
from typing import Any, get_args

import pytest

import softhat
from softhat.export.gguf_verify import read_facts
from softhat.frontends.machines.machine import Machine
from softhat.models.zoo.machines import CLOSER, calculator, machines
from softhat.transformer.lowering.llama.rotary import Positions
from tests.frontends.machines.collection import CASES, MULTIPLY, Case
from tests.frontends.machines.test_automaton import INCREMENT
from tests.slices import every

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def loaded(folder: Path, dtype: str, **options: Any) -> tuple[Any, Any]:
    lm = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=getattr(torch, dtype), **options
    )
    return transformers.AutoTokenizer.from_pretrained(folder), lm


def generated(folder: Path, m: Machine, given: Any, tokens: int, dtype: str, **how: Any) -> Any:
    """What plain `generate` writes after the input's prompt."""
    tokenizer, lm = loaded(folder, dtype)
    ids = tokenizer(" ".join(m.prompt(given)), return_tensors="pt")
    out = lm.generate(**ids, max_new_tokens=tokens, **how)
    return tokenizer.convert_ids_to_tokens(out[0].tolist())


@pytest.fixture(scope="module")
def multiply(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("machines") / "multiply"
    softhat.to_llama(softhat.machine(MULTIPLY), folder, context=1024)
    return folder


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("use_cache", [True, False])
def test_generate_is_the_run(multiply: Path, dtype: str, use_cache: bool) -> None:
    m = softhat.machine(MULTIPLY)
    run = m.run({"a": 3, "b": 4})
    names = generated(multiply, m, {"a": 3, "b": 4}, 200, dtype, use_cache=use_cache)
    assert tuple(names) == ("<bos>", *run.word)
    assert m.decode(names) == run


def test_batches_are_padded_on_the_left(multiply: Path) -> None:
    m = softhat.machine(MULTIPLY)
    tokenizer, lm = loaded(multiply, "float32")
    inputs = [{"a": 2, "b": 5}, {"a": 0, "b": 1}, {"a": 3, "b": 3}, {}]
    prompts = [" ".join(m.prompt(given)) for given in inputs]
    batch = tokenizer(prompts, return_tensors="pt", padding=True)
    out = lm.generate(**batch, max_new_tokens=120)
    for given, row in zip(inputs, out, strict=True):
        names = tokenizer.convert_ids_to_tokens(row.tolist())
        names = names[names.index("<bos>") :]
        run = m.run(given)
        assert tuple(names[: len(run.word) + 1]) == ("<bos>", *run.word)


def test_the_folder_says_what_it_is(multiply: Path) -> None:
    certificate = softhat.certify(multiply)
    assert certificate.ok
    assert certificate.max_length["float32"] == certificate.max_length["bfloat16"] == 1023
    run = certificate.document["run"]
    assert "exactly one token" in run["next"]
    assert run["machine"] == "counter"
    assert "nothing bounds" in run["space"]
    assert "It runs a counter machine" in certificate.explain()
    written = json.loads((multiply / "certificate.json").read_text())
    assert written["run"] == run
    tokens = len(softhat.machine(MULTIPLY).tokens) + 2
    assert run["sampling_error"] >= 1023 * tokens * exp(-written["margin"]) * 0.99
    assert json.loads((multiply / "generation_config.json").read_text())["do_sample"] is False
    assert softhat.machine(json.loads((multiply / "machine.json").read_text())) == softhat.machine(
        MULTIPLY
    )


def test_another_machine_in_the_folder_voids_the_certificate(
    multiply: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for file in multiply.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    text = (other / "machine.json").read_text()
    assert "first: dec b addc restore" in text
    changed = text.replace("first: dec b addc restore", "first: dec b addd restore")
    (other / "machine.json").write_text(changed)
    certificate = softhat.certify(other)
    assert certificate.void
    assert not any(certificate.max_length.values())


SLICE = [case for case in CASES if case.name in ("add", "collatz", "prime")]


@pytest.mark.parametrize("case", SLICE, ids=lambda case: case.name)
def test_counter_machines_are_certified_far_out(case: Case, tmp_path: Path) -> None:
    check_far(case, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_counter_machines_are_certified_far_out(case: Case, tmp_path: Path) -> None:
    check_far(case, tmp_path)


def check_far(case: Case, folder: Path) -> None:
    m = softhat.machine(case.text)
    softhat.to_llama(m, folder / "model", context=1 << 16)
    certificate = softhat.certify(folder / "model")
    assert certificate.max_length["float32"] == certificate.max_length["bfloat16"] == 65_535
    run = m.run(case.input, max_steps=150)
    names = generated(folder / "model", m, case.input, run.steps + 1, "bfloat16")
    assert tuple(names[1 : len(run.word) + 1]) == run.word


BEAVER = "1RB1LB_1LA0LC_1RZ1LD_1RD0RA"
TWO_TAPES = {
    "kind": "turing",
    "tapes": 2,
    "symbols": ["_", "a", "b"],
    "start": "copy",
    "halt": ["done"],
    "space": 16,
    "transitions": [
        ["copy", ["a", "_"], "copy", ["a", "a"], ["R", "R"]],
        ["copy", ["b", "_"], "copy", ["b", "b"], ["R", "R"]],
        ["copy", ["_", "_"], "back", ["_", "_"], ["L", "S"]],
        ["back", ["a", "_"], "done", ["b", "a"], ["S", "S"]],
        ["back", ["b", "_"], "done", ["a", "b"], ["S", "S"]],
    ],
}
"""Copies the first tape to the second; then changes its last symbol and adds the old one."""
THREE_TAPES = {
    "kind": "turing",
    "tapes": 3,
    "symbols": ["_", "a", "b"],
    "start": "go",
    "halt": ["end"],
    "space": 16,
    "transitions": [
        ["go", ["a", "", ""], "go", ["", "b", "a"], ["R", "R", "R"]],
        ["go", ["b", "", ""], "go", ["", "a", "b"], ["R", "R", "L"]],
        ["go", ["_", "", ""], "end", ["", "", ""], ["S", "S", "S"]],
    ],
}
"""The second tape has the other letters; on the third an a goes right and a b left."""


def test_a_busy_beaver_to_its_end_in_gpt2(tmp_path: Path) -> None:
    m = softhat.machine(BEAVER, space=32)
    softhat.to_gpt2(m, tmp_path / "m", context=128)
    certificate = softhat.certify(tmp_path / "m")
    assert certificate.ok
    assert certificate.max_length["float32"] == certificate.max_length["bfloat16"] == 127
    run = m.run()
    assert (run.steps, run.halted) == (107, True)
    for dtype in ("float32", "bfloat16"):
        names = generated(tmp_path / "m", m, None, 127, dtype)
        assert tuple(names[1:]) == run.word
    assert m.decode(names) == run


def certified_and_run(m: Machine, folder: Path, given: Any, steps: int, target: str) -> None:
    """Certified to the whole context in both formats, and `generate` writes the run."""
    context = 64
    if target == "gpt2":
        softhat.to_gpt2(m, folder, context=context)
    else:
        softhat.to_llama(m, folder, context=context)
    certificate = softhat.certify(folder)
    assert certificate.max_length["float32"] == certificate.max_length["bfloat16"] == context - 1
    run = m.run(given, max_steps=steps)
    assert len(run.word) < context
    new = len(run.word) - len(run.prompt)
    for dtype in ("float32", "bfloat16"):
        names = generated(folder, m, given, new, dtype)
        assert tuple(names[1:]) == run.word
    assert m.decode(names) == run


@pytest.mark.parametrize("target", every(2, ["gpt2", "llama"]))
def test_two_tapes(target: str, tmp_path: Path) -> None:
    m = softhat.machine(TWO_TAPES)
    run: Any = m.run("abba")
    assert "abbaa" in run.tapes  # the second one
    certified_and_run(m, tmp_path / "m", "abba", 60, target)


@pytest.mark.parametrize("target", every(2, ["llama", "gpt2"]))
def test_three_tapes(target: str, tmp_path: Path) -> None:
    m = softhat.machine(THREE_TAPES)
    run: Any = m.run("abbab")
    assert run.tapes == ("abbab", "baaba", "abb")  # by hand
    certified_and_run(m, tmp_path / "m", "abbab", 60, target)


@pytest.mark.parametrize("target", ["gpt2", "llama"])
def test_a_cellular_automaton(target: str, tmp_path: Path) -> None:
    m = softhat.machine({"kind": "cellular", "rule": 110, "width": 5})
    certified_and_run(m, tmp_path / "m", "00101", 10, target)


def test_the_certified_ring_is_right_and_its_twin_is_not(tmp_path: Path) -> None:
    """Rule 110 in bfloat16, every token of 2,047: by digits none is wrong, by distances many."""
    m = machines()["rule-110"].machine
    word = list(m.run(None, max_steps=63).word)[:2047]
    wrong = {}
    for positions in get_args(Positions):
        folder = tmp_path / positions
        softhat.to_llama(m, folder, context=2048, positions=positions)
        proved = softhat.certify(folder).max_length["bfloat16"]
        assert proved == (2047 if positions == "bits" else 0)
        tokenizer, lm = loaded(folder, "bfloat16")
        with torch.no_grad():
            best = lm(**tokenizer(" ".join(word), return_tensors="pt")).logits[0].argmax(-1)
        said = tokenizer.convert_ids_to_tokens(best.tolist())
        wrong[positions] = sum(a != b for a, b in zip(said[32:-1], word[32:], strict=True))
    assert wrong["bits"] == 0
    assert wrong["rope"] > 0


@pytest.mark.parametrize("target", every(2, ["gpt2", "llama"]))
def test_an_automaton(target: str, tmp_path: Path) -> None:
    m = softhat.machine({"kind": "automaton", "regex": "((a|b)(a|b)(a|b))*", "alphabet": "ab"}, 32)
    certified_and_run(m, tmp_path / "m", "abbab", 20, target)


@pytest.mark.parametrize("target", every(2, ["llama", "gpt2"]))
def test_a_transducer(target: str, tmp_path: Path) -> None:
    m = softhat.machine(INCREMENT, 32)
    certified_and_run(m, tmp_path / "m", "1101", 20, target)


@pytest.mark.parametrize("target", every(2, ["llama", "gpt2"]))
def test_a_stack_program(target: str, tmp_path: Path) -> None:
    m = softhat.machine({"kind": "stack", "program": CLOSER}, 16)
    certified_and_run(m, tmp_path / "m", "[()](", 60, target)


@pytest.mark.parametrize(("modulus", "target"), every(4, product([4, 10], ["gpt2", "llama"])))
def test_a_calculator(modulus: int, target: str, tmp_path: Path) -> None:
    """Its gates have conjunctions of hundreds of literals, for which float32 must have room."""
    m = softhat.machine(calculator(modulus), 16)
    run: Any = m.run("32+2*")
    assert run.tape == str((3 + 2) * 2 % modulus)
    certified_and_run(m, tmp_path / "m", "32+2*", 60, target)


def test_a_gguf_file_says_which_machine_it_runs(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    m = softhat.machine({"kind": "cellular", "rule": 110, "width": 3})
    softhat.to_gguf(m, tmp_path / "m.gguf", context=64)
    facts = read_facts(tmp_path / "m.gguf")
    assert facts.symbols == m.tokens
    assert facts.formulas == m.formulas


def test_a_small_window_in_llama(tmp_path: Path) -> None:
    m = softhat.machine("1RB1LB_1LA1RZ", space=8)
    softhat.to_llama(m, tmp_path / "m", context=64)
    certificate = softhat.certify(tmp_path / "m")
    assert certificate.max_length["float32"] == certificate.max_length["bfloat16"] == 63
    names = generated(tmp_path / "m", m, "1", 20, "bfloat16")
    assert tuple(names[1:]) == m.run("1").word
