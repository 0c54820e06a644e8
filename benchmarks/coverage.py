"""What `make test` covers, and whether it still covers what it covered at another commit.

    python benchmarks/coverage.py run CLONE FOLDER
    python benchmarks/coverage.py compare CLONE_BEFORE FOLDER_BEFORE CLONE FOLDER [--json FILE]

`run` runs the tests of a clone as `make test` selects them, a directory at a time and two at once,
under SlipCover (`pip install slipcover`), which counts lines and branches at little cost. What runs
in other processes is not counted. A directory that is done is not run again.

`compare` takes the lines of the later clone that `git blame` finds in the earlier one, unchanged:
of those that were covered then it counts the ones that are covered now; and branches between two
such lines likewise.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

Branch = tuple[int, int]
Place = tuple[str, int]


@dataclass(slots=True)
class Covered:
    """Of one file: lines and branches that were run, and all that there are."""

    lines: set[int] = field(default_factory=set)
    all_lines: set[int] = field(default_factory=set)
    branches: set[Branch] = field(default_factory=set)
    all_branches: set[Branch] = field(default_factory=set)


def run(clone: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tests = clone / "tests"
    shards = {
        path.name: [str(path)] for path in sorted(tests.iterdir()) if any(path.rglob("test_*.py"))
    }
    shards["top"] = sorted(map(str, tests.glob("test_*.py")))
    source = clone / "src" / "softhat"
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([str(clone / "src"), *sys.path[1:]])}
    there |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

    def shard(name: str) -> None:
        target = folder / f"{name}.json"
        if target.exists():
            return
        cover = ["slipcover", "--branch", "--json", "--out", str(target), "--source", str(source)]
        ignored = "ignore::pytest.PytestAssertRewriteWarning"
        command = [sys.executable, "-m", *cover, "-m", "pytest", "-W", ignored, *shards[name]]
        done = subprocess.run(command, cwd=clone, env=there, capture_output=True, text=True)
        print(f"{name}: {done.stdout.strip().splitlines()[-1:] or done.stderr[-200:]}", flush=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(shard, shards))


def read(clone: Path, folder: Path) -> dict[str, Covered]:
    files: dict[str, Covered] = {}
    for path in folder.glob("*.json"):
        for name, counted in json.loads(path.read_text())["files"].items():
            covered = files.setdefault(os.path.relpath(clone / name, clone), Covered())
            covered.lines |= set(counted["executed_lines"])
            covered.all_lines |= {*counted["executed_lines"], *counted["missing_lines"]}
            branches = [(a, b) for a, b in counted["executed_branches"]]
            missing = [(a, b) for a, b in counted["missing_branches"]]
            covered.branches |= set(branches)
            covered.all_branches |= {*branches, *missing}
    return files


def unchanged(clone: Path, base: str, name: str) -> dict[int, Place]:
    """For lines of a file that stood at `base` already: in which file, and where."""
    command = ["git", "blame", "-p", "-M", f"{base}..HEAD", "--", name]
    text = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True).stdout
    places: dict[int, Place] = {}
    boundary, file_of = set[str](), dict[str, str]()
    commit, before, now = "", 0, 0
    for line in text.splitlines():
        header = re.match(r"([0-9a-f]{40}) (\d+) (\d+)", line)
        if header:
            commit, before, now = header[1], int(header[2]), int(header[3])
        elif line.startswith("boundary"):
            boundary.add(commit)
        elif line.startswith("filename "):
            file_of[commit] = line.removeprefix("filename ")
        elif line.startswith("\t") and commit in boundary:
            places[now] = (file_of[commit], before)
    return places


def share(covered: Iterable[bool]) -> dict[str, float]:
    answers = list(covered)
    return {"of": len(answers), "covered": sum(answers), "share": sum(answers) / len(answers)}


def compare(
    before: Path, old: dict[str, Covered], clone: Path, now: dict[str, Covered]
) -> dict[str, object]:
    heads = [
        subprocess.run(["git", "rev-parse", "HEAD"], cwd=path, capture_output=True, text=True)
        for path in (before, clone)
    ]
    base, commit = (head.stdout.strip() for head in heads)
    lines: list[bool] = []
    branches: list[bool] = []
    for name, file in now.items():
        places = unchanged(clone, base, name)
        for line in file.all_lines & places.keys():
            then, at = places[line]
            if then in old and at in old[then].lines:
                lines.append(line in file.lines)
        for a, b in file.all_branches:
            if a in places and b in places:
                (then, start), (other, end) = places[a], places[b]
                if then == other and then in old and (start, end) in old[then].branches:
                    branches.append((a, b) in file.branches)
    table: dict[str, object] = {"before": base, "now": commit}
    for when, files in (("before", old.values()), ("now", now.values())):
        table[f"lines, {when}"] = share(x in f.lines for f in files for x in f.all_lines)
        table[f"branches, {when}"] = share(x in f.branches for f in files for x in f.all_branches)
    table["lines covered before that still stand"] = share(lines)
    table["branches covered before that still stand"] = share(branches)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["run", "compare"])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    folders = [folder.resolve() for folder in args.folders]
    if args.what == "run":
        clone, folder = folders
        run(clone, folder)
        return 0
    before, old, clone, now = folders
    table = compare(before, read(before, old), clone, read(clone, now))
    for name, value in table.items():
        print(f"{name}: {value}")
    if args.json:
        args.json.write_text(json.dumps(table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
