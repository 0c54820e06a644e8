"""`make test-full`: every suite at full size, one file at a time, resumable.

Results are written to results/test-full.json after each file, each with the commit it belongs
to; files that passed for the same commit are not run again, and results of files that are gone
are dropped. A file that takes longer than an hour has failed. `python -m tests.full PATH …` runs
only the files below these paths and keeps the other results.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "test-full.json"
LONGEST = 3600.0
"""Seconds of one file."""


def main(chosen: list[str]) -> int:
    commit = _git("rev-parse", "HEAD")
    commit += _uncommitted()
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    names = {str(path.relative_to(ROOT)) for path in files}
    known = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    results = {name: result for name, result in known.items() if name in names}
    for number, path in enumerate(files, start=1):
        name = str(path.relative_to(ROOT))
        before = results.get(name, {})
        if before.get("ok") and before.get("commit") == commit:
            continue
        if chosen and not any(path.is_relative_to(ROOT / part) for part in chosen):
            continue
        print(f"[{number}/{len(files)}] {name}", flush=True)
        results[name] = {"commit": commit, **_run(name)}
        _write(results)
    failed = [name for name, result in results.items() if not result["ok"]]
    passed = sum(result["passed"] for result in results.values())
    spent = sum(result["seconds"] for result in results.values())
    print(
        f"{passed} passed in {len(results)} files and {spent / 60:.0f} minutes, "
        f"{len(failed)} files failed",
        *failed,
        sep="\n  ",
    )
    return 1 if failed else 0


def _run(name: str) -> dict[str, object]:
    start = time.monotonic()
    code, out = _output([*_COMMAND, name])
    last = out.strip().splitlines()[-1] if out.strip() else ""
    if code is None:
        last = f"stopped after {LONGEST:.0f} s"
    if code:
        print(out[-6000:])
    passed = re.search(r"(\d+) passed", last)
    return {
        "ok": code in (0, _NO_TESTS),
        "passed": int(passed.group(1)) if passed else 0,
        "summary": last,
        "seconds": round(time.monotonic() - start, 1),
    }


_COMMAND = [
    sys.executable, "-m", "pytest", "-m", "full or not full", "-n", "2",
    "--hypothesis-profile", "full",
]  # fmt: skip
_NO_TESTS = 5
"""pytest's code where all of a file is left out, as without an optional package."""


def _output(command: list[str]) -> tuple[int | None, str]:
    """Exit code and what was printed; None where it took too long, and nothing of it goes on."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, _ = process.communicate(timeout=LONGEST)
        return process.returncode, out
    except subprocess.TimeoutExpired:
        return None, ""
    finally:  # the two processes of the tests too, also where this one is interrupted
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def _write(results: dict[str, object]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    fresh = RESULTS.with_suffix(".tmp")
    fresh.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    fresh.replace(RESULTS)


def _uncommitted() -> str:
    """What the tree has beside the commit: whoever changes it again changes this."""
    places = ("src", "tests", "examples", "docs", "pyproject.toml", "README.md")
    changed = _git("diff", "HEAD", "--binary", "--", *places)
    new = _git("ls-files", "--others", "--exclude-standard", "--", *places).splitlines()
    if not changed and not new:
        return ""
    digest = hashlib.sha256(changed.encode("utf-8", "surrogateescape"))
    for name in sorted(new):
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return f" with uncommitted changes {digest.hexdigest()[:16]}"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
