"""Which commit a result is of."""

from __future__ import annotations

import subprocess
from pathlib import Path


def commit() -> str:
    """The last commit that changed the source, with a + if a file of it differs now."""
    here = Path(__file__).resolve().parent.parent

    def git(*words: str) -> str:
        run = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True)
        return run.stdout.strip()

    changed = git("status", "--porcelain", "--", "src")
    return git("log", "-1", "--format=%H", "--", "src") + ("+" if changed else "")
