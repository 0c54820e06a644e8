"""`make test-full`: every suite at full size, one file at a time, resumable.

Results are written to results/test-full.json after each file, each with the commit it belongs
to; files that passed for the same commit are not run again. `python -m tests.full PATH …` runs
only the files below these paths and keeps the other results.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "test-full.json"


def main(chosen: list[str]) -> int:
    commit = _git("rev-parse", "HEAD")
    commit += _uncommitted()
    results = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    for number, path in enumerate(files, start=1):
        name = str(path.relative_to(ROOT))
        known = results.get(name, {})
        if known.get("ok") and known.get("commit") == commit:
            continue
        if chosen and not any(path.is_relative_to(ROOT / part) for part in chosen):
            continue
        print(f"[{number}/{len(files)}] {name}", flush=True)
        results[name] = {"commit": commit, **_run(name)}
        _write(results)
    failed = [name for name, result in results.items() if not result["ok"]]
    passed = sum(result["passed"] for result in results.values())
    print(f"{passed} passed, {len(failed)} files failed", *failed, sep="\n  ")
    return 1 if failed else 0


def _run(name: str) -> dict[str, object]:
    start = time.monotonic()
    command = [
        sys.executable, "-m", "pytest", "-m", "full or not full", "-n", "2",
        "--hypothesis-profile", "full", name,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-2000:], sep="\n")
    passed = re.search(r"(\d+) passed", last)
    return {
        "ok": done.returncode == 0,
        "passed": int(passed.group(1)) if passed else 0,
        "summary": last,
        "seconds": round(time.monotonic() - start, 1),
    }


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
