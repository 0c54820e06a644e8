"""Random Turing machines of a public generator, as stock decoders, run without softhat.

    python -m tests.export.public_machines FOLDER [--count 20] [--seed 0] [--to gpt2] [--most 60]

FOLDER is `turingformer` of github.com/moritzbroe/transformer-expressivity, of which nothing is kept
here. Its own simulator says what each machine does, step by step. The checkpoints are run by a
process in which softhat cannot be imported.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import softhat
from softhat.frontends.machines.turing import TuringMachine

LEAST, MOST = 20, 60
"""Steps of a run: shorter ones are left out, longer ones are cut."""
AT_ONCE = 20
"""Machines for each process that runs them."""
READ_AGAIN = 10
"""Of so many folders one is read back and certified anew; the others' certificates are those that
were made with them, of the same weights by the same checker."""
RUNNER = """
import json, sys
sys.modules["softhat"] = None  # whoever imports it fails
import torch, transformers
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)
for line in open(sys.argv[1]):
    case = json.loads(line)
    tokenizer = transformers.AutoTokenizer.from_pretrained(case["folder"])
    for dtype in case["dtypes"]:
        lm = transformers.AutoModelForCausalLM.from_pretrained(
            case["folder"], dtype=getattr(torch, dtype)
        )
        ids = tokenizer(" ".join(case["prompt"]), return_tensors="pt")
        out = lm.generate(**ids, max_new_tokens=len(case["tokens"]))[0].tolist()
        names = tokenizer.convert_ids_to_tokens(out)[1 + len(case["prompt"]):]
        print(int(names == case["tokens"]), len(names), flush=True)
"""


@dataclass(frozen=True)
class PublicCase:
    """A machine, its input, and what the generator's own simulator did, step by step."""

    machine: TuringMachine
    word: str
    steps: list[tuple[str, tuple[str, ...], tuple[str, ...]]]
    halted: bool


def cases(folder: Path, seed: int, tapes: int, most: int) -> Iterator[PublicCase]:
    """The generator's stream, of one number of tapes; runs are cut after `most` steps."""
    sys.path.insert(0, str(folder))
    try:
        from tm.random_tm import random_tm_and_input  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(folder))
    rng = random.Random(seed)
    while True:
        given, word = random_tm_and_input(rng=rng, num_tapes_choices=(tapes,))
        there = given.initial_configuration(word)
        steps: list[Any] = []
        farthest = len(word)
        while there.state != given.halting_state and len(steps) < most:
            there, did = given.step(there, return_diff=True)
            steps.append(did)
            farthest = max(farthest, *(tape.head for tape in there.tapes))
        if len(steps) < LEAST:
            continue
        table = [
            [state, list(read), *(list(x) if isinstance(x, tuple) else x for x in action)]
            for (state, read), action in given.transitions.items()
        ]
        made = softhat.machine(
            {
                "kind": "turing",
                "tapes": tapes,
                "one_sided": True,
                "symbols": [given.blank, *given.input_vocabulary],
                "start": given.initial_state,
                "halt": [given.halting_state],
                "transitions": table,
                "space": max(8, 2 << farthest.bit_length()),
            }
        )
        assert isinstance(made, TuringMachine)
        yield PublicCase(made, word, steps, there.state == given.halting_state)


def expected(case: PublicCase) -> tuple[list[str], list[str]]:
    """The prompt, and the tokens after it, whose actions are those of the public simulator."""
    m = case.machine
    run = m.run(case.word, max_steps=len(case.steps))
    did = [(a.next, a.write, a.move) for a in m.acts_of(run.tokens)]
    assert did == case.steps, "softhat's interpreter differs from the public one"
    assert (run.halted, run.full) == (case.halted, False)
    return list(run.prompt), list(run.word[len(run.prompt) :])


def exported(case: PublicCase, folder: Path, target: str, read_again: bool) -> dict[str, Any]:
    """The checkpoint's line for the runner; it is certified to its last token."""
    prompt, tokens = expected(case)
    context = len(prompt) + len(tokens) + 1
    if target == "gpt2":
        softhat.to_gpt2(case.machine, folder, context=context)
    else:
        softhat.to_llama(case.machine, folder, context=context, positions="bits")
    certified = json.loads((folder / "certificate.json").read_text())["max_length"]
    if read_again:
        assert softhat.certify(folder).max_length == certified
    dtypes = ["float32", "bfloat16"]
    for dtype in dtypes:
        assert certified[dtype] == context - 1, (dtype, certified)
    return {"folder": str(folder), "prompt": prompt, "tokens": tokens, "dtypes": dtypes}


def without_softhat(lines: list[dict[str, Any]], folder: Path) -> tuple[int, int]:
    """How many runs were right, and how many tokens they had."""
    script, given = folder / "runner.py", folder / "cases.jsonl"
    script.write_text(RUNNER)
    given.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = subprocess.run(
        [sys.executable, "-I", str(script), str(given)],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [line.split() for line in done.stdout.splitlines()]
    assert len(answers) == sum(len(line["dtypes"]) for line in lines)
    return sum(int(right) for right, _ in answers), sum(int(n) for _, n in answers)


def campaign(
    source: Path,
    count: int,
    seed: int,
    target: str,
    tapes: tuple[int, ...],
    most: int,
    read_again: int = READ_AGAIN,
) -> dict[str, Any]:
    """`count` machines, with these numbers of tapes by turns; of so many one is read back."""
    streams = [cases(source, 10 * seed + some, some, most) for some in tapes]
    right = tokens = runs = 0
    start = time.process_time()
    for begin in range(0, count, AT_ONCE):
        with tempfile.TemporaryDirectory() as folder:
            lines = []
            for at in range(begin, min(begin + AT_ONCE, count)):
                case = next(streams[at % len(streams)])
                again = at % read_again < len(streams)
                lines.append(exported(case, Path(folder) / str(at), target, again))
            good, some = without_softhat(lines, Path(folder))
        right, tokens, runs = right + good, tokens + some, runs + 2 * len(lines)
        print(f"{runs} runs, {right} right, {time.process_time() - start:.0f} s", flush=True)
    return {"machines": count, "runs": runs, "right": right, "tokens": tokens}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tapes", default="1,3")
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--read-again", type=int, default=READ_AGAIN, metavar="ONE_OF")
    parser.add_argument("--to", choices=("gpt2", "llama"), default="gpt2")
    asked = parser.parse_args()
    tapes = tuple(map(int, asked.tapes.split(",")))
    did = campaign(
        asked.source, asked.count, asked.seed, asked.to, tapes, asked.most, asked.read_again
    )
    print(json.dumps(did))


if __name__ == "__main__":
    main()
