"""Public checkpoints decided: `python benchmarks/trained.py FOLDER [--budget 60] [--only NAME]`.

FOLDER holds the folder "saved_models" of github.com/lacoco-lab/decompiling_transformers (arXiv
2602.08857): 31 stock GPT-2s with the languages and tasks they were trained on. Fetch it; nothing of
it is here.
Regular languages are proved or refuted for all words of at most 150 symbols at offset 0. Tasks that
no small machine describes (sorting, copying) are decided for all problems that are as short as one
that fails; where none is, by problems drawn as their authors draw them.
Prints a table on standard error and JSON on standard output.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

import numpy as np

import softhat
from softhat.trained.checkpoint import Checkpoint, read_checkpoint
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


def task(name: str, n: int, random: np.random.Generator) -> tuple[list[int], int]:
    """Tokens of one problem and its solution, and how many come before the first answer."""
    if name in ("unique_copy", "unique_reverse", "sort"):
        word = random.permutation(LENGTH)[:n].tolist()
        turned = {"unique_copy": word, "unique_reverse": word[::-1], "sort": sorted(word)}[name]
        return [LENGTH, *word, LENGTH + 1, *turned, LENGTH + 2], n + 1
    if name == "count":
        low = int(random.integers(0, LENGTH - n + 1))
        return [LENGTH, low, low + n - 1, LENGTH + 1, *range(low, low + n), LENGTH + 2], 3
    if name == "majority":
        while True:
            word = random.integers(0, 26, n).tolist()
            often = np.sort(np.bincount(word, minlength=26))
            if often[-1] > often[-2]:
                return [26, *word, 27, int(np.bincount(word, minlength=26).argmax())], n + 1
    if name == "unique_bigram_copy":
        while True:
            word, used = [int(random.integers(16))], set()
            while free := [j for j in range(16) if (word[-1], j) not in used]:
                if len(word) == n:
                    break
                after = int(random.choice(free))
                used.add((word[-1], after))
                word.append(after)
            if len(word) == n:
                return [16, *word, 17, *word, 18], n + 1
    if name == "addition":
        first = int(random.integers(1, n - 1))
        parts = [
            [1, *random.integers(0, 2, k - 1).tolist()]
            if k > 1
            else random.integers(0, 2, 1).tolist()
            for k in (first, n - 1 - first)
        ]
        total = sum(int("".join(map(str, part)), 2) for part in parts)
        return [3, *parts[0], 2, *parts[1], 4, *(int(c) for c in f"{total:b}"), 5], n + 1
    rows = max(1, n // 3)  # bin_majority_interleave
    columns, answers = [], []
    for _ in range(3):
        zeros = int(random.choice([k for k in range(rows + 1) if 2 * k != rows]))
        column = [0] * zeros + [1] * (rows - zeros)
        random.shuffle(column)
        columns.append(column)
        answers.append(0 if 2 * zeros > rows else 1)
    word = [v for row in zip(*columns, strict=True) for v in row]
    return [2, *word, 3, *answers, 4], len(word) + 1


def every(name: str, n: int) -> list[list[int]] | None:
    """All problems of a size, or None where there are too many."""
    if name in ("unique_copy", "unique_reverse", "sort"):
        if n > 2:
            return None
        turn: Any = {"unique_copy": list, "unique_reverse": lambda w: w[::-1], "sort": sorted}[name]
        words = [list(word) for word in permutations(range(LENGTH), n)]
        return [[LENGTH, *word, LENGTH + 1, *turn(word), LENGTH + 2] for word in words]
    if name == "count":
        return [
            [LENGTH, low, low + n - 1, LENGTH + 1, *range(low, low + n), LENGTH + 2]
            for low in range(LENGTH - n + 1)
        ]
    if name == "unique_bigram_copy" and n <= 3:
        words = [list(word) for word in product(range(16), repeat=n)]
        words = [w for w in words if len(set(pairwise(w))) == n - 1]
        return [[16, *word, 17, *word, 18] for word in words]
    if name == "addition" and n <= 12:
        problems = []
        for first in range(1, n - 1):
            for one in _numbers(first):
                for other in _numbers(n - 1 - first):
                    total = f"{int(one, 2) + int(other, 2):b}"
                    problems.append([3, *map(int, one), 2, *map(int, other), 4,
                                     *map(int, total), 5])  # fmt: skip
        return problems
    if name == "bin_majority_interleave" and n <= 15:
        if n % 3:
            return []
        problems = []
        for word in product(range(2), repeat=n):
            ones = [sum(word[column::3]) for column in range(3)]
            if all(2 * count * 3 != n for count in ones):
                problems.append([2, *word, 3, *(int(6 * count > n) for count in ones), 4])
        return problems
    if name == "majority" and n <= 3:
        problems = []
        for word in product(range(26), repeat=n):
            often = np.bincount(word, minlength=26)
            if np.sort(often)[-1] > np.sort(often)[-2]:
                problems.append([26, *word, 27, int(often.argmax())])
        return problems
    return None


def _numbers(digits: int) -> list[str]:
    low = 0 if digits == 1 else 1 << (digits - 1)
    return [f"{number:b}" for number in range(low, 1 << digits)]


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


LEAST = {"addition": 4, "count": 2, "bin_majority_interleave": 3}


def failing(model: Checkpoint, name: str, seconds: float) -> tuple[int, list[int]] | None:
    """A small size at which a problem fails, and the problem: some of each size, smallest first."""
    random, end = np.random.default_rng(0), time.process_time() + seconds
    for n in range(LEAST.get(name, 1), LENGTH + 1):
        problems = every(name, n)
        if problems is None or time.process_time() > end:
            return None
        random.shuffle(problems)
        for tokens in sorted(problems[:TRIED], key=len):
            ids = np.array([tokens])
            asked = tokens.index(SEPARATOR[name]) if name in SEPARATOR else 0
            logits = forward(model, ids[:, :-1])[0, asked:]
            if (logits.argmax(-1) != ids[0, asked + 1 :]).any():
                return n, tokens
    return None


TRIED = 400
SEPARATOR = {
    "unique_copy": LENGTH + 1, "unique_reverse": LENGTH + 1, "sort": LENGTH + 1,
    "count": LENGTH + 1, "unique_bigram_copy": 17, "addition": 4, "bin_majority_interleave": 3,
    "majority": 27,
}  # fmt: skip


def decide_task(model: Checkpoint, name: str, budget: float) -> tuple[Any, bool]:
    """A task that no small machine describes: the verdict, and whether it speaks of all problems.
    If a small problem fails, all that can fail before it are decided; else problems are drawn until
    one fails."""
    started, sep = time.process_time(), SEPARATOR[name]
    small = failing(model, name, budget / 4)
    if small is not None:
        _, failed = small
        problems = [
            tokens
            for n in range(LEAST.get(name, 1), LENGTH + 1 if name == "count" else len(failed))
            for tokens in every(name, n) or []
        ]
        if sum(map(len, problems)) <= MANY:
            left = budget - (time.process_time() - started)
            machine = machine_of(problems, sep)
            return softhat.prove(model, machine, max_length=len(failed) - 2, budget=left), True
        return softhat.prove(model, machine_of([failed], sep), budget=10), False
    verdict = None
    for tokens in drawn(name):
        tried = softhat.prove(model, machine_of([tokens], sep), budget=10)
        if verdict is None or tried.status == "refuted":
            verdict = tried
        if tried.status == "refuted" or time.process_time() - started > budget:
            break
    return verdict, False


MANY = 700_000
"""Tokens of problems that are decided together."""


def drawn(name: str, seed: int = 0) -> Iterator[list[int]]:
    random = np.random.default_rng(seed)
    for _ in range(30):
        yield task(name, LENGTH, random)[0]
    while True:
        yield task(name, int(random.integers(LEAST.get(name, 1), LENGTH + 1)), random)[0]


def decide(folder: Path, model: Checkpoint, budget: float) -> dict[str, Any]:
    name = folder.name.split("-")[0]
    started, everything = time.process_time(), True
    if name in REGULAR:
        longer = 1 if name == "bin_majority" else 0  # its <sep> is a symbol
        verdict = softhat.prove(model, REGULAR[name](), max_length=LENGTH + longer, budget=budget)
    else:
        verdict, everything = decide_task(model, name, budget)
    broken = verdict.broken_by
    # Problems that were drawn and are right prove nothing of the task.
    status = verdict.status if everything or broken is not None else "open"
    proved_to = verdict.proved_to if everything else -1
    return {
        "name": folder.name, "status": status, "proved_to": proved_to,
        "shortest_failure": None if broken is None else broken.length,
        "bracketed": verdict.bracketed and everything, "least_margin": verdict.least_margin,
        "least_found": verdict.least_found, "open_cells": len(verdict.open_cells),
        "replayed": None if broken is None else broken.replayed,
        "word": None if broken is None else " ".join(broken.prefix),
        "seconds": round(time.process_time() - started, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rows = []
    for folder in sorted(options.folder.iterdir()):
        if not folder.name.startswith(options.only) or not (folder / "config.json").exists():
            continue
        row = decide(folder, read_checkpoint(folder), options.budget)
        rows.append(row)
        shown = f"{row['name']:45} {row['status']:8} {row['proved_to']:4} "
        shown += f"{row['shortest_failure'] or '':>4} {'exact' if row['bracketed'] else '':5} "
        print(f"{shown}{row['seconds']:6.1f} s", file=sys.stderr, flush=True)
    json.dump(rows, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
