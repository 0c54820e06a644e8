"""How fast formulas are evaluated, against a plain evaluator in the same run.

    python benchmarks/logic.py [--json FILE] [--quick]

Three tables: all words of length <= 20 over {a, b} for formulas of size about 20 (words/s,
batched and plain); one word of ten million symbols for each operator (symbols/s); reading and
printing (characters/s).
"""

from __future__ import annotations

import argparse
import json
import operator
import time
from collections.abc import Callable
from functools import partial
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import numpy as np

from softhat.logic.fragments import describe
from softhat.logic.random import random_formula
from softhat.logic.semantics.batch import all_words, evaluate
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Node
from softhat.logic.syntax.parse import parse
from softhat.logic.syntax.walk import distinct

FORMULAS = {
    "temporal": "H (a -> O (b & Y (a S b))) & !(b T (a | Z b)) S (a xor Y Y b)",
    "two-way": "G (a -> F (b & Y (a U b))) & !(b R (a | N b)) S (a xor X Y b)",
    "counting": "H (#(a) >= #(b)) & #(a & Y b) > 2*#(b) - 3 | #(a) = i - 2",
    "mixed counts": "O (2*#(a) - #>(b) + n > #*(a) & X b) xor #>(a S b) >= 3",
}
OPERATORS = [
    "Y a", "Z a", "O a", "H a", "a S b", "a T b", "X a", "N a", "F a", "G a", "a U b", "a R b",
    "a W b", "a M b", "#(a) > #(b)", "#>(a) > #(b) + #*(a) - n", "mod(3, 1)", "a & b",
]  # fmt: skip
_RELATIONS = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


def plain(steps: list[tuple[Node, tuple[int, ...]]], word: str) -> list[Any]:
    """The values of a formula's root at each position: one Python list for each subformula."""
    values: list[list[Any]] = []
    for node, places in steps:
        values.append(_plain_step(node, [values[place] for place in places], word))
    return values[-1]


def _since(f: list[bool], g: list[bool]) -> list[bool]:
    value, values = False, []
    for left, right in zip(f, g, strict=True):
        value = right or (left and value)
        values.append(value)
    return values


def _plain_step(node: Node, below: list[list[Any]], word: str) -> list[Any]:
    n = len(word)
    first = below[0] if below else []
    second = below[1] if len(below) > 1 else []
    match node:
        case nodes.Symbol(name):
            return [symbol == name for symbol in word]
        case nodes.Constant(value):
            return [value] * n
        case nodes.Integer(value):
            return [value] * n
        case nodes.First():
            return [i == 0 for i in range(n)]
        case nodes.Last():
            return [i == n - 1 for i in range(n)]
        case nodes.Position():
            return list(range(1, n + 1))
        case nodes.Length():
            return [n] * n
        case nodes.Mod(m, r):
            return [i % m == r for i in range(1, n + 1)]
        case nodes.Not():
            return [not x for x in first]
        case nodes.And():
            return [x and y for x, y in zip(first, second, strict=True)]
        case nodes.Or():
            return [x or y for x, y in zip(first, second, strict=True)]
        case nodes.Xor():
            return [x != y for x, y in zip(first, second, strict=True)]
        case nodes.Implies():
            return [not x or y for x, y in zip(first, second, strict=True)]
        case nodes.Iff():
            return [x == y for x, y in zip(first, second, strict=True)]
        case nodes.Yesterday():
            return [False, *first[:-1]]
        case nodes.WeakYesterday():
            return [True, *first[:-1]]
        case nodes.Tomorrow():
            return [*first[1:], False]
        case nodes.WeakTomorrow():
            return [*first[1:], True]
        case nodes.Once():
            return _since([True] * n, first)
        case nodes.Historically():
            return [not x for x in _since([True] * n, [not x for x in first])]
        case nodes.Since():
            return _since(first, second)
        case nodes.Triggered():
            return [not x for x in _since([not x for x in first], [not x for x in second])]
        case nodes.Eventually():
            return _since([True] * n, first[::-1])[::-1]
        case nodes.Always():
            return [not x for x in _since([True] * n, [not x for x in first[::-1]])[::-1]]
        case nodes.Until():
            return _since(first[::-1], second[::-1])[::-1]
        case nodes.Release():
            f, g = [not x for x in first[::-1]], [not x for x in second[::-1]]
            return [not x for x in _since(f, g)[::-1]]
        case nodes.WeakUntil():
            until = _since(first[::-1], second[::-1])[::-1]
            always = [not x for x in _since([True] * n, [not x for x in first[::-1]])[::-1]]
            return [x or y for x, y in zip(until, always, strict=True)]
        case nodes.StrongRelease():
            both = [x and y for x, y in zip(first, second, strict=True)]
            return _since(second[::-1], both[::-1])[::-1]
        case nodes.Comparison(_, relation, _):
            compare = _RELATIONS[relation]
            return [compare(x, y) for x, y in zip(first, second, strict=True)]
        case nodes.Count():
            return list(accumulate(map(int, first)))
        case nodes.CountFuture():
            return list(accumulate(map(int, first[::-1])))[::-1]
        case nodes.CountAll():
            return [sum(first)] * n
        case nodes.Scale(k, _):
            return [k * x for x in first]
        case nodes.Sum():
            return [x + y for x, y in zip(first, second, strict=True)]
        case nodes.Difference():
            return [x - y for x, y in zip(first, second, strict=True)]
    raise AssertionError(node)


