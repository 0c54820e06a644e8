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
        kind, _, n, _, rate, ratio = row
        if n == longest:
            checks.append((f"{kind}: million tokens/s", float(rate or 0), 20, inf))
            if "--quick" not in sys.argv and "both ways" not in str(kind):  # that is no stream
                checks.append((f"{kind}: time at 10^7 over 10^6", float(ratio or 0), 8, 12))
    rates = column(by_operators, "million tokens × operators/s")
    checks.append(("million tokens × operators/s, the least", min(rates), 20, inf))
    for kind, piece, rate, _ in streaming.rows:
        if piece == 1:
            checks.append((f"{kind}: single steps/s", float(rate or 0), 100_000, inf))
    stream_ratio = memory.rows[1][3]
    checks.append(("memory of a stream, 10 times longer", float(stream_ratio or 0), 0, 1.2))
    return report(checks)


if __name__ == "__main__":
    sys.exit(main())
