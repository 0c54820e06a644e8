"""Dense softmax: growth, and PyTorch's attention of the same shape. `python benchmarks/dense.py`"""

from __future__ import annotations

import sys

from checks import column, report, run


def main() -> int:
    by_length, *torch = run("dense")
    checks = [
        (f"{row[0]}: time at {row[1]:,} over a tenth", float(row[4]), 0, 120)
        for row in by_length.rows
        if isinstance(row[4], float)
    ]
    for table in torch:
        formulas = [str(row[0]) for row in table.rows]
        for formula, ratio in zip(formulas, column(table, "ratio"), strict=True):
            checks.append((f"{formula}: ratio to PyTorch", ratio, 0, 3))
    return report(checks)


if __name__ == "__main__":
    sys.exit(main())