def seconds(run: Callable[[], object], repeat: int = 3) -> float:
    """The best of a few runs."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best


def exhaustive(formula: Formula, longest: int, sample: int) -> dict[str, float]:
    """All words up to a length in the batch; the same share of each length for the plain one."""
    words = 2 ** (longest + 1) - 2

    def batched() -> None:
        for length in range(1, longest + 1):
            evaluate(formula, all_words("ab", length))

    steps, _ = distinct(formula)
    # Words of the greatest length are half of all words, those one shorter a quarter, …
    rng = np.random.default_rng(0)
    numbers = rng.integers(1, words + 1, sample) + 1  # binary digits after the leading 1
    texts = [bin(number)[3:].replace("0", "a").replace("1", "b") for number in map(int, numbers)]
    texts = [text for text in texts if text]
    fast = seconds(batched)
    slow = seconds(lambda: [plain(steps, text) for text in texts], 2) * words / len(texts)
    return {
        "words": words,
        "seconds": fast,
        "words_per_second": words / fast,
        "plain_words_per_second": words / slow,
        "ratio": slow / fast,
    }


def agree(formula: Formula) -> None:
    """The two evaluators say the same, or the comparison means nothing."""
    steps, _ = distinct(formula)
    for length in (1, 2, 7):
        for word in map("".join, product("ab", repeat=length)):
            assert plain(steps, word) == formula.truth(word).tolist(), (formula, word)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--json", metavar="FILE", help="write the numbers to FILE")
    options.add_argument("--quick", action="store_true", help="smaller sizes")
    given = options.parse_args()
    longest, symbols, sample = (14, 1_000_000, 500) if given.quick else (20, 10_000_000, 3_000)
    numbers: dict[str, Any] = {"exhaustive": {}, "long": {}, "text": {}}

    formulas = {name: parse(text) for name, text in FORMULAS.items()}
    formulas["random"] = random_formula(np.random.default_rng(2), 20, "ab")
    print(f"all words of length <= {longest} over {{a, b}}")
    print(f"{'formula':14}{'size':>6}{'seconds':>10}{'words/s':>14}{'plain':>12}{'ratio':>9}")
    for name, formula in formulas.items():
        agree(formula)
        row = exhaustive(formula, longest, sample)
        numbers["exhaustive"][name] = {"formula": str(formula), **row}
        print(
            f"{name:14}{describe(formula).size:6}{row['seconds']:10.3f}"
            f"{row['words_per_second']:14,.0f}{row['plain_words_per_second']:12,.0f}"
            f"{row['ratio']:8,.0f}x"
        )

    codes = np.random.default_rng(1).choice(3, symbols, p=[0.6, 0.3, 0.1])
    word = np.frombuffer(b"abc", np.uint8)[codes].tobytes().decode()
    print(f"\none word of {symbols:,} symbols")
    print(f"{'formula':28}{'symbols/s':>16}{'plain':>12}{'ratio':>9}")
    for text in OPERATORS:
        formula = parse(text)
        steps, _ = distinct(formula)
        speed = symbols / seconds(partial(formula.truth, word))
        part = word[:100_000]
        slow = len(part) / seconds(partial(plain, steps, part), 2)
        numbers["long"][text] = {
            "symbols_per_second": speed,
            "plain_symbols_per_second": slow,
            "ratio": speed / slow,
        }
        print(f"{text:28}{speed:16,.0f}{slow:12,.0f}{speed / slow:8,.0f}x")

    print(f"\n{'reading and printing':28}{'characters/s':>16}")
    flat = " & ".join(["a", "b"] * (12_500 if given.quick else 125_000))
    tall = "!" * (len(flat) // 10) + "a"
    for name, text in (("flat", flat), ("nested", tall)):
        formula = parse(text)
        for what, run in (
            ("parse", lambda t=text: parse(t)),
            ("print", lambda f=formula: str(f)),
        ):
            speed = len(text) / seconds(run, 1)
            numbers["text"][f"{what} {name}"] = speed
            print(f"{what + ' ' + name:28}{speed:16,.0f}")

    if given.json:
        Path(given.json).write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    else:
        print()
        print(json.dumps(numbers))


if __name__ == "__main__":
    main()
