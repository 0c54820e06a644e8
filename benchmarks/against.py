"""Is it slower than it was? The same jobs here and at an earlier commit, in turns.

`python benchmarks/against.py [COMMIT] [--json FILE]` (default 7a875f0, the last before the source
was laid out anew) checks the commit out into a temporary folder and runs each job in fresh
processes of both, alternately, several times in each; what counts is the ratio of the least
processor times. Fails where the geometric mean of the ratios is above 0.95 or one of them above
1.05: two runs of the same code differ by that much. On a busy machine even processor time depends
on who shares a core and its caches, but only upwards: so a job above its limit is measured again,
with as many rounds more, and the least times of all rounds count. A job that is slower stays so.
Prints a table and JSON, each row when it is measured, so that a run that is stopped has said what
it knows; `--repeated` and `--once` are its two halves. The numbers of a run are in
benchmarks/against.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 6
RUNS = 6
"""In each process, after a first one that does not count: some of them meet a collection of
garbage, or another process in the same core's caches."""
AGAIN = 4
"""How many times a job is measured that is above its limit."""
MEAN, WORST = 0.95, 1.05
FORMULA = " & ".join(f"(!c S (a & Y{' Y' * k} b))" for k in range(40))


def _command(*words: str) -> str:
    """A command in a process of its own."""
    code = "from softhat.cli import main; main()"
    return (
        f"subprocess.run([sys.executable, '-c', {code!r}, *{words!r}], stdout=subprocess.DEVNULL)"
    )


SMALL = (
    "a", "Y a", "O a", "a S b", "H (a -> O b)", "!c S (a & Y b)", "F (a & X b)", "first -> G !c",
    "#(a) >= 2", "#(a) = #(b)", "2*#(a) > i", "mod(3, 1) & a", "(a S b) S (b S a)",
)  # fmt: skip
_COUNTS = " ".join(
    f"(#({'abc'[k % 3]}) + {k % 7 + 1}*#({'bca'[k % 3]} & Y c) "
    f">= {k % 5 + 1}*#(c) + {k} {'&|'[k % 2]}"
    for k in range(100)
)


def to_a_length(name: str, length: int) -> str:
    """A model of the gallery, simulated to a length and certified."""
    return (
        "from softhat.ahat.gallery import GALLERY; "
        f"softhat.simulate(GALLERY[{name!r}](), max_length={length}).certificate"
    )


SORT_IN_FLOAT32 = (
    "from softhat.ahat.gallery import GALLERY; "
    "softhat.simulate(GALLERY['sort'](), dtype='float32').certificate"
)
ONCE = {
    "certificate, 100 comparisons": (
        f"softhat.compile({_COUNTS + ' a' + ')' * 100!r}, alphabet='abc').certificate"
    ),
    "most-frequent-symbol to 16": to_a_length("most-frequent-symbol", 16),
    "bounded-dyck-2 to 16": to_a_length("bounded-dyck-2", 16),
    "dyck-argmin to 32": to_a_length("dyck-argmin", 32),
    "induction-average to 32": to_a_length("induction-average", 32),
    "sort in float32": SORT_IN_FLOAT32,
}
"""Jobs of seconds, once in a process: nothing may be remembered from the run before."""
JOBS = {
    "compile, small": (
        f"[softhat.compile(f, alphabet='abc', attention=t) for f in {SMALL!r} "
        "for t in ('unbounded', 'temperature')]"
    ),
    "certificate, small": (
        f"[softhat.compile(f, alphabet='abc', attention=t).certificate for f in {SMALL!r} "
        "for t in ('unbounded', 'temperature')]"
    ),
    "compile": f"softhat.compile({FORMULA!r}, alphabet='abc')",
    "certificate": (
        "[softhat.compile(f, alphabet='abc').certificate for f in "
        "('!c S a', '#(a) >= #(b) & H (a -> O b)', 'F (2*#(a) = #*(a))') for _ in range(8)]"
    ),
    "verify": (
        "softhat.verify(softhat.compile('H (a -> O b) & !c S a', alphabet='abc'), exhaustive=8, "
        "random=100, adversarial=10, max_length=200)"
    ),
    "stream": ("softhat.compile('!c S a', alphabet='abc').stream().push('abc' * 1_000_000)"),
    "dense": "softhat.compile('!c S a', alphabet='abc').truth('abc' * 700, runtime='dense')",
    "start-up": _command("--help"),
    "command compile": _command("compile", "!c S a", "--alphabet", "abc"),
}
SCRIPT = """
import resource, subprocess, sys, softhat
def spent():
    return sum(r.ru_utime + r.ru_stime for r in map(resource.getrusage,
        (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
job = compile({job!r}, 'job', 'exec')
if {runs} > 1:
    exec(job)
best = float('inf')
for _ in range({runs}):
    before = spent()
    exec(job)
    best = min(best, spent() - before)
print(best)
"""


def seconds(source: Path, job: str, runs: int = RUNS) -> float:
    """Processor seconds of a job's best run in a fresh process."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source / "src"),
        "PYTHONDONTWRITEBYTECODE": "",  # users have bytecode: starting is not compiling Python
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(job=job, runs=runs)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def least(earlier: Path, name: str, job: str) -> tuple[float, float]:
    """The least processor seconds of a job at the earlier commit and here."""
    rounds, runs = (2, 1) if name in ONCE else (ROUNDS, RUNS)
    spent = {earlier: float("inf"), ROOT: float("inf")}
    for _ in range(AGAIN):
        for number in range(rounds):
            # Each is first in every second round: what the machine does next meets both.
            for source in sorted(spent, reverse=bool(number % 2)):
                spent[source] = min(spent[source], seconds(source, job, runs))
        if spent[ROOT] <= WORST * spent[earlier]:
            break
    return spent[earlier], spent[ROOT]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("commit", nargs="?", default="7a875f0")
    options.add_argument("--json", metavar="FILE", help="write the numbers to FILE")
    half = options.add_mutually_exclusive_group()
    half.add_argument("--once", action="store_true", help="only jobs that run once")
    half.add_argument("--repeated", action="store_true", help="only jobs that are repeated")
    chosen = options.parse_args()
    commit = chosen.commit
    jobs = ONCE if chosen.once else JOBS if chosen.repeated else JOBS | ONCE
    rows: list[dict[str, Any]] = []
    results: dict[str, Any] = {"against": commit, "jobs": rows}
    print(f"| job | before ({commit}), s | now, s | ratio |")
    print("| --- | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(earlier), commit], check=True)
        try:
            for name, job in jobs.items():
                before, now = least(earlier, name, job)
                ratio = now / before
                rows.append({"job": name, "before": before, "now": now, "ratio": ratio})
                results["mean"] = statistics.geometric_mean(row["ratio"] for row in rows)
                print(f"| {name} | {before:.3f} | {now:.3f} | {ratio:.2f} |", flush=True)
                if chosen.json:
                    Path(chosen.json).write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        finally:
            subprocess.run([*git, "remove", "--force", str(earlier)], check=True)
    print(f"| geometric mean | | | {results['mean']:.2f} |")
    print(json.dumps(results))
    return int(results["mean"] > MEAN or max(row["ratio"] for row in rows) > WORST)


if __name__ == "__main__":
    sys.exit(main())
