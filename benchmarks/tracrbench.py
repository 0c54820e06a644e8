"""RASP programs of TracrBench: those of its prompt, and the answers that passed its own tests.

    python -m benchmarks.tracrbench FOLDER [--length 6]

FOLDER is a checkout of HannesThurnherr/automated_generation_of_interpretability_testbeds on GitHub,
which is not part of this repository; its programs are run. (Most of the 121 programs themselves are
in InterpBench, see `programs`.) Each program is compiled for sequences of the numbers 0 to 3 up to
the length, certified, and compared with the reference interpreter; what is found is written to
benchmarks/tracrbench.json.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.programs import SECONDS, measured, too_long
from softhat import rasp

RESULTS = Path(__file__).with_name("tracrbench.json")
NUMBERS: list[Any] = [0, 1, 2, 3]
ARGUMENTS: dict[str, Any] = {
    "bools": rasp.tokens == 1, "degree": 2, "divisor": 2, "f": lambda x, y: x + y,
    "fill_value": 0, "keys": rasp.tokens, "max_seq_len": 6, "min_key": 0, "n": 2, "new_max": 1,
    "new_min": 0, "sop": rasp.tokens, "sops": (rasp.tokens, rasp.indices), "token": 1,
    "vals": rasp.tokens, "window_size": 3,
}  # fmt: skip
"""What the makers of programs are called with, by the names of their parameters."""


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


def program_of(name: str, space: dict[str, Any]) -> rasp.SOp:
    """The program that a maker makes."""
    given, more = {}, ()
    for parameter in inspect.signature(space[name]).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            more = ARGUMENTS[parameter.name]
        elif parameter.default is inspect.Parameter.empty:
            given[parameter.name] = ARGUMENTS[parameter.name]
    made: rasp.SOp = space[name](*given.values(), *more) if more else space[name](**given)
    return made


def said_of(text: str, space: dict[str, Any], length: int, seed: int) -> str:
    """What becomes of the last function of a text; "" if it makes no program."""
    names = makers(text)
    signal.alarm(SECONDS)
    try:
        exec(re.sub(r"^(from|import) .*tracr.*$", "", text, flags=re.M), space)
        if not names:
            return ""
        said: str = measured(program_of(names[-1], space), NUMBERS, length, seed)["what"]
        return said
    except TimeoutError:
        return f"not done in {SECONDS} s"
    except Exception as error:  # the text's own fault: it has no meaning
        return f"no program: {error!r}" if names else ""
    finally:
        signal.alarm(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--length", type=int, default=6)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, too_long)
    library = {name: part for name, part in vars(rasp.lib).items() if not name.startswith("__")}
    shared = {**library, "rasp": rasp, "np": np, "numpy": np, "math": math}
    seen: set[str] = set()
    tally: dict[str, dict[str, int]] = {}
    others: dict[str, list[str]] = {}
    for source, text in texts_of(options.folder):
        if re.sub(r"\s+", " ", text) in seen:
            continue
        seen.add(re.sub(r"\s+", " ", text))
        space = shared if source == "prompt" else dict(shared)  # its functions call each other
        what = said_of(text, space, options.length, len(seen))
        if not what:
            continue
        count = tally.setdefault(source, {"right": 0, "others": 0})
        count["right" if what.startswith("right") else "others"] += 1
        if not what.startswith("right"):
            others.setdefault(source, []).append(f"{makers(text)[-1]}: {what}")
    RESULTS.write_text(
        json.dumps({"length": options.length, **tally, "said": others}, indent=1) + "\n"
    )
    print(RESULTS.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
