"""Is it slower than it was? The same jobs here and at an earlier commit, in turns.

`python benchmarks/against.py [COMMIT]` (default 7a875f0, the last before the source was laid out
anew) checks the commit out into a temporary folder and runs each job in fresh processes of both,
alternately; what counts is the ratio of the medians of processor time. Prints a table and JSON.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 3
WORST = 1.25
"""A ratio beyond this counts as slower; processor time varies by a tenth on a shared machine."""
FORMULA = " & ".join(f"(!c S (a & Y{' Y' * k} b))" for k in range(40))
JOBS = {
    "compile": f"softhat.compile({FORMULA!r}, alphabet='abc')",
    "certificate": (
        "[softhat.compile(f, alphabet='abc').certificate for f in "
        "('!c S a', '#(a) >= #(b) & H (a -> O b)', 'F (2*#(a) = #*(a))') for _ in range(8)]"
    ),
    "verify": (
        "softhat.verify(softhat.compile('H (a -> O b) & !c S a', alphabet='abc'), exhaustive=8, "
        "random=100, adversarial=10, max_length=200)"
    ),
    "stream": (
        "softhat.compile('!c S a', alphabet='abc').stream().push('abc' * 1_000_000)"
    ),
    "dense": "softhat.compile('!c S a', alphabet='abc').truth('abc' * 700, runtime='dense')",
    "start-up": (
        "subprocess.run([sys.executable, '-c', 'from softhat.cli import main; main()', '--help'],"
        " stdout=subprocess.DEVNULL)"
    ),
}  # fmt: skip
SCRIPT = """
import resource, subprocess, sys, softhat
def spent():
    return sum(r.ru_utime + r.ru_stime for r in map(resource.getrusage,
        (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
{job}
before = spent()
{job}
print(spent() - before)
"""


def seconds(source: Path, job: str) -> float:
    """Processor seconds of a job's second run in a fresh process."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source / "src"),
        "PYTHONDONTWRITEBYTECODE": "",  # users have bytecode: starting is not compiling Python
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(job=job)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def main() -> int:
    commit = sys.argv[1] if len(sys.argv) > 1 else "7a875f0"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        earlier = Path(folder) / "earlier"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(earlier), commit], check=True)
        try:
            for name, job in JOBS.items():
                pairs = [(seconds(earlier, job), seconds(ROOT, job)) for _ in range(ROUNDS)]
                before, now = (statistics.median(side) for side in zip(*pairs, strict=True))
                rows.append({"job": name, "before": before, "now": now, "ratio": now / before})
        finally:
            subprocess.run([*git, "remove", "--force", str(earlier)], check=True)
    print(f"| job | before ({commit}), s | now, s | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for row in rows:
        print(f"| {row['job']} | {row['before']:.3f} | {row['now']:.3f} | {row['ratio']:.2f} |")
    print(json.dumps(rows))
    return int(max(row["ratio"] for row in rows) > WORST)


if __name__ == "__main__":
    sys.exit(main())
