"""Formulas of a megabyte: `softhat check` takes time linear in the text.

    python benchmarks/large.py [--json FILE] [--quick]

For each family a formula of 125,000 operators and one of 250,000: processor seconds of the whole
command (its start too), and their ratio, which is 2 or less where the work is linear. The
baseline is the reading alone, by the loop that lark brings for the same tables.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from lark import Lark, Token
from lark.lexer import Lexer

from softhat.logic.syntax.parse import parse
from softhat.logic.syntax.tokens import tokenize

LETTERS = "abcdefghjklmopqrstuvwxyz"


def _joined(signs: str, part: Callable[[random.Random, int], str]) -> Callable[[int], str]:
    def text(count: int) -> str:
        rng = random.Random(count)
        pieces = [part(rng, 0)]
        for k in range(1, count):
            pieces += [rng.choice(signs), part(rng, k)]
        return " ".join(pieces)

    return text


def _clause(rng: random.Random, _: int) -> str:
    return f"({' & '.join(rng.choice('! ') + rng.choice(LETTERS) for _ in range(5))})"


FAMILIES: dict[str, Callable[[int], str]] = {
    "a & a & …": _joined("&", lambda rng, k: "a"),
    "a or b or …": _joined("|", lambda rng, k: LETTERS[k % len(LETTERS)]),
    "and, or at random": _joined("&|", lambda rng, k: rng.choice(LETTERS)),
    "distinct symbols": _joined("&", lambda rng, k: f"s{k}"),
    "five literals to a clause": lambda count: _joined("|", _clause)(count // 5),
    "a S (b S …": _joined("S", lambda rng, k: rng.choice(LETTERS)),
    "Y Y Y …": lambda count: "Y " * count + "a",
    "parentheses": lambda count: "(" * count + "a" + ")" * count,
    "comparisons": lambda count: _joined("&", lambda rng, k: f"#({rng.choice(LETTERS)}) > {k % 7}")(
        count // 4
    ),
}


class _Tokens(Lexer):
    """The form in which lark takes a lexer."""

    def __init__(self, _conf: object) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: object = None) -> Iterator[Token]:
        for token in tokenize(getattr(lexer_state, "text", lexer_state)):
            yield Token(token.kind, token.text, start_pos=token.start)


def by_lark(text: str) -> float:
    """Seconds that lark's own loop takes to recognise the text, building nothing."""
    grammar = resources.files("softhat.logic.syntax").joinpath("grammar.lark").read_text("utf-8")
    parser = Lark(grammar, parser="lalr", lexer=_Tokens, start="formula", maybe_placeholders=False)
    return _seconds(lambda: parser.parse(text))


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def check(text: str) -> float:
    """Processor seconds of `softhat check`, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "formula.txt"
        path.write_text(text, encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-c", "from softhat.cli import main; main()", "check", f"@{path}"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--json", metavar="FILE", help="write the numbers to FILE")
    options.add_argument("--quick", action="store_true", help="a tenth of the size")
    chosen = options.parse_args()
    count = 25_000 if chosen.quick else 250_000
    parse("a")  # the tables
    rows = []
    print(f"| formula | bytes | half | {count:,} | ratio | reading | by lark |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, family in FAMILIES.items():
        text = family(count)
        half, whole = check(family(count // 2)), check(text)
        reading, baseline = _seconds(partial(parse, text)), by_lark(text)
        rows.append(
            {"formula": name, "bytes": len(text), "half": half, "whole": whole,
             "ratio": whole / half, "reading": reading, "by_lark": baseline}
        )  # fmt: skip
        print(
            f"| {name} | {len(text):,} | {half:.2f} s | {whole:.2f} s | {whole / half:.2f} "
            f"| {reading:.2f} s | {baseline:.2f} s |",
            flush=True,
        )
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
