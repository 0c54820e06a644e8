"""Start-up of the command line, against its goals. `python benchmarks/startup.py`"""

from __future__ import annotations

import sys

from checks import column, report, run


def main() -> int:
    (table,) = run("startup")
    names = [str(row[0]) for row in table.rows if row[3] is not None]
    ratios = column(table, "ratio to the goal")
    pairs = zip(names, ratios, strict=True)
    return report([(f"{name}: ratio to its goal", ratio, 0, 1) for name, ratio in pairs])


if __name__ == "__main__":
    sys.exit(main())
