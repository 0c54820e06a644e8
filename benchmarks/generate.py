"""Tokens a second of certified generation, beside `transformers` with a cache of keys and values.

    python benchmarks/generate.py [--quick] [--json FILE]

Each machine runs by softhat's softmax stepper, in hard attention (the attention program as a Python
function), and as a stock checkpoint by `generate()` of transformers with its cache, on one thread.
Every token is compared with the machine's interpreter. The 33,000 tokens a second published for
transformer-vm are of other hardware and other machines: a number to stand beside these.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import softhat
from softhat import Machine, Model, SofthatError

PUBLISHED = 33_000
MULTIPLY = """
outer: dec a first done
first: dec b addc restore
addc: inc c addd
addd: inc d first
restore: dec d back outer
back: inc b restore
done: halt
"""
BB4 = "1RB1LB_1LA0LC_1RZ1LD_1RD0RA"
BB5 = "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA"


def machines() -> dict[str, tuple[Machine, Any, str]]:
    """A machine, its input, and the stock architecture that it is exported to."""
    return {
        "multiplication, 4 counters": (softhat.machine(MULTIPLY), {"a": 30, "b": 40}, "llama"),
        "Rule 110, ring of 8": (
            softhat.machine({"kind": "cellular", "rule": 110, "width": 8}), None, "llama",
        ),
        "BB(4), 32 cells": (softhat.machine(BB4, space=32), None, "gpt2"),
        "BB(5), 4,096 cells": (softhat.machine(BB5), None, "gpt2"),
    }  # fmt: skip


def speed(m: Machine, given: Any, run: Callable[[list[str]], list[str]]) -> tuple[int, float]:
    """How many tokens were written, and how many a second; all of them right."""
    prompt = m.prompt(given)
    start = time.perf_counter()
    tokens = run(prompt)
    seconds = time.perf_counter() - start
    wrong = m.first_wrong(given, [*prompt, *tokens])
    assert wrong is None, f"token {wrong} is wrong"
    return len(tokens), len(tokens) / seconds


def own_speed(model: Model, m: Machine, given: Any, runtime: Any, most: int) -> Any:
    """Of softhat's own runtimes; None where softhat's architecture has no weights for it."""
    try:
        list(model.generate(m.prompt(given), 1, runtime=runtime))  # what is made once, is made now
    except SofthatError:
        return None
    return speed(m, given, lambda prompt: list(model.generate(prompt, most, runtime=runtime)))


def stock(m: Machine, target: str, most: int, folder: Path) -> Callable[[list[str]], list[str]]:
    """`generate()` of transformers."""
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if target == "gpt2":
        softhat.to_gpt2(m, folder, context=most + 64)
    else:
        positions: Any = "bits" if m.kind == "cellular" else "rope"
        softhat.to_llama(m, folder, context=1 << 12, positions=positions)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    lm = transformers.AutoModelForCausalLM.from_pretrained(folder)

    def run(prompt: list[str]) -> list[str]:
        ids = tokenizer(" ".join(prompt), return_tensors="pt")
        out = lm.generate(**ids, max_new_tokens=most)[0].tolist()
        names: list[str] = tokenizer.convert_ids_to_tokens(out)
        return names[len(prompt) + 1 :]

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    own, slow = (5_000, 100) if asked.quick else (200_000, 1_000)
    rows: list[dict[str, Any]] = []
    for name, (m, given, target) in machines().items():
        model = softhat.compile(m)
        row: dict[str, Any] = {"machine": name}
        for runtime, most in (("linear", min(own, 20_000)), ("hard", own)):
            row[runtime] = own_speed(model, m, given, runtime, most)
        with TemporaryDirectory() as folder:
            row[target] = speed(m, given, stock(m, target, slow, Path(folder) / "model"))
        rows.append(row)
        told = [f"{k} {v[1]:,.0f}/s ({v[0]:,} tokens)" for k, v in row.items() if type(v) is tuple]
        print(f"{name}: {', '.join(told)}", flush=True)
    print(f"published for transformer-vm, on other hardware: {PUBLISHED:,}/s")
    if asked.json is not None:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
