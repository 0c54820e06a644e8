"""Every certified length in one table: what a change of the proofs may not shorten.

    python benchmarks/lengths.py FILE [formulas] [kernels] [gallery] [laws] [stock]
    python benchmarks/lengths.py --compare BEFORE AFTER

The first form writes the lengths of the softhat on the path as JSON, {name: {format: length}}: the
formulas and the gallery of `tests/baseline.py` (`formulas`, `gallery`), the same formulas by the
linear runtime, PyTorch's and ONNX's kernels (`kernels`), the simulations of docs/float-lengths.md
(`laws`) and stock GPT-2 and Llama exports, plain and disguised, by both attention kernels
(`stock`). The second prints every length that differs and exits with 1 if one is shorter.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.proof.kernels import kernel_certificate
from tests.baseline import EPSILON as BASELINE_EPSILON
from tests.baseline import EXAMPLES, FORMULAS, LENGTH
from tests.baseline import GALLERY as BASELINE

Row = tuple[str, dict[str, int]]
EPSILON = {"float32": 1e-3, "float16": 0.1, "bfloat16": 0.1}
STOCK = (
    "Y a", "!c S a", "a & Y (b | Y c)", "O a -> !b S a", "#(a) >= #(b)", "2*#(a) - 3*#(b) = 1",
    "#(a) >= 5 & Y (!b S a)", "(#(a) >= 2) S b", "O (a & Y Y b)", "b S (a & #(c) > 1)",
)  # fmt: skip
"""Formulas over a, b, c of every kind of head that stock decoders have."""
CONTEXT, SEED = 4096, 7


def formulas() -> Iterator[Row]:
    for case in FORMULAS:
        for attention in ("unbounded", "temperature"):
            given = {"propositions" if case.propositional else "alphabet": case.alphabet}
            model = softhat.compile(case.formula, attention=attention, **given)
            yield f"{case.name} / {attention}", dict(model.certificate.max_length)


def kernels() -> Iterator[Row]:
    for case in FORMULAS:
        given = {"propositions" if case.propositional else "alphabet": case.alphabet}
        model = softhat.compile(case.formula, **given)
        for kernel in ("torch", "onnx"):
            yield f"{case.name} / {kernel}", kernel_certificate(model, kernel)["max_length"]
        yield (
            f"{case.name} / linear",
            {dtype: model.linear_max_length(dtype) for dtype in ("float32", "float64")},
        )


def gallery() -> Iterator[Row]:
    for name in BASELINE:
        source = softhat.ahat.load(EXAMPLES / f"{name}.json")
        made = softhat.simulate(source, max_length=LENGTH, epsilon=BASELINE_EPSILON)
        yield name, dict(made.certificate.max_length)


def laws() -> Iterator[Row]:
    for name, source in GALLERY.items():
        lengths = {}
        for dtype, epsilon in EPSILON.items():
            made = softhat.simulate(source(), epsilon=epsilon, dtype=dtype)
            lengths[dtype] = made.certificate.max_length[dtype]
        yield name, lengths


def stock() -> Iterator[Row]:
    from softhat.export.gpt2.to_gpt2 import to_gpt2
    from softhat.export.llama.to_llama import to_llama

    for text in STOCK:
        model = softhat.compile(text, alphabet="abc")
        for write in (to_gpt2, to_llama):
            for kernel in ("sdpa", "eager"):
                for disguise in (None, SEED):
                    with tempfile.TemporaryDirectory() as folder:
                        made = Path(folder) / "made"
                        write(model, made, context=CONTEXT, kernel=kernel, disguise=disguise)
                        certificate = json.loads((made / "certificate.json").read_text("utf-8"))
                    shown = "plain" if disguise is None else "disguised"
                    name = f"{text} / {write.__name__} / {kernel} / {shown}"
                    yield name, certificate["max_length"]


SUITES: dict[str, Callable[[], Iterator[Row]]] = {
    "formulas": formulas,
    "kernels": kernels,
    "gallery": gallery,
    "laws": laws,
    "stock": stock,
}


def compare(before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]) -> int:
    """How many lengths of both tables are shorter; each that differs is printed."""
    shorter = same = 0
    for name in before.keys() & after.keys():
        for dtype, old in before[name].items():
            new = after[name].get(dtype, 0)
            same += new == old
            shorter += new < old
            if new != old:
                mark = "SHORTER" if new < old else "longer"
                print(f"{mark:8} {name} {dtype}: {old:,} -> {new:,}")
    print(f"{same} lengths are the same, {shorter} are shorter")
    return shorter


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"))
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    asked = parser.parse_args(arguments)
    if asked.compare:
        before, after = (json.loads(file.read_text("utf-8")) for file in asked.compare)
        return 1 if compare(before, after) else 0
    unknown = [name for name in asked.suites if name not in SUITES]
    if asked.file is None or unknown:
        parser.error(f"unknown: {', '.join(unknown)}" if unknown else "name the FILE to write")
    rows = {
        f"{suite}: {name}": lengths
        for suite in asked.suites or SUITES
        for name, lengths in SUITES[suite]()
    }
    asked.file.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
