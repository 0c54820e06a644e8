"""Linear-time softmax: speed, linearity, stepping, memory. `python benchmarks/linear.py`"""

from __future__ import annotations

import sys
from math import inf

from checks import column, report, run


def main() -> int:
    by_length, by_operators, streaming, memory = run("linear", "stream", "memory")
    longest = max(column(by_length, "tokens"))
    checks = []
    for row in by_length.rows:
        kind, _, n, _, rate, ratio, _ = row
        if n == longest:
            checks.append((f"{kind}: million tokens/s", float(rate or 0), 20, inf))
        if n is not None and n >= 10**6 and "--quick" not in sys.argv:
            checks.append((f"{kind}: time at {n:,} over a tenth of it", float(ratio or 0), 5, 11))
    rates = column(by_operators, "million tokens × operators/s")
    checks.append(("million tokens × operators/s, the least", min(rates), 20, inf))
    for kind, piece, rate, _ in streaming.rows:
        if piece == 1:
            checks.append((f"{kind}: single steps/s", float(rate or 0), 100_000, inf))
    for what, row in (("a stream", memory.rows[1]), ("a word read both ways", memory.rows[3])):
        checks.append((f"memory of {what}, 10 times longer", float(row[3] or 0), 0, 1.2))
    return report(checks)


if __name__ == "__main__":
    sys.exit(main())
