"""Certified lengths against the first failure that a search finds, per kind of head and dtype.

For each case hostile words longer and longer than certified are run on the dense runtime (a few
query rows against all keys) until an answer is wrong. A certificate is sound if no failure lies
within it, and useful if the failure is not far beyond: a ratio of at least 1/2 for Latest and
Previous, 1/4 for comparisons.

    python benchmarks/certificates.py [--json FILE] [--quick] [--torch] [--gpt2]

`--quick` leaves float32 out, whose words have millions of symbols. `--torch` adds the exported
module: certified before it had a proof of its own, certified now, first failure. `--gpt2` adds
stock GPT-2 exports: certified before gates were trees and positions told constants, now, first
failure within the context.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import softhat
from softhat.logic.semantics.truth import truth

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # for the imports of tests

from tests.proof.sample import margins_at

Codes = NDArray[np.int64]
Words = Callable[[int], list[tuple[Codes, int]]]
ROWS = 24
TRIES = 200
"""Random words on the threshold of a mixed comparison, for each length."""
FARTHEST, LONGEST = 8, 25_000_000
"""The search gives up at this many times the certified length, and at this length."""


@dataclass(frozen=True)
class Case:
    """A formula over a, b, c, and words that are hard for it."""

    kind: str
    formula: str
    words: Words
    """Of a length, each with a position that is worth asking."""
    target: float


def _far_decision(n: int) -> list[tuple[Codes, int]]:
    """Two deciding symbols side by side, as far away as possible; then only filler."""
    words = []
    for first, second in ((0, 2), (2, 0)):
        word = np.ones(n, np.int64)
        word[0], word[min(1, n - 1)] = first, second
        words.append((word, n - 1))
    return words


def _changing(n: int) -> list[tuple[Codes, int]]:
    """Neighbours that differ: the wrong position gives the wrong answer."""
    words = (np.arange(n) % 2, np.arange(1, n + 1) // 2 % 2, np.arange(n) // 2 % 2)
    return [(word, n - 1) for word in words]


def _on_the_threshold(n: int) -> list[tuple[Codes, int]]:
    """#(a) - #(b) is 0 or -1 all along."""
    return [(np.arange(n) % 2, n - 1), (np.arange(1, n + 1) % 2, n - 1)]


def _up_to(count: int) -> Words:
    """Exactly `count` or one less, early or evenly spread."""

    def words(n: int) -> list[tuple[Codes, int]]:
        made = []
        for a in (count, count - 1):
            early = np.ones(n, np.int64)
            early[:a] = 0
            spread = np.ones(n, np.int64)
            spread[np.linspace(0, n - 1, min(a, n)).astype(np.int64)] = 0
            made += [(early, n - 1), (spread, n - 1)]
        return made

    return words


def _balanced(solve: Solve) -> Words:
    """Words with a position where the two sides are equal or one apart, and nothing else: counts
    before and after it drawn at random, one solved for. Rounding hits each of them differently."""

    def words(n: int) -> list[tuple[Codes, int]]:
        rng = np.random.default_rng(n)
        made: list[tuple[Codes, int]] = []
        for _ in range(10_000):
            i = int(rng.integers(1, n + 1))
            counts = solve(n, i, int(rng.integers(0, i)), int(rng.integers(0, 2)))
            if counts is None or len(made) == (TRIES if n < 10**4 else 4):
                continue
            (a, b), (later_a, here) = counts
            word = np.full(n, 2)
            word[:a], word[a : a + b], word[i : i + later_a], word[i - 1] = 0, 1, 0, here
            made.append((word, i - 1))
        return made

    return words


Solve = Callable[[int, int, int, int], tuple[tuple[int, int], tuple[int, int]] | None]
"""(n, i, a count before i, 0 or 1) -> (a, b) before i, (a after it, the symbol at i)."""


def _past_and_future(n: int, i: int, k: int, off: int) -> Any:
    return ((k, 0), (k + off, 1)) if k + off <= n - i else None


def _total_and_past(n: int, i: int, b: int, off: int) -> Any:
    a = 2 * b + i - n - off
    before = min(a, i - 1 - b)
    return ((before, b), (a - before, 2)) if 0 <= a <= n - 1 - b else None


def _overlap(n: int, i: int, k: int, off: int) -> Any:
    return (k, 0), ((k * 7919 + n) % (n - i + 1), off)


CASES = (
    Case("Latest", "!c S a", _far_decision, 1 / 2),
    Case("Previous", "Y a", _changing, 1 / 2),
    Case("Sign", "#(a) >= #(b)", _on_the_threshold, 1 / 4),
    Case("Sign, constant", "#(a) >= 100", _up_to(100), 1 / 4),
    Case("Sign, mixed", "#(a) >= #>(a)", _balanced(_past_and_future), 1 / 4),
    Case("Sign, mixed", "#*(a) + n >= 2*#(b) + i", _balanced(_total_and_past), 1 / 4),
    Case("Sign, mixed", "#(a) + #>(a) > #*(a)", _balanced(_overlap), 1 / 4),
)


