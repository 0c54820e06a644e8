"""RASP programs of InterpBench (and of TracrBench, whose programs it holds), compiled and compared.

    python -m benchmarks.programs FOLDER [--tracr FOLDER] [--length 10] [--only 1,2,3]

FOLDER is a checkout of github.com/FlyingPumba/InterpBench, which is not part of this repository.
Its cases are written for Tracr; here `tracr.rasp` is softhat's. Each program is compiled for
sequences up to the length and compared with the reference interpreter on random sequences, and with
Tracr's own interpreter where that can be had. The result is benchmarks/programs.json.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import re
import signal
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import softhat
from benchmarks.tracr import imported_as, stand_in, tracr_of
from softhat import rasp

RESULTS = Path(__file__).with_name("programs.json")
SOURCE = (
    "InterpBench (Gupta et al. 2024) holds {count} RASP programs for Tracr, most of them "
    "TracrBench's (Thurnherr and Scheurer 2024). They are compiled for sequences up to {length} "
    "tokens of each program's own vocabulary, and compared with the reference interpreter and with "
    "Tracr's own."
)
SECONDS = 30
"""Of the processor, for one program."""


class Case:
    """What cases inherit of the benchmark: defaults alone."""

    def get_max_seq_len(self) -> int:
        return 10


def case_of(k: int, language: types.ModuleType, library: types.ModuleType) -> Any:
    """A case with its program in this language; None if there is no such case. Cases import the
    benchmark's machinery, which is left out."""
    with imported_as(language, library):
        for name in [name for name in sys.modules if name.startswith("circuits_benchmark")]:
            del sys.modules[name]
        stand_in("circuits_benchmark.benchmark.tracr_benchmark_case", TracrBenchmarkCase=Case)
        stand_in("circuits_benchmark.transformers")
        stand_in(
            "circuits_benchmark.transformers.hooked_tracr_transformer",
            HookedTracrTransformerBatchInput=list,
        )
        try:
            module = importlib.import_module(f"circuits_benchmark.benchmark.cases.case_{k}")
        except ModuleNotFoundError:
            return None
        case = getattr(module, f"Case{k}")()
        if not hasattr(case, "get_program"):
            return None
        case.program = case.get_program()
        return case


def same(found: Any, expected: Any, error: float) -> bool:
    if found is None or expected is None:
        return found is expected
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return abs(found - expected) <= error + 1e-6 * max(1.0, abs(expected))
    return bool(found == expected)


def measured(
    program: rasp.SOp,
    vocabulary: list[Any],
    length: int,
    seed: int,
    meaning: Callable[[Sequence[Any]], Any] | None = None,
) -> dict[str, Any]:
    """What becomes of a program; `meaning` is another interpreter's, asked beside softhat's."""
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
        if meaning is not None:
            others = meaning(sequence)
            if not all(same(v, e, 0.0) for v, e in zip(expected, others, strict=True)):
                return {"what": f"means {others!r} on {sequence!r} to the other interpreter"}
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
    parser.add_argument("--tracr", type=Path, help="a checkout of Tracr: ask its interpreter too")
    parser.add_argument("--only", type=lambda text: [int(k) for k in text.split(",")])
    options = parser.parse_args()
    sys.path.insert(0, str(options.folder))
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGVTALRM, too_long)
    tracr = tracr_of(options.tracr) if options.tracr else None
    programs: dict[str, Any] = (
        json.loads(RESULTS.read_text())["programs"] if options.only else {}
    )  # the others stay as they were
    for k in options.only or range(1, 200):
        case = case_of(k, rasp, rasp.lib)
        if case is None:
            continue
        meaning = case_of(k, *tracr).program if tracr else None
        vocabulary = sorted(case.get_vocab(), key=lambda token: (str(type(token)), token))
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            said = measured(case.program, vocabulary, options.length, k, meaning)
        except TimeoutError:
            said = {"what": f"not done in {SECONDS} s"}
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        text = Path(sys.modules[type(case).__module__].__file__ or "").read_text()
        programs[f"case {k}"] = {**said, "names": sorted(set(re.findall(r"make_\w+", text)))}
        print(k, said, flush=True)
    source = SOURCE.format(count=len(programs), length=options.length)
    text = json.dumps({"source": source, "programs": programs}, indent=1, ensure_ascii=False)
    RESULTS.write_text(f"{text}\n")
    return 0


def too_long(*_: Any) -> None:
    raise TimeoutError


if __name__ == "__main__":
    sys.exit(main())
