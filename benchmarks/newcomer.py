"""How long the paths of newcomers take: python benchmarks/newcomer.py [--json FILE]

The paths are the blocks of three commands on the guide's first page, run one after the other in an
empty folder, each command a fresh process, beside `softhat --help` as the baseline of starting up.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "index.md"


def paths() -> dict[str, list[str]]:
    """Heading -> its commands."""
    found = {}
    for heading, text in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S):
        commands = re.findall(r"^\$ (.+)$", text, re.M)
        if commands:
            found[heading] = commands
    return found


def seconds(command: str, folder: str) -> float:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    start = time.perf_counter()
    subprocess.run(
        command,
        shell=True,
        cwd=folder,
        check=True,
        capture_output=True,
        env={**os.environ, "PATH": path},
    )
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    file = parser.parse_args().json
    rows = []
    for heading, commands in paths().items():
        with tempfile.TemporaryDirectory() as folder:
            start = seconds("softhat --help", folder)
            times = [seconds(command, folder) for command in commands]
        rows.append(
            {
                "path": heading,
                "seconds": [round(t, 2) for t in times],
                "together": round(sum(times), 1),
                "ratio to three starts": round(sum(times) / (3 * start), 1),
            }
        )
    print("| path | seconds | together | ratio to three starts |\n| --- | --- | --- | --- |")
    for row in rows:
        print("| " + " | ".join(str(value) for value in row.values()) + " |")
    if file:
        file.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
