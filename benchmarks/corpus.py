"""How fast a corpus is written. Goal: 1,000 models in under 2 minutes on two cores.

`python benchmarks/corpus.py [--quick]`. Exit code 1 if the goal is missed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from softhat.export.corpus.corpus import make_corpus
from softhat.export.corpus.work import Settings

SECONDS = 120.0
MODELS = 1000


def main() -> int:
    count = 200 if "--quick" in sys.argv else MODELS
    settings = Settings(
        count=count, seed=0, alphabet=("a", "b"), attention="unbounded", family="all",
        smallest=4, largest=20, shard=100,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        make_corpus(Path(folder) / "corpus", settings, jobs=2)
        seconds = time.monotonic() - start
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    goal = SECONDS * count / MODELS
    print(
        f"{count:,} models: {seconds:.1f} s (goal {goal:.0f} s), {size / count / 1024:.1f} KiB each"
    )
    return 0 if seconds < goal else 1


if __name__ == "__main__":
    sys.exit(main())