@dataclass(frozen=True)
class Row:
    kind: str
    formula: str
    attention: str
    dtype: str
    certified: int
    first_failure: int | None
    ratio: float | None
    target: float
    seconds: float


def lengths(certified: int) -> Iterator[int]:
    """Just beyond the certificate one by one, then in growing steps."""
    yield from range(certified + 1, certified + 5)
    n = certified + 5.0
    while True:
        n *= 1.03 if n < 10**5 else 1.15
        if n > min(FARTHEST * certified, LONGEST):
            return
        yield int(n)


def _badly_rounded(word: Codes, count: int) -> list[int]:
    """Positions whose float32 averages of a (past, future) are off by most, each way."""
    is_a, n = word == 0, len(word)
    past, places = np.cumsum(is_a), np.arange(1, n + 1)
    error = np.zeros(n)
    for counts, keys in ((past, places + 1), (is_a.sum() - past + is_a, n - places + 2)):
        error += (counts.astype(np.float32) / keys.astype(np.float32)) * np.float64(1) * keys
        error -= counts
    order = np.argsort(error)
    return [*order[:count].tolist(), *order[-count:].tolist()]


def fails(model: softhat.Model, case: Case, n: int, dtype: str) -> bool:
    """Whether some answer near the end (or the start) of a hostile word is wrong."""
    near = ROWS if n < 10**5 else 4 if n < 10**6 else 1
    some = [*range(n - near, n), 0, 1, n // 2, n // 3]
    for word, at in case.words(n):
        chosen = [at] if case.kind == "Sign, mixed" else [at, *some, *_badly_rounded(word, near)]
        ends = np.unique(np.clip(chosen, 0, n - 1))
        expected = truth(model.formulas["output"], np.array(list("abc"))[word])[ends]
        with np.errstate(invalid="ignore", over="ignore"):  # past the certificate
            answers = margins_at(model, word, ends, dtype)[:, 0] > 0
        if (answers != expected).any():
            return True
    return False


def measure(case: Case, attention: Any, dtype: str) -> Row:
    start = time.perf_counter()
    model = softhat.compile(case.formula, alphabet="abc", attention=attention)
    certified = model.certificate.max_length[dtype]
    for n in (certified, certified - 1):
        if fails(model, case, n, dtype):
            raise SystemExit(f"the certificate is violated: {case.formula}, {dtype}, n = {n}")
    failure = next((n for n in lengths(certified) if fails(model, case, n, dtype)), None)
    ratio = None if failure is None else certified / failure
    seconds = time.perf_counter() - start
    return Row(
        case.kind, case.formula, attention, dtype, certified, failure, ratio, case.target, seconds
    )


TORCH_BEFORE = {
    "63*#(a) > 64*#(b)": {"float16": 63, "bfloat16": 255, "float32": 32_767},
    "100*#(a) >= n": {"float16": 40, "bfloat16": 109, "float32": 167_772},
    "#(a) >= #(b)": {"float16": 2_047, "bfloat16": 255, "float32": 1_048_574},
    "2*#(a) - 3*#(b) = 1": {"float16": 1_364, "bfloat16": 255, "float32": 524_286},
    "#(a) >= #>(a)": {"float16": 876, "bfloat16": 108, "float32": 349_524},
    "#*(a) + n >= 2*#(b) + i": {"float16": 174, "bfloat16": 20, "float32": 131_071},
}
"""Certified lengths of the torch kernel when it inherited the dense runtime's proof. A module
looks at all pairs of positions, so that failures are searched for up to 2,100 symbols only."""


def measure_torch(formula: str, dtype: str, most: int = 2_100) -> tuple[int, int | None]:
    """The certified length, and the first failure of whole words up to `most`."""
    import torch

    from softhat.proof.kernels import kernel_certificate

    model = softhat.compile(formula, alphabet="abc")
    certified = kernel_certificate(model, "torch")["max_length"][dtype]
    module = softhat.to_torch(model, dtype)
    n = certified
    while n <= most:
        words = [np.arange(n) % 2, np.arange(n) // 2 % 2, np.where(np.arange(n) < n // 2, 0, 1)]
        batch = np.stack([*words, 1 - words[2], np.zeros(n, np.int64)])
        with torch.no_grad():
            answers = module(torch.tensor(batch))[..., 0].float().numpy() > 0
        expected = [truth(model.formulas["output"], np.array(list("abc"))[w]) for w in batch]
        if (answers != np.stack(expected)).any():
            return certified, n
        n += max(1, n // 16)
    return certified, None


def torch_table() -> list[dict[str, Any]]:
    rows = []
    print(f"\n{'torch':28}{'dtype':10}{'before':>8}{'certified':>11}{'fails at':>11}")
    cases = [(f, dtype, n) for f, lengths in TORCH_BEFORE.items() for dtype, n in lengths.items()]
    for formula, dtype, before in cases:
        certified, failure = measure_torch(formula, dtype)
        if failure == certified:
            raise SystemExit(f"the torch certificate is violated: {formula}, {dtype}")
        shown = f"{failure:,}" if failure else "not found"
        print(f"{formula:28}{dtype:10}{before:>8,}{certified:>11,}{shown:>11}", flush=True)
        rows.append(
            {
                "formula": formula,
                "dtype": dtype,
                "before": before,
                "certified": certified,
                "first_failure": failure,
            }
        )
    return rows


GPT2_BEFORE: tuple[tuple[str, int, str, dict[str, int]], ...] = (
    ("!c S a", 1024, "eager", {"float32": 1023, "bfloat16": 0, "float16": 0}),
    ("#(a) >= 100", 1024, "sdpa", {"float32": 1023, "bfloat16": 255, "float16": 0}),
    ("#(a) >= 301", 1024, "sdpa", {"float32": 1023, "bfloat16": 0, "float16": 0}),
    ("#(a) >= 301", 1024, "eager", {"float32": 1023, "bfloat16": 0, "float16": 0}),
    ("AND of 51", 64, "sdpa", {"float32": 0, "bfloat16": 0, "float16": 0}),
)
"""(formula, context, kernel, certified lengths); the last is a gate over 51 temporal operators."""


def measure_gpt2(
    formula: str, context: int, kernel: Any, dtypes: Iterable[str]
) -> dict[str, tuple[int, int | None]]:
    """For each dtype the certified length, and the first position at which a word is answered
    wrongly; beyond the certificate where there is something beyond."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    wide = formula.startswith("AND")
    symbols = [f"s{k}" for k in range(51)] if wide else list("abc")
    text = " & ".join(f"O {s}" for s in symbols) if wide else formula
    model = softhat.compile(text, alphabet=symbols)
    n = context - 1
    rng = np.random.default_rng(0)
    words = [word for word, _ in (*_up_to(100)(n), *_up_to(301)(n), *_far_decision(n))]
    words += [2 * word for word, _ in _changing(n)]
    words = [np.resize(rng.permutation(51), n) for _ in range(8)] if wide else words
    expected = np.stack([truth(model.formulas["output"], np.array(symbols)[w]) for w in words])
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        softhat.to_gpt2(model, Path(folder) / "m", context, kernel=kernel)
        stated = json.loads((Path(folder) / "m" / "certificate.json").read_text())
        for dtype in dtypes:
            run = transformers.GPT2ForTokenClassification.from_pretrained(
                Path(folder) / "m", dtype=getattr(torch, dtype), attn_implementation=kernel
            ).eval()
            first = torch.full((len(words), 1), run.config.bos_token_id)
            tokens = torch.cat([first, torch.tensor(np.stack(words))], dim=1)
            with torch.no_grad():
                logits = run(tokens).logits[:, 1:].float().numpy()
            wrong = ((logits[..., 1] > logits[..., 0]) != expected).any(axis=0)
            failure = int(wrong.argmax()) + 1 if wrong.any() else None
            found[dtype] = stated["max_length"][dtype], failure
    return found


def gpt2_table() -> list[dict[str, Any]]:
    rows = []
    print(f"\n{'GPT-2':16}{'context':>8} {'kernel':7}{'dtype':10}", end="")
    print(f"{'before':>8}{'certified':>11}{'fails at':>11}")
    for formula, context, kernel, lengths in GPT2_BEFORE:
        found = measure_gpt2(formula, context, kernel, lengths)
        for dtype, (certified, failure) in found.items():
            if failure is not None and failure <= certified:
                raise SystemExit(f"the GPT-2 certificate is violated: {formula}, {kernel}, {dtype}")
            shown = f"{failure:,}" if failure else "not found"
            print(
                f"{formula:16}{context:>8,} {kernel:7}{dtype:10}{lengths[dtype]:>8,}"
                f"{certified:>11,}{shown:>11}",
                flush=True,
            )
            rows.append(
                {"formula": formula, "context": context, "kernel": kernel, "dtype": dtype,
                 "before": lengths[dtype], "certified": certified, "first_failure": failure}
            )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--gpt2", action="store_true")
    options = parser.parse_args()
    dtypes = ("bfloat16", "float16") if options.quick else ("bfloat16", "float16", "float32")
    rows = []
    print(f"{'kind':16}{'attention':13}{'dtype':10}{'certified':>12}{'fails at':>12}  ratio")
    for case in CASES:
        for attention in ("unbounded", "temperature"):
            for dtype in dtypes:
                row = measure(case, attention, dtype)
                rows.append(row)
                failure = f"{row.first_failure:,}" if row.first_failure else "not found"
                ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
                print(
                    f"{row.kind:16}{attention:13}{dtype:10}{row.certified:>12,}{failure:>12}  "
                    f"{ratio}",
                    flush=True,
                )
    documents = [asdict(row) for row in rows]
    if options.torch:
        documents += torch_table()
    if options.gpt2:
        documents += gpt2_table()
    if options.json:
        options.json.write_text(json.dumps(documents, indent=1) + "\n")
    missed = [row for row in rows if row.ratio is not None and row.ratio < row.target]
    for row in missed:
        print(f"below its target {row.target}: {row.kind} {row.attention} {row.dtype}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
