"""Start-up of the command line, against its goals and beside an earlier commit.

    python benchmarks/startup.py [COMMIT]

Commands in fresh processes, in processor seconds (the least of a few runs), and how many modules of
softhat each imports. With COMMIT every run here is followed by one there, and the ratio is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import report

from softhat.models.bench.checking import GOALS

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 7
TIMED = """
import json, sys, time
from softhat.cli import main
try:
    main()
except SystemExit as end:
    code = end.code
used = time.process_time()
own = [name for name in sys.modules if name.startswith("softhat.")]
print(json.dumps([code, used, len(own)]), file=sys.stderr)
"""


def measured(source: Path, arguments: list[str], folder: str) -> tuple[float, int]:
    """Processor seconds of one command of a source tree, and its modules."""
    done = subprocess.run(
        [sys.executable, "-c", TIMED, *arguments],
        cwd=folder, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(source / "src"), "OPENBLAS_NUM_THREADS": "1",
             "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""},
    )  # fmt: skip
    code, seconds, modules = json.loads(done.stderr.splitlines()[-1])
    if code:
        raise SystemExit(f"softhat {' '.join(arguments)}: exit code {code}: {done.stderr}")
    return seconds, modules


def best(sources: list[Path], name: str, arguments: list[str], folder: str) -> list[list[float]]:
    """For each source tree the least processor time and the modules, taken in turn."""
    runs: list[list[tuple[float, int]]] = [[] for _ in sources]
    for turn in range(ROUNDS + 1):
        for source, done in zip(sources, runs, strict=True):
            given = [*arguments, "-o", f"model-{turn}"] if name == "compile" else arguments
            run = measured(source, given, folder)
            if turn:  # the first one writes bytecode
                done.append(run)
        subprocess.run(["rm", "-rf", f"{folder}/model-{turn}"], check=True)
    return [[min(seconds for seconds, _ in done), done[0][1]] for done in runs]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("commit", nargs="?")
    chosen = options.parse_args()
    git = ["git", "-C", str(ROOT), "worktree"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier"
        sources = [ROOT, *([earlier] if chosen.commit else [])]
        if chosen.commit:
            add = [*git, "add", "--quiet", "--detach", str(earlier), chosen.commit]
            subprocess.run(add, check=True)
        try:
            written = ["compile", "!c S a", "--alphabet", "abc"]
            measured(ROOT, [*written, "-o", "model"], folder)
            commands = {
                "--help": ["--help"],
                "compile": written,
                "certify": ["certify", "model"],
                "check": ["check", "!c S a", "--alphabet", "abc"],
                "run": ["run", "model", "abca"],
            }
            for name, arguments in commands.items():
                rows.append((name, best(sources, name, arguments, folder)))
        finally:
            if chosen.commit:
                subprocess.run([*git, "remove", "--force", str(earlier)], check=True)
    print("| command | seconds | modules | before | modules | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, [(now, modules), *before] in rows:
        shown = f"| softhat {name} | {now:.3f} | {modules} |"
        for then, loaded in before:
            shown += f" {then:.3f} | {loaded} | {now / then:.2f} |"
        print(shown if before else f"{shown} | | |")
    return report(
        [
            (f"softhat {name}: ratio to its goal", result[0][0] / GOALS[f"softhat {name}"], 0, 1)
            for name, result in rows
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
