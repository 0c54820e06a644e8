"""How fast verification is, and how it scales from one process to two.

    python benchmarks/verify.py [--json FILE] [--only sharing | --before COMMIT] [--keep] [--quick]

First, all words of length <= 14 over {a, b} on two processes, for formulas of temporal depth 4:
the seconds a user waits, the start of the processes included. Second, the scaling: all words of
length <= 17 on one process and on two that are running already. Processes have one thread each.
Third, sharing: all words over {a, b, c} on one process in processor seconds, against the same words
run and checked one by one, in turns; what is found is the same. With `--before`, only the same
words and those of the adversary here and at an earlier commit, in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import softhat
from softhat.io.work import processes
from softhat.logic.fragments import describe
from softhat.models.bench.tables import BenchTable, markdown
from softhat.models.verification import items
from softhat.models.verification.blocks import WordBlocks
from softhat.runtime import prefixes

FORMULAS = (
    "a S (b & Y (a S (b & O a)))",
    "Y (a xor Y (b | Y (a & Y b)))",
    "F (a & X (b U (a & Y b)))",
    "O (#(a) - #(b) >= 2 & Y (a S b))",
)
ONE_WAY = (
    "a S b",
    "a S (b & Y (a S (b & O c)))",
    "#(a) >= #(b)",
    "Y (a xor Y (b | Y (a & Y b)))",
    "a U b",
    "F (a & X (b U c))",
)
"""Of what looks one way, longer words are checked at one end."""
TWO_WAY = (
    "O a & F b",
    "F (a & O b)",
    "a S (b & F c)",
    "F (a & X (b U (a & Y b)))",
    "#(a) > #>(b) + #*(c)",
)
TARGET = 60.0
"""Seconds that all words of length <= 14 may take on two cores."""


def measure(formula: str, length: int, count: int, warm: bool) -> dict[str, Any]:
    """One run: all words to a length, on `count` processes."""
    model = softhat.compile(formula, alphabet="ab")
    nothing_else = {"random": 0, "adversarial": 0}
    with processes(count) as renew:
        executor = renew()
        if warm:
            softhat.verify(model, exhaustive=10, executor=executor, **nothing_else)
        began = time.perf_counter()
        result = softhat.verify(model, exhaustive=length, executor=executor, **nothing_else)
        elapsed = time.perf_counter() - began
    assert result.ok
    assert result.exhaustive_length == length
    return {
        "formula": formula,
        "depth": describe(softhat.parse(formula)).temporal_depth,
        "length": length,
        "processes": count,
        "words": result.words,
        "seconds": round(elapsed, 2),
        "words_per_second": round(result.words / elapsed),
    }


def against_word_by_word(formula: str, length: int, rounds: int) -> dict[str, Any]:
    """Words a second of processor time, shared and word by word, the best of some rounds."""
    model = softhat.compile(formula, alphabet="abc")
    assert model.certificate.max_length
    free, fewest, together = WordBlocks.free, prefixes.FEWEST, items.TOGETHER_AT_MOST
    best = {"shared": float("inf"), "word by word": float("inf")}
    results = {}
    for _ in range(rounds):
        for how in best:
            if how == "word by word":
                WordBlocks.free = lambda *_: 0  # type: ignore[method-assign]
                prefixes.FEWEST, items.TOGETHER_AT_MOST = 1 << 62, 0
            began = time.process_time()
            results[how] = softhat.verify(model, exhaustive=length, random=0, adversarial=0)
            best[how] = min(best[how], time.process_time() - began)
            WordBlocks.free = free  # type: ignore[method-assign]
            prefixes.FEWEST, items.TOGETHER_AT_MOST = fewest, together
    shared, words = results["shared"], results["word by word"]
    assert shared.ok and words.ok
    assert (shared.words, shared.margins) == (words.words, words.margins)
    return {
        "formula": formula,
        "length": length,
        "words": shared.words,
        **{f"words_per_second, {how}": round(shared.words / best[how]) for how in best},
        "ratio": round(best["word by word"] / best["shared"], 2),
    }


def times_and_scaling(quick: bool) -> dict[str, Any]:
    """What a user waits for, and what a second process brings."""
    first, second = (11, 12) if quick else (14, 17)
    print(f"all words of length <= {first} over {{a, b}}, two processes, their start included")
    waited = [measure(formula, first, 2, warm=False) for formula in FORMULAS]
    for run in waited:
        print(
            f"  {run['formula']:34} depth {run['depth']}  {run['words']:7,} words"
            f"  {run['seconds']:6.1f} s  {run['words_per_second']:8,} words/s"
        )
    print(f"  slowest {max(run['seconds'] for run in waited):.1f} s, allowed {TARGET:.0f} s")
    print(f"scaling: all words of length <= {second}")
    scaling = []
    for formula in FORMULAS[:2]:
        one, two = (measure(formula, second, count, warm=True) for count in (1, 2))
        scaling += [one, two]
        print(
            f"  {formula:34} {one['words_per_second']:8,} words/s on one,"
            f" {two['words_per_second']:8,} on two: {one['seconds'] / two['seconds']:.2f} times"
        )
    return {"waited": waited, "scaling": scaling}


def sharing(quick: bool) -> BenchTable:
    """Words that share what they compute against words run one by one."""
    against_word_by_word("a S b", 7, 1)  # imports
    rows: list[tuple[Any, ...]] = []
    for length in (9,) if quick else (9, 12):
        for formula in (*ONE_WAY, *TWO_WAY):
            run = against_word_by_word(formula, length, 3)
            rates = (run[f"words_per_second, {how}"] for how in ("word by word", "shared"))
            rows.append((formula, run["words"], *rates, run["ratio"]))
            print(rows[-1], flush=True)
    return BenchTable(
        "Exhaustive verification, words that share what they compute",
        ("formula", "words", "words/s, one by one", "words/s, shared", "times as many"),
        tuple(rows),
        "All words over three symbols to length 9 or 12, one process, processor seconds, leaks and "
        "truth included. The margins are the same to the last bit.",
    )


HOSTILE = ("a S b", "#(a) >= #(b)", "O a & F b", "a S (b & F c)", "F (a & X (b U (a & Y b)))")
"""Formulas of which the adversary's words are timed."""
TIMED = """
import json, sys, time, softhat
best = {}
for formula, kind, length in json.loads(sys.argv[1]):
    model = softhat.compile(formula, alphabet="abc")
    assert model.certificate.max_length
    asked = {"exhaustive": 0, "random": 0, "adversarial": 0, "max_length": length}
    asked[kind] = length if kind == "exhaustive" else 100
    spent = []
    for _ in range(3):
        began = time.process_time()
        result = softhat.verify(model, **asked)
        spent.append(time.process_time() - began)
        assert result.ok
    best[f"{formula} {kind} {length}"] = result.words / min(spent)
print(json.dumps(best))
"""


