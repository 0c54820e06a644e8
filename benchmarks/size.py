"""How large is src, apart from what it can do since: lines by room, then and now.

    python benchmarks/size.py [--base COMMIT] [--json FILE]

A line is a line of a Python file below `src`, docstrings and blank lines included. `FEATURES` names
what the base could not do, and the modules that serve nothing else: their lines are counted apart.
What a new feature added to a module that the base had counts as growth of the old ones, so the
column "now" is never too small. Rooms of the base are counted under the names of today's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BASE = "c8a61cb"
FEATURES: dict[str, tuple[str, ...]] = {
    "trained models: prove, radius, decompile, train": (
        "trained/*", "cli/prove.py", "cli/radius.py", "cli/decompile.py", "cli/train.py",
    ),
    "machines, and models that run on": (
        "frontends/machines/*", "cli/generate.py", "explore/tapes.py", "io/pictures/tapes.py",
        "models/machine_model.py", "models/zoo/machines.py", "runtime/generate.py",
        "runtime/hard_stepper.py", "proof/stock/determined.py",
    ),
    "the exam": ("circuits/exam/*", "cli/exam.py"),
    "theorems for Coq": ("export/coq/*", "cli/coq.py"),
    "the checker of simulations": (
        "proof/simulations/*", "ahat/simulation/evidence.py", "numerics/intervals.py",
    ),
    "regular languages without a formula": (
        "frontends/regular/counting.py", "frontends/regular/doubling.py",
        "frontends/regular/groups.py", "frontends/regular/least_depth.py",
        "frontends/regular/stored.py",
        "frontends/regular/pointers.py", "models/loop_model.py", "models/regular.py",
        "proof/loops.py", "proof/stock/automata.py", "cli/log_depth.py",
        "transformer/lowering/blocks.py", "export/stock/languages.py",
        "runtime/linear/lookups.py",
    ),
    "star-free levels": ("frontends/regular/levels.py",),
    "recall": (
        "proof/stock/heads/recall.py", "transformer/lowering/stock/heads/recall.py",
        "logic/recalls.py", "program/recalls.py",
    ),
    "operators with bounds": ("logic/windows.py",),
    "statements and figures for papers": (
        "models/statement.py", "logic/syntax/latex.py", "numbers/laws/latex.py", "proof/latex.py",
        "cli/state.py", "cli/figures.py",
    ),
    "RASP programs in stock decoders": ("export/stock/programs.py",),
    "RASP: functions of i and n, windows, pointers": (
        "frontends/rasp/cubes.py", "frontends/rasp/means.py",
        "frontends/rasp/position_functions.py", "frontends/rasp/pointing.py",
        "frontends/rasp/select_pairs.py", "frontends/rasp/distance_windows.py",
        "frontends/rasp/one_by_one.py",
    ),
    "classes of symbols in regular expressions": ("frontends/regular/classes.py",),
    "exports run by what they are for": ("export/gguf_verify.py", "export/native/verify.py"),
    "one model of a corpus, and its digests": (
        "circuits/corpus/extract.py", "circuits/corpus/digests.py", "circuits/lens.py",
    ),
    "the page without a server": ("explore/static.py",),
    "python -m softhat": ("__main__.py",),
    "words in pieces, both ways, and words that share what is the same": (
        "runtime/whole_word.py", "runtime/prefixes.py", "runtime/merged.py",
        "runtime/sequences.py", "runtime/spaces.py", "models/verification/blocks.py",
    ),
}  # fmt: skip
MOVED = {
    "lowering": "transformer", "laws": "numbers", "positions.py": "numbers",
    "predicates.py": "numbers", "rationals.py": "numbers", "arithmetic_sets.py": "numbers",
    "formats.py": "numerics", "files": "io", "work": "io", "pictures": "io", "errors.py": "io",
    "markup.py": "io", "verification": "models", "bench": "models", "zoo": "models",
    "model.py": "models", "value_model.py": "models", "compiler.py": "models",
    "folders.py": "models", "export/circuits": "circuits", "export/corpus": "circuits",
}  # fmt: skip
"""Where the rooms of the base are today."""


def base_files(commit: str) -> dict[str, int]:
    """The lines of each module of the base, by its path below the package."""
    listed = _git("ls-tree", "-r", "--name-only", commit, "src/softhat").splitlines()
    names = [name for name in listed if name.endswith(".py")]
    return {
        name.removeprefix("src/softhat/"): _git("show", f"{commit}:{name}").count("\n")
        for name in names
    }


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def files() -> dict[str, int]:
    """The lines of each module today."""
    package = ROOT / "src" / "softhat"
    return {
        path.relative_to(package).as_posix(): path.read_text("utf-8").count("\n")
        for path in sorted(package.rglob("*.py"))
    }


def room_of(name: str) -> str:
    first, *rest = name.split("/")
    inner = f"{first}/{rest[0]}" if rest else first
    return MOVED.get(inner) or MOVED.get(first) or (first if rest else "the package itself")


def feature_of(name: str) -> str | None:
    for feature, patterns in FEATURES.items():
        if any(fnmatch(name, pattern) for pattern in patterns):
            return feature
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", default=BASE)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    then, old, new = Counter[str](), Counter[str](), Counter[str]()
    for name, lines in base_files(given.base).items():
        then[room_of(name)] += lines
    for name, lines in files().items():
        feature = feature_of(name)
        if feature is None:
            old[room_of(name)] += lines
        else:
            new[feature] += lines
    print(f"{'room':<46}{given.base[:10]:>9}{'now':>9}{'change':>9}")
    for room in sorted(then | old):
        print(f"{room:<46}{then[room]:>9,}{old[room]:>9,}{old[room] - then[room]:>+9,}")
    a, b, c = then.total(), old.total(), new.total()
    print(f"{'what the base could do':<46}{a:>9,}{b:>9,}{b - a:>+9,}")
    for feature, lines in new.items():
        print(f"{feature:<46}{'':>9}{lines:>9,}")
    print(f"{'all of it':<46}{a:>9,}{b + c:>9,}{b + c - a:>+9,}")
    if given.json is not None:
        document = {"base": given.base, "then": then, "now": old, "features": new}
        given.json.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
