"""One tape in GPT-2 and Llama: every token of a run is the next, as the interpreter says."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.frontends.machines.machine import Machine
from tests.slices import every

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
EXPORTS: dict[str, Callable[..., None]] = {"gpt2": softhat.to_gpt2, "llama": softhat.to_llama}
BB4 = "1RB1LB_1LA0LC_1RZ1LD_1RD0RA"
BB5 = "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA"


def loaded(folder: Path, dtype: str) -> tuple[Any, Any]:
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    lm = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype))
    return transformers.AutoTokenizer.from_pretrained(folder), lm.eval()


def random_machine(rng: np.random.Generator, states: int) -> str:
    """Two symbols, no halting entry."""

    def entry() -> str:
        write, move, to = rng.integers(0, 2), "LR"[rng.integers(0, 2)], rng.integers(0, states)
        return f"{write}{move}{'ABCDEF'[to]}"

    return "_".join(entry() + entry() for _ in range(states))


def lasting(rng: np.random.Generator, states: int, space: int, longest: int) -> Machine:
    """A random machine that stays within its space so long, from some inputs at least."""
    while True:
        m = softhat.machine(random_machine(rng, states), space=space)
        if all(
            len(m.run(word, max_steps=longest).word) > longest for word in ("", "1", "10", "0110")
        ):
            return m


def inputs(rng: np.random.Generator, count: int) -> list[str]:
    return ["".join(map(str, rng.integers(0, 2, rng.integers(0, 14)))) for _ in range(count)]


def forced(lm: Any, tokenizer: Any, m: Machine, given: list[str], longest: int) -> tuple[int, int]:
    """Positions after the prompts at which the next token was asked for, and those that were
    wrong: runs of one length at a time."""
    asked = wrong = 0
    for word in given:
        run = m.run(word, max_steps=longest).word[: longest + 1]
        ids = tokenizer(" ".join(run), return_tensors="pt").input_ids
        with torch.no_grad():
            said = lm(ids[:, : longest + 1]).logits[0].argmax(-1)
        start = len(m.prompt(word))
        wanted = ids[0, start + 1 :]
        asked += len(wanted)
        wrong += int((said[start : start + len(wanted)] != wanted).sum())
    return asked, wrong


@pytest.mark.parametrize(("dtype", "target"), every(3, product(["float32", "bfloat16"], EXPORTS)))
def test_every_token_of_random_machines(target: str, dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    m = lasting(rng, 2, 64, 128)
    EXPORTS[target](m, tmp_path / "m", context=128)
    assert softhat.certify(tmp_path / "m").max_length[dtype] == 127
    tokenizer, lm = loaded(tmp_path / "m", dtype)
    asked, wrong = forced(lm, tokenizer, m, inputs(rng, 3), 127)
    assert asked > 200 and not wrong


@pytest.mark.full
@pytest.mark.parametrize("target", EXPORTS)
@pytest.mark.parametrize("seed", range(50))
def test_a_million_positions(seed: int, target: str, tmp_path: Path) -> None:
    """50 machines, 2 architectures, 11 inputs of up to 1,023 tokens: 1.1 million."""
    rng = np.random.default_rng(seed)
    m = lasting(rng, 2 + seed % 3, 256, 1024)
    EXPORTS[target](m, tmp_path / "m", context=1024)
    dtype = ("float32", "bfloat16")[seed % 2]
    longest = softhat.certify(tmp_path / "m").max_length[dtype]
    assert longest == 1023
    tokenizer, lm = loaded(tmp_path / "m", dtype)
    asked, wrong = forced(lm, tokenizer, m, inputs(rng, 11), longest)
    assert asked > 5_000 and not wrong


@pytest.mark.full
@pytest.mark.parametrize("target", EXPORTS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_4095_tokens_of_the_busy_beaver(target: str, dtype: str, tmp_path: Path) -> None:
    m = softhat.machine(BB5)
    EXPORTS[target](m, tmp_path / "m", context=4096)
    assert softhat.certify(tmp_path / "m").max_length[dtype] == 4095
    tokenizer, lm = loaded(tmp_path / "m", dtype)
    assert forced(lm, tokenizer, m, [""], 4095) == (4094, 0)


@pytest.mark.parametrize(("use_cache", "target"), every(3, product([True, False], EXPORTS)))
def test_generate_to_halting(target: str, use_cache: bool, tmp_path: Path) -> None:
    m = softhat.machine(BB4, space=32)
    EXPORTS[target](m, tmp_path / "m", context=256)
    tokenizer, lm = loaded(tmp_path / "m", "bfloat16")
    ids = tokenizer(" ".join(m.prompt()), return_tensors="pt")
    steps = 200 if use_cache else 20
    names = lm.generate(**ids, max_new_tokens=steps, use_cache=use_cache)[0].tolist()
    run = m.run("")
    expected = ("<bos>", *run.word)
    assert tuple(tokenizer.convert_ids_to_tokens(names)) == expected[: len(m.prompt()) + 1 + steps]
    assert run.halted and run.steps == 107


@pytest.mark.parametrize("target", EXPORTS)
def test_batches_padded_on_the_left(target: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    m = softhat.machine(random_machine(rng, 2), space=64)
    EXPORTS[target](m, tmp_path / "m", context=128)
    tokenizer, lm = loaded(tmp_path / "m", "float32")
    given = ["1", "10110", "", "0111010"]
    batch = tokenizer(
        [" ".join(m.prompt(word)) for word in given], padding=True, return_tensors="pt"
    )
    out = lm.generate(**batch, max_new_tokens=30)
    for word, row, mask in zip(given, out, batch["attention_mask"], strict=True):
        names = tokenizer.convert_ids_to_tokens(row[int((mask == 0).sum()) :].tolist())
        assert tuple(names[1:]) == m.run(word, max_steps=60).word[: len(names) - 1]
