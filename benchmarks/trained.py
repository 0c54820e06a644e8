"""Public checkpoints decided: `python benchmarks/trained.py FOLDER [--budget 60] [--only NAME]
[--decompile]`.

FOLDER holds the folder "saved_models" of github.com/lacoco-lab/decompiling_transformers (arXiv
2602.08857): 31 stock GPT-2s with the languages and tasks they were trained on. Fetch it; nothing of
it is here. Regular languages are proved or refuted for all words of at most 150 symbols at offset
0. For tasks that no small machine describes (sorting, copying) a problem that fails is searched by
evolution; all that come before it are decided where they can be listed.
With --decompile the machines of regular languages are learned from the models instead, without the
specification, proved, and then compared with it.
Prints a table on standard error and JSON on standard output: `benchmarks/trained.json` is such a
run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

import softhat
from softhat.trained.checkpoint import Checkpoint, read_checkpoint
from softhat.trained.decompile import LearningLimits, learned, teacher_of
from softhat.trained.specification import Specification, read_specification
from softhat.trained.walk import forward

LENGTH = 150
Machine = dict[Any, dict[str, Any]]


def sign(symbols: str, start: Any, steps: Machine, accept: set[Any]) -> dict[str, Any]:
    """A language as the authors number it: symbols, <bos>, <sep>, <eos>, <pad>."""
    count = len(symbols)
    return {
        "symbols": {symbol: at for at, symbol in enumerate(symbols)},
        "bos": count,
        "eos": count + 2,
        "decide": "sign",
        "start": str(start),
        "next": {str(q): {c: str(to) for c, to in row.items()} for q, row in steps.items()},
        "allowed": {
            str(q): [*row, *(["<eos>"] if q in accept else [])] for q, row in steps.items()
        },
    }


def dyck(depth: int) -> dict[str, Any]:
    steps = {
        d: {**({"a": d + 1} if d < depth else {}), **({"b": d - 1} if d else {})}
        for d in range(depth + 1)
    }
    return sign("ab", 0, steps, {0})


def majority() -> dict[str, Any]:
    """0s and 1s, <sep>, and then the more frequent one; a tie is never asked."""
    span = range(-LENGTH, LENGTH + 1)
    steps: dict[str, dict[str, str]] = {}
    answers: dict[str, list[str]] = {}
    for d in span:
        steps[str(d)] = {
            **({"0": str(d - 1)} if d > -LENGTH else {}),
            **({"1": str(d + 1)} if d < LENGTH else {}),
            **({"|": f"after {d}"} if d else {}),
        }
        if d:
            steps[f"after {d}"] = {}
            answers[f"after {d}"] = ["1" if d > 0 else "0"]
    return {
        "symbols": {"0": 0, "1": 1, "|": 3}, "bos": 2, "eos": 4, "decide": "argmax", "start": "0",
        "next": steps, "allowed": answers,
    }  # fmt: skip


REGULAR: dict[str, Any] = {
    "bce_D2": lambda: dyck(2),
    "bce_D3": lambda: dyck(3),
    "bce_D4": lambda: dyck(4),
    "bce_ab_d_bc": lambda: sign(
        "abcd", 0, {0: {"a": 0, "b": 0, "d": 1}, 1: {"b": 1, "c": 1}}, {1}
    ),
    "bce_012_0_2": lambda: sign(
        "012", 0, {0: {"0": 1, "1": 0, "2": 0}, 1: {"0": 1, "1": 0, "2": 1}}, {1}
    ),
    "bce_tomita1": lambda: sign("01", 0, {0: {"1": 0}}, {0}),
    "bce_tomita2": lambda: sign("01", 0, {0: {"1": 1}, 1: {"0": 0}}, {0}),
    "bce_tomita3": lambda: sign(
        "01", 0,
        {0: {"0": 0, "1": 1}, 1: {"0": 3, "1": 0}, 2: {"0": 3, "1": 1}, 3: {"0": 2}}, {0, 1, 2},
    ),
    "bce_tomita4": lambda: sign(
        "01", 0, {0: {"0": 1, "1": 0}, 1: {"0": 2, "1": 0}, 2: {"1": 0}}, {0, 1, 2}
    ),
    "bce_tomita5": lambda: sign(
        "01", (0, 0),
        {(a, b): {"0": (1 - a, b), "1": (a, 1 - b)} for a in (0, 1) for b in (0, 1)}, {(0, 0)},
    ),
    "bce_tomita7": lambda: sign(
        "01", 0,
        {0: {"0": 0, "1": 1}, 1: {"1": 1, "0": 2}, 2: {"0": 2, "1": 3}, 3: {"1": 3}}, {0, 1, 2, 3},
    ),
    "bce_aastar": lambda: sign("a", 0, {0: {"a": 1}, 1: {"a": 0}}, {0}),
    "bce_aaaastar": lambda: sign("a", 0, {i: {"a": (i + 1) % 4} for i in range(4)}, {0}),
    "bce_ababstar": lambda: sign("ab", 0, {i: {"ab"[i % 2]: (i + 1) % 4} for i in range(4)}, {0}),
    "bce_abcde": lambda: sign(
        "abcde", "s",
        {"s": {"a": "a"}, "a": {"a": "a", "b": "b"}, "b": {"b": "b", "c": "c"},
         "c": {"c": "c", "d": "d"}, "d": {"d": "d", "e": "e"}, "e": {"e": "e"}}, {"e"},
    ),
    "bin_majority": majority,
}  # fmt: skip


def solved(name: str, word: list[int]) -> list[int] | None:
    """Tokens of a problem and its solution; None if the word is no problem."""
    n = len(word)
    match name:
        case "unique_copy" | "unique_reverse" | "sort":
            if not n or len(set(word)) < n:
                return None
            turned = {"unique_copy": word, "unique_reverse": word[::-1], "sort": sorted(word)}
            return [LENGTH, *word, LENGTH + 1, *turned[name], LENGTH + 2]
        case "count":
            if n != 2 or word[1] <= word[0]:
                return None
            return [LENGTH, *word, LENGTH + 1, *range(word[0], word[1] + 1), LENGTH + 2]
        case "majority":
            often = np.bincount(word, minlength=26)
            if not n or np.sort(often)[-1] == np.sort(often)[-2]:
                return None
            return [26, *word, 27, int(often.argmax())]
        case "unique_bigram_copy":
            if not n or len(set(pairwise(word))) < n - 1:
                return None
            return [16, *word, 17, *word, 18]
        case "addition":
            parts = "".join(map(str, word)).split("2")
            if len(parts) != 2 or not all(parts) or any(x[0] == "0" and len(x) > 1 for x in parts):
                return None
            total = sum(int(part, 2) for part in parts)
            return [3, *word, 4, *(int(digit) for digit in f"{total:b}"), 5] if n >= 4 else None
        case _:  # bin_majority_interleave
            ones = [sum(word[column::3]) for column in range(3)]
            if not n or n % 3 or any(6 * count == n for count in ones):
                return None
            return [2, *word, 3, *(int(6 * count > n) for count in ones), 4]


DIGITS = {
    "unique_copy": LENGTH, "unique_reverse": LENGTH, "sort": LENGTH, "count": LENGTH,
    "majority": 26, "unique_bigram_copy": 16, "addition": 3, "bin_majority_interleave": 2,
}  # fmt: skip
"""Tokens that words of a task are made of: 0, 1, …"""
LISTED = 60_000
"""So many problems, at most, are listed to be decided together."""


def every(name: str, n: int) -> list[list[int]]:
    """All problems whose words have n symbols."""
    words = product(range(DIGITS[name]), repeat=n)
    return [tokens for word in words if (tokens := solved(name, list(word))) is not None]


def earlier(name: str, at: int) -> list[list[int]] | None:
    """All problems that have an answer after fewer than `at` symbols, each as far as these answers
    go; None if they are too many. A word of n symbols has its first answer after n + 1."""
    problems: list[list[int]] = []
    for n in [2] if name == "count" else range(1, at - 1):
        if len(problems) + DIGITS[name] ** n > LISTED:
            return None
        problems += every(name, n)
    return [list(tokens) for tokens in sorted({tuple(tokens[: at + 1]) for tokens in problems})]


def drawn(name: str, n: int, random: np.random.Generator) -> list[int]:
    """The word of a problem, as the authors draw it."""
    while True:
        match name:
            case "unique_copy" | "unique_reverse" | "sort":
                word = random.permutation(LENGTH)[:n].tolist()
            case "count":
                word = sorted(random.permutation(LENGTH)[:2].tolist())
            case "unique_bigram_copy":
                word = _bigrams(n, random)
            case "addition":
                word = random.integers(0, 2, max(n, 4)).tolist()
                word[int(random.integers(1, len(word) - 1))] = 2
            case "bin_majority_interleave":
                n = max(3, n - n % 3)
                word = (random.random(n) < np.tile(random.random(3), n // 3)).astype(int).tolist()
            case _:
                word = random.integers(0, 26, n).tolist()
        if solved(name, word) is not None:
            return word


def _bigrams(n: int, random: np.random.Generator) -> list[int]:
    word, used = [int(random.integers(16))], set[tuple[int, int]]()
    while len(word) < n and (free := [j for j in range(16) if (word[-1], j) not in used]):
        after = int(random.choice(free))
        used.add((word[-1], after))
        word.append(after)
    return word


def changed(name: str, word: list[int], random: np.random.Generator) -> list[int]:
    """A problem's word from another's: entries exchanged or replaced, segments left out or
    repeated."""
    other = list(word)
    for _ in range(1 + int(random.integers(3))):
        at, to = random.integers(len(other), size=2)
        match int(random.integers(4)):
            case 0:
                other[at], other[to] = other[to], other[at]
            case 1:
                other[at] = int(random.integers(DIGITS[name]))
            case 2:
                shorter = other[: min(at, to)] + other[max(at, to) :]
                other = shorter or other
            case _:
                part = slice(min(at, to), max(at, to))
                other = (other[: part.stop] + other[part] + other[part.stop :])[:LENGTH]
    return other


def margins(model: Checkpoint, problems: list[list[int]], sep: int) -> list[np.ndarray]:
    """The margin of every answer of each problem."""
    longest = max(map(len, problems))
    ids = np.array([tokens + [0] * (longest - len(tokens)) for tokens in problems])
    logits = forward(model, ids[:, :-1])
    right = np.take_along_axis(logits, ids[:, 1:, None], -1)[..., 0]
    np.put_along_axis(logits, ids[:, 1:, None], -np.inf, -1)
    each = right - logits.max(-1)
    return [each[at, tokens.index(sep) : len(tokens) - 1] for at, tokens in enumerate(problems)]


POPULATION = 24
WORK = 600
"""Tokens of one batch."""


def failing(
    model: Checkpoint, name: str, most: int, seconds: float, seed: int = 0
) -> tuple[int, list[int]] | None:
    """A problem with a wrong answer after at most `most` symbols, and how many they are: problems
    with small margins are changed until one fails."""
    random, end = np.random.default_rng(seed), time.process_time() + seconds
    sep = SEPARATOR[name]
    best: list[tuple[float, int, list[int]]] = []
    longest = max(1, min(LENGTH, most - 1))
    while time.process_time() < end:
        words = [drawn(name, int(random.integers(1, longest + 1)), random) for _ in range(8)]
        words += [drawn(name, longest, random) for _ in range(4)]
        for _ in range(12 if best else 0):
            words.append(changed(name, best[int(len(best) * random.random() ** 2)][2], random))
        problems = [(word, t) for word in words if (t := solved(name, word)) is not None]
        problems.sort(key=lambda problem: len(problem[1]))
        while problems:
            count = max(1, WORK // len(problems[-1][1]))
            batch, problems = problems[-count:], problems[:-count]
            for (word, tokens), each in zip(
                batch, margins(model, [tokens for _, tokens in batch], sep), strict=True
            ):
                asked = each[: max(0, most + 1 - tokens.index(sep))]
                if not len(asked):
                    continue
                if asked.min() <= 0:
                    at = int(np.flatnonzero(asked <= 0)[0]) + tokens.index(sep)
                    return at, tokens
                best.append((float(asked.min()), len(word), word))
        best = sorted(best)[:POPULATION]
    return None


def machine_of(problems: list[list[int]], sep: int | None) -> dict[str, Any]:
    """The specification of many problems: the tree of their words, equal ends joined. Each token
    after the separator must win."""
    tree: dict[int, Any] = {}
    for tokens in problems:
        node = tree
        for token in tokens[1:]:
            node = node.setdefault(token, {})
    names: dict[Any, str] = {}
    steps: dict[str, dict[str, str]] = {}
    allowed: dict[str, list[str]] = {}

    def named(node: dict[int, Any], answering: bool) -> str:
        after = {token: named(to, answering or token == sep) for token, to in node.items()}
        key = (answering, tuple(sorted(after.items())))
        if key not in names:
            name = names[key] = str(len(names))
            steps[name] = {} if not any(node.values()) else {
                f"t{token}": to for token, to in after.items() if node[token]
            }  # fmt: skip
            if answering and node:
                allowed[name] = [f"t{next(iter(node))}"]
        return names[key]

    start = named(tree, False)
    tokens = sorted({token for tokens in problems for token in tokens[1:]})
    return {
        "symbols": {f"t{token}": token for token in tokens}, "bos": problems[0][0],
        "decide": "argmax", "start": start, "next": steps, "allowed": allowed,
    }  # fmt: skip


SEPARATOR = {
    "unique_copy": LENGTH + 1, "unique_reverse": LENGTH + 1, "sort": LENGTH + 1,
    "count": LENGTH + 1, "unique_bigram_copy": 17, "addition": 4, "bin_majority_interleave": 3,
    "majority": 27,
}  # fmt: skip
PATIENCE = 5.0
"""Seconds of search for a shorter failure."""


def decide_task(model: Checkpoint, name: str, budget: float) -> tuple[Any, bool]:
    """A task that no small machine describes: the verdict, and whether it speaks of all problems
    that can fail so early. A failing problem is searched, and shorter ones; then all are decided
    that come before, if they can be listed."""
    started, sep = time.process_time(), SEPARATOR[name]
    found = failing(model, name, 2 * LENGTH + 2, 0.8 * budget)
    if found is None:
        return None, False
    while time.process_time() - started < budget / 3:
        shorter = failing(model, name, found[0] - 1, PATIENCE, found[0])
        if shorter is None:
            break
        found = shorter
    at, failed = found
    before = earlier(name, at)
    left = budget - (time.process_time() - started)
    problems = [failed[: at + 2], *(before or [])]
    verdict = softhat.prove(model, machine_of(problems, sep), max_length=at, budget=max(left, 5.0))
    return verdict, before is not None


def decide(folder: Path, model: Checkpoint, budget: float) -> dict[str, Any]:
    name = folder.name.split("-")[0]
    started, everything = time.process_time(), True
    verdict: softhat.Verdict | None
    if name in REGULAR:
        longer = 1 if name == "bin_majority" else 0  # its <sep> is a symbol
        verdict = softhat.prove(model, REGULAR[name](), max_length=LENGTH + longer, budget=budget)
    else:
        verdict, everything = decide_task(model, name, budget)
    if verdict is None:  # no problem that fails was found
        return {"name": folder.name, "status": "open", "proved_to": -1, "shortest_failure": None,
                "bracketed": False, "budget": budget,
                "seconds": round(time.process_time() - started, 1)}  # fmt: skip
    broken = verdict.broken_by
    status = verdict.status if everything or broken is not None else "open"
    proved_to = verdict.proved_to if everything else -1
    return {
        "name": folder.name, "status": status, "proved_to": proved_to,
        "shortest_failure": None if broken is None else broken.length,
        "bracketed": verdict.bracketed and everything, "least_margin": verdict.least_margin,
        "least_found": verdict.least_found, "open_cells": len(verdict.open_cells),
        "replayed": None if broken is None else broken.replayed, "budget": budget,
        "seconds": round(time.process_time() - started, 1),
    }  # fmt: skip


def same(one: Specification, other: Specification) -> bool:
    """Do two machines allow the same tokens after every word that they allow?"""
    todo, seen = [(one.start, other.start)], set[tuple[int, int]]()
    while todo:
        pair = todo.pop()
        if pair in seen:
            continue
        seen.add(pair)
        p, q = pair
        if one.allowed[p] != other.allowed[q]:
            return False
        for symbol, token in zip(one.symbols, one.ids, strict=True):
            if token in one.allowed[p]:
                to = other.step[q, other.symbols.index(symbol)]
                todo.append((int(one.step[p, one.symbols.index(symbol)]), int(to)))
    return True


def decompiled(folder: Path, model: Checkpoint, budget: float) -> dict[str, Any]:
    """The machine that is learned from a model alone, and whether it is the authors'."""
    spec = read_specification(REGULAR[folder.name.split("-")[0]]())
    started = time.process_time()
    ids = dict(zip(spec.symbols, spec.ids, strict=True))
    teacher = teacher_of(model, ids, spec.bos, spec.eos)
    result = learned(teacher, LearningLimits(LENGTH, budget=budget))
    return {
        "name": folder.name, "status": result.verdict.status, "proved_to": result.verdict.proved_to,
        "states": result.machine.states, "same": same(spec, result.machine),
        "seconds": round(time.process_time() - started, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--decompile", action="store_true")
    options = parser.parse_args()
    rows = []
    for folder in sorted(options.folder.iterdir()):
        if not folder.name.startswith(options.only) or not (folder / "model.safetensors").exists():
            continue
        model = read_checkpoint(folder)
        if options.decompile:
            if folder.name.startswith("bce_"):
                rows.append(row := decompiled(folder, model, options.budget))
                print(*row.values(), file=sys.stderr, flush=True)
            continue
        row = decide(folder, model, options.budget)
        rows.append(row)
        shown = f"{row['name']:45} {row['status']:8} {row['proved_to']:4} "
        shown += f"{row['shortest_failure'] or '':>4} {'exact' if row['bracketed'] else '':5} "
        print(f"{shown}{row['seconds']:6.1f} s", file=sys.stderr, flush=True)
    json.dump(rows, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
