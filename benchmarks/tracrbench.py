"""RASP programs of TracrBench: those of its prompt, and the answers that passed its own tests.

    python -m benchmarks.tracrbench FOLDER [--tracr FOLDER] [--length 6]

FOLDER is a checkout of HannesThurnherr/automated_generation_of_interpretability_testbeds on GitHub,
which is not part of this repository; its programs are run. (Most of the 121 programs themselves are
in InterpBench, see `programs`.) Each program is compiled for sequences of the numbers 0 to 3 up to
the length, certified, and compared with the reference interpreter, and with Tracr's own where that
can be had. The folder `dataset` holds Tracr's models of the programs, without their source: which
of them have a source, here or in InterpBench (benchmarks/programs.json), is counted by their names.
The result is benchmarks/tracrbench.json.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import re
import signal
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.programs import RESULTS as PROGRAMS
from benchmarks.programs import SECONDS, measured, too_long
from benchmarks.tracr import tracr_of
from softhat import rasp

RESULTS = Path(__file__).with_name("tracrbench.json")
NUMBERS: list[Any] = [0, 1, 2, 3]


def arguments(language: types.ModuleType) -> dict[str, Any]:
    """What the makers of programs are called with, by the names of their parameters."""
    tokens, indices = language.tokens, language.indices
    return {
        "bools": tokens == 1, "degree": 2, "divisor": 2, "f": lambda x, y: x + y,
        "fill_value": 0, "keys": tokens, "max_seq_len": 6, "min_key": 0, "n": 2, "new_max": 1,
        "new_min": 0, "sop": tokens, "sops": (tokens, indices), "token": 1,
        "vals": tokens, "window_size": 3,
    }  # fmt: skip


def functions(text: str) -> Iterator[str]:
    """The functions that stand at the left of a text."""
    lines: list[str] = []
    for line in [*text.splitlines(), "end"]:
        if lines and (line[:1] in (" ", "\t", ")") or not line.strip()):
            lines.append(line)
            continue
        if lines:
            yield "\n".join(lines)
        lines = [line] if line.startswith("def ") else []


def makers(text: str) -> list[str]:
    """The names of functions that make programs."""
    return re.findall(r"^def (make_\w+)", text, flags=re.M)


def texts_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Where a program is from, and its text."""
    for part in functions((folder / "prompts" / "prompt_full.txt").read_text()):
        yield "prompt", part
    for file in sorted((folder / "results").rglob("*.json")):
        answers = json.loads(file.read_text() or "{}").get("successes", {})
        for several in answers.values():
            for answer in several if isinstance(several, list) else [several]:
                yield "answers", answer


def space_of(language: types.ModuleType, library: types.ModuleType) -> dict[str, Any]:
    """What the text of a program finds defined."""
    names = {name: part for name, part in vars(library).items() if not name.startswith("__")}
    return {**names, "rasp": language, "np": np, "numpy": np, "math": math}


def program_of(text: str, space: dict[str, Any]) -> Any:
    """The program that the last maker of a text makes; None if there is no maker."""
    exec(re.sub(r"^(from|import) .*tracr.*$", "", text, flags=re.M), space)
    if not makers(text):
        return None
    maker, arguments_of = space[makers(text)[-1]], arguments(space["rasp"])
    given, more = {}, ()
    for parameter in inspect.signature(maker).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            more = arguments_of[parameter.name]
        elif parameter.default is inspect.Parameter.empty:
            given[parameter.name] = arguments_of[parameter.name]
    return maker(*given.values(), *more) if more else maker(**given)


def said_of(text: str, spaces: list[dict[str, Any]], length: int, seed: int) -> str:
    """What becomes of the last function of a text, which is run in softhat's language and, if that
    is there, in Tracr's; "" if it makes no program."""
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        programs = [program_of(text, space) for space in spaces]
        if programs[0] is None:
            return ""
        said: str = measured(programs[0], NUMBERS, length, seed, *programs[1:])["what"]
        return said
    except TimeoutError:
        return f"not done in {SECONDS} s"
    except Exception as error:  # the text's own fault: it has no meaning
        return f"no program: {error!r}" if makers(text) else ""
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def names_of(folder: Path) -> set[str]:
    """The programs of the data set."""
    return {part.name for part in (folder / "dataset").iterdir() if part.is_dir()}


def in_interpbench(right: bool = True) -> set[str]:
    """The names in InterpBench's cases that are right, or in the others."""
    cases = json.loads(PROGRAMS.read_text())["programs"].values()
    return {name for case in cases if case["what"].startswith("right") is right
            for name in case["names"]}  # fmt: skip


def sources(folder: Path, right: set[str]) -> dict[str, Any]:
    """Of the programs of the data set: how many are right by InterpBench's source, and how many
    more by the texts here; which InterpBench has and are refused; and which have no source."""
    names, there = names_of(folder), in_interpbench()
    left = names - there - right
    refused = left & in_interpbench(right=False)
    return {"programs": len(names), "by InterpBench's source": len(names & there),
            "by a text here": len((names & right) - there),
            "refused": sorted(refused), "without a source": sorted(left - refused)}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tracr", type=Path, help="a checkout of Tracr: ask its interpreter too")
    parser.add_argument(
        "--dataset", action="store_true",
        help="only what the data set has and InterpBench has not, and only how many that are",
    )  # fmt: skip
    parser.add_argument("--length", type=int, default=6)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGVTALRM, too_long)
    languages: list[tuple[Any, Any]] = [(rasp, rasp.lib)]
    if options.tracr:
        languages.append(tracr_of(options.tracr))
    shared = [space_of(*parts) for parts in languages]
    right: set[str] = set()
    left = names_of(options.folder) - in_interpbench()
    seen: set[str] = set()
    tally: dict[str, dict[str, int]] = {}
    others: dict[str, list[str]] = {}
    for source, text in texts_of(options.folder):
        if re.sub(r"\s+", " ", text) in seen:
            continue
        seen.add(re.sub(r"\s+", " ", text))
        # The functions of the prompt call each other: all of them are run.
        if options.dataset and source != "prompt" and not (left - right) & set(makers(text)[-1:]):
            continue
        # The functions of the prompt call each other.
        spaces = shared if source == "prompt" else [dict(space) for space in shared]
        what = said_of(text, spaces, options.length, len(seen))
        if not what:
            continue
        count = tally.setdefault(source, {"right": 0, "others": 0})
        count["right" if what.startswith("right") else "others"] += 1
        if what.startswith("right"):
            right.add(makers(text)[-1])
        else:
            others.setdefault(source, []).append(f"{makers(text)[-1]}: {what}")
    found: dict[str, Any] = {"length": options.length, **tally, "said": others}
    if options.dataset:
        found = json.loads(RESULTS.read_text())
    found["dataset"] = sources(options.folder, right)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(RESULTS.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
