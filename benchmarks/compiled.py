"""Machine code beside NumPy and a NumPy scan, in linear time. `python -m benchmarks.compiled`

The same model on the same word, in turns in one process: processor time of the best of a few runs,
by kind of head and length, and by number of nested operators. Needs numba. Every pair of answers is
compared, number for number; exit code 1 if one differs, or if the mean ratio is below `GOAL`.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from statistics import geometric_mean

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from softhat.models.bench.running import KINDS, nested
from softhat.models.bench.tables import best
from softhat.models.compiler import compile
from softhat.runtime.linear import compiled, interior

GOAL = 2.0
ROUNDS = 5
PARITY = "F (2*#(a) = #*(a))"


def main() -> int:
    sizes = (10**5, 10**6) if "--quick" in sys.argv else (10**5, 10**6, 10**7)
    jobs = [(kind, text, n) for kind, text in (*KINDS.items(), ("PARITY", PARITY)) for n in sizes]
    jobs += [(f"{k} operators", nested(k), sizes[-2]) for k in (1, 2, 4, 8, 16)]
    print("| head | tokens | NumPy, ns a token | compiled | ratio | a scan | the same |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    ratios, same = [], True
    for kind, text, n in jobs:
        tokens = np.random.default_rng(n).integers(0, 3, n)
        linear = compile(text, alphabet="abc").linear("float32")
        times: dict[bool, float] = {}
        answers = {}
        for _ in range(ROUNDS if n < 10**7 else 2):
            for fast in (False, True):
                interior.CHOICE.code, interior.CHOICE.left = compiled if fast else None, 0
                answers[fast] = linear.margins(tokens)
                seconds = best(partial(linear.margins, tokens), 1, budget=0.0)
                times[fast] = min(seconds, times.get(fast, seconds))
        scan = best(partial(np.cumsum, tokens))
        equal = bool(np.array_equal(answers[False], answers[True]))
        same &= equal
        ratios.append(times[False] / times[True])
        each = [seconds / n * 1e9 for seconds in (times[False], times[True], scan)]
        print(f"| {kind} | {n:,} | {each[0]:.2f} | {each[1]:.2f} | {ratios[-1]:.2f} | "
              f"{each[2]:.2f} | {'yes' if equal else 'NO'} |", flush=True)  # fmt: skip
    mean = geometric_mean(ratios)
    print(f"geometric mean of the ratios: {mean:.2f}, the least {min(ratios):.2f}")
    return int(mean < GOAL or not same)


if __name__ == "__main__":
    sys.exit(main())