def against_commit(commit: str, quick: bool) -> list[BenchTable]:
    """Words a second here and at an earlier commit, each in processes of its own, in turns."""
    exhaustive, longest = ((9,), (30, 100)) if quick else ((9, 11), (30, 100, 1000))
    jobs = [(f, "exhaustive", n) for n in exhaustive for f in (*ONE_WAY, *TWO_WAY)]
    jobs += [(f, "adversarial", n) for n in longest for f in HOSTILE]
    root = Path(__file__).resolve().parent.parent
    git = ["git", "-C", str(root), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier"
        subprocess.run([*git, "add", "--quiet", "--detach", str(earlier), commit], check=True)
        try:
            rates: dict[Path, dict[str, float]] = {earlier: {}, root: {}}
            for _ in range(2):
                for source, best in rates.items():
                    run = subprocess.run(
                        [sys.executable, "-c", TIMED, json.dumps(jobs)],
                        env={**os.environ, "PYTHONPATH": f"{source}/src"},
                        stdout=subprocess.PIPE, check=True,
                    )  # fmt: skip
                    for name, rate in json.loads(run.stdout).items():
                        best[name] = max(best.get(name, 0.0), rate)
        finally:
            subprocess.run([*git, "remove", "--force", str(earlier)], check=True)
    rows: dict[str, list[tuple[Any, ...]]] = {"exhaustive": [], "adversarial": []}
    for formula, kind, length in jobs:
        then, now = (best[f"{formula} {kind} {length}"] for best in rates.values())
        rows[kind].append((formula, length, round(then), round(now), round(now / then, 1)))
    speeds = (f"words/s, {commit}", "words/s, now", "times as many")
    return [
        BenchTable(
            "Exhaustive verification, against an earlier commit",
            ("formula", "length", *speeds),
            tuple(rows["exhaustive"]),
            "All words over three symbols to a length, one process, processor seconds, leaks and "
            "truth included.",
        ),
        BenchTable(
            "Hostile words, against an earlier commit",
            ("formula", "longest", *speeds),
            tuple(rows["adversarial"]),
            "100 hostile words over three symbols and the words of their searches, one process, "
            "processor seconds, leaks and truth included.",
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--only", choices=("sharing",), help="this alone")
    parser.add_argument("--before", metavar="COMMIT", help="only against this commit")
    parser.add_argument("--keep", action="store_true", help="put the last tables on the page")
    parser.add_argument("--quick", action="store_true", help="shorter words")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    alone = options.only or options.before
    numbers: dict[str, Any] = {} if alone else times_and_scaling(options.quick)
    if options.before:
        tables = against_commit(options.before, options.quick)
    else:
        tables = [sharing(options.quick)]
    for table in tables:
        print(markdown(table))
        numbers[table.title] = asdict(table)
    if options.keep:
        import report

        report.keep(tables)
    if options.json:
        options.json.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
