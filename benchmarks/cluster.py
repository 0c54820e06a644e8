"""What the same verification costs in a process of softhat's own and in a Dask worker.

    python benchmarks/cluster.py [LENGTH]

All words over {a, b} to LENGTH (17), by one process of the pool and by one worker of a local Dask
cluster, in turns: processor seconds of the processes that work, less what their start and end take.
What is found is the same.
"""

from __future__ import annotations

import resource
import sys

from dask.distributed import LocalCluster

import softhat
from softhat.io.work import processes, workers

FORMULAS = ("F (a & O b)", "O (#(a) - #(b) >= 2 & F b)")
ROUNDS = 2


def ended() -> float:
    """Processor seconds of the processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def verified(formula: str, length: int, dask: bool) -> softhat.Verification:
    """All words to a length, by one process."""
    model = softhat.compile(formula, alphabet="ab")
    if not dask:
        with processes(1) as renew:
            return softhat.verify(
                model, exhaustive=length, random=0, adversarial=0, executor=renew()
            )
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        workers(1, cluster.scheduler_address) as renew,
    ):
        assert renew is not None
        return softhat.verify(model, exhaustive=length, random=0, adversarial=0, executor=renew())


def main() -> int:
    length = int(sys.argv[1]) if len(sys.argv) > 1 else 17
    print("| formula | pool, s | Dask, s | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for formula in FORMULAS:
        best = {False: float("inf"), True: float("inf")}
        results = {}
        for _ in range(ROUNDS):
            for dask in best:
                before = ended()
                verified("a", 1, dask)
                between = ended()
                results[dask] = verified(formula, length, dask)
                best[dask] = min(best[dask], ended() - between - (between - before))
        assert results[True].words == results[False].words
        assert results[True].margins == results[False].margins
        print(
            f"| {formula} | {best[False]:.2f} | {best[True]:.2f} | {best[True] / best[False]:.2f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
