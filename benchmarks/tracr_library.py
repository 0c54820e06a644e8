"""Tracr's library in softhat, against Tracr's own interpreter and its own expected outputs.

    python -m benchmarks.tracr_library FOLDER

FOLDER is a checkout of github.com/google-deepmind/tracr, which is not part of this repository; JAX
is not needed. Every program that its compiler is tested with (test_cases.py), those that it
does not support among them, is compiled by softhat, certified, and compared with the output that
stands beside it and with Tracr's interpreter on random sequences. (Tests of causal models mean
something else by the same program: they are left out.) The result is benchmarks/tracr_library.json.

`programs` and `tracrbench` take the same interpreter, by `--tracr FOLDER`.
"""

from __future__ import annotations

import argparse
import json
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import softhat
from benchmarks.programs import measured, same
from benchmarks.tracr import imported_as, module_of, tracr_of
from softhat import rasp

RESULTS = Path(__file__).with_name("tracr_library.json")
LISTS = ("TEST_CASES", "UNSUPPORTED_TEST_CASES")


def cases_of(
    folder: Path, language: types.ModuleType, library: types.ModuleType
) -> list[dict[str, Any]]:
    """Tracr's test cases, their programs in this language."""
    with imported_as(language, library):
        module = module_of(folder / "tracr" / "compiler" / "test_cases.py", "tracr_test_cases")
    return [case for name in LISTS for case in getattr(module, name)]


def said_of(case: dict[str, Any], meaning: Callable[[Sequence[Any]], Any]) -> dict[str, Any]:
    """What becomes of a test case; `meaning` is Tracr's interpreter."""
    vocabulary = sorted(case["vocab"], key=lambda token: (str(type(token)), token))
    length = max(case["max_seq_len"], len(case.get("test_input", "")))
    said = measured(case["program"], vocabulary, length, 1, meaning)
    if "test_input" in case and said["what"].startswith("right"):
        model = softhat.compile(case["program"], alphabet=vocabulary, max_length=length)
        values = model.values(case["test_input"])
        error = model.certificate.error or 0.0
        pairs = zip(values, case["expected_output"], strict=True)
        if not all(same(value, expected, error) for value, expected in pairs):
            return {"what": f"wrong on {case['test_input']!r}: {values!r}"}
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    language, library = tracr_of(options.folder)
    cases = {}
    pairs = zip(cases_of(options.folder, rasp, rasp.lib),
                cases_of(options.folder, language, library), strict=True)  # fmt: skip
    for ours, theirs in pairs:
        cases[ours["testcase_name"]] = said_of(ours, theirs["program"])
        print(ours["testcase_name"], cases[ours["testcase_name"]], flush=True)
    RESULTS.write_text(json.dumps(cases, indent=1) + "\n")
    wrong = [name for name, said in cases.items() if not said["what"].startswith("right")]
    print(f"{len(cases) - len(wrong)} of {len(cases)} right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
