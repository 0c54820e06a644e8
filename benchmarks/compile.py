"""Compile time and model size by formula. `python benchmarks/compile.py`"""

from __future__ import annotations

import sys

from checks import column, report, run


def main() -> int:
    times, _ = run("compile")
    growth = column(times, "time a node, ratio")
    return report([("time a node of the largest formula over the smallest", growth[-1], 0, 20)])


if __name__ == "__main__":
    sys.exit(main())
