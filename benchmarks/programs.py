"""RASP programs of InterpBench (and of TracrBench, whose programs it holds), compiled and compared.

    python benchmarks/programs.py FOLDER [--length 10] [--only 1,2,3]

FOLDER is a checkout of github.com/FlyingPumba/InterpBench, which is not part of this repository.
Its cases are written for Tracr; here `tracr.rasp` is softhat's. Each program is compiled for
sequences up to the length and compared with the reference interpreter on random sequences; what is
found is written to benchmarks/programs.json.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import signal
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import softhat
from softhat import rasp

RESULTS = Path(__file__).with_name("programs.json")
SOURCE = (
    "InterpBench (Gupta et al. 2024) holds {count} RASP programs for Tracr, most of them "
    "TracrBench's (Thurnherr and Scheurer 2024). They are compiled for sequences up to {length} "
    "tokens of each program's own vocabulary."
)
SECONDS = 30
"""For one program."""


def stand_in(name: str, **parts: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    for key, value in parts.items():
        setattr(module, key, value)
    sys.modules[name] = module
    return module


class Case:
    """What cases inherit of the benchmark: defaults alone."""

    def get_max_seq_len(self) -> int:
        return 10


def prepare(folder: Path) -> None:
    """Cases import Tracr and the benchmark's machinery: they get softhat's RASP instead."""
    sys.path.insert(0, str(folder))
    language = stand_in("tracr.rasp", rasp=rasp)
    sys.modules["tracr.rasp.rasp"] = rasp  # type: ignore[assignment]
    compiler = stand_in("tracr.compiler", lib=rasp.lib)
    stand_in("tracr", rasp=language, compiler=compiler)
    stand_in("circuits_benchmark.benchmark.tracr_benchmark_case", TracrBenchmarkCase=Case)
    stand_in("circuits_benchmark.transformers")
    stand_in(
        "circuits_benchmark.transformers.hooked_tracr_transformer",
        HookedTracrTransformerBatchInput=list,
    )


def same(found: Any, expected: Any, error: float) -> bool:
    if found is None or expected is None:
        return found is expected
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return abs(found - expected) <= error + 1e-6 * max(1.0, abs(expected))
    return bool(found == expected)


def measured(program: rasp.SOp, vocabulary: list[Any], length: int, seed: int) -> dict[str, Any]:
    try:
        model = softhat.compile(program, alphabet=vocabulary, max_length=length)
    except softhat.SofthatError as error:
        return {"what": f"refused: {error}"}
    certificate = model.certificate
    if certificate.max_length["float32"] < length:
        return {"what": f"certified to {certificate.max_length['float32']} only"}
    dice = random.Random(seed)
    sequences = [dice.choices(vocabulary, k=n) for n in (*range(1, length + 1), *[length] * 30)]
    meaningless = 0
    for sequence in sequences:
        try:
            expected = program(sequence)
        except Exception:  # a program has no meaning where it raises
            meaningless += 1
            continue
        values = model.values(sequence)
        error = certificate.error or 0.0
        if not all(same(v, e, error) for v, e in zip(values, expected, strict=True)):
            return {"what": f"wrong on {sequence!r}"}
    said = f"right; raises on {meaningless} of {len(sequences)}" if meaningless else "right"
    return {
        "what": said,
        "layers": model.size.layers,
        "parameters": model.size.parameters,
        "float32": certificate.max_length["float32"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--length", type=int, default=10)
    parser.add_argument("--only", type=lambda text: [int(k) for k in text.split(",")])
    options = parser.parse_args()
    prepare(options.folder)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, too_long)
    programs: dict[str, Any] = {}
    for k in options.only or range(1, 200):
        try:
            module = importlib.import_module(f"circuits_benchmark.benchmark.cases.case_{k}")
        except ModuleNotFoundError:
            continue
        case = getattr(module, f"Case{k}")()
        if not hasattr(case, "get_program"):
            continue
        vocabulary = sorted(case.get_vocab(), key=lambda token: (str(type(token)), token))
        signal.alarm(SECONDS)
        try:
            said = measured(case.get_program(), vocabulary, options.length, k)
        except TimeoutError:
            said = {"what": f"not done in {SECONDS} s"}
        signal.alarm(0)
        programs[f"case {k}"] = said
        print(k, said, flush=True)
    if options.only is None:
        source = SOURCE.format(count=len(programs), length=options.length)
        text = json.dumps({"source": source, "programs": programs}, indent=1, ensure_ascii=False)
        RESULTS.write_text(f"{text}\n")
    return 0


def too_long(*_: Any) -> None:
    raise TimeoutError


if __name__ == "__main__":
    sys.exit(main())
