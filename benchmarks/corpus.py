"""How fast a corpus is written: five disguised GPT-2s a second on two cores, with their circuits?

`python benchmarks/corpus.py [--models 1000] [--quick] [--more]` writes the same number of models
plain (`--to torch`), as GPT-2, and as disguised GPT-2 (with `--more` also RASP programs, Llamas and
disguised Llamas), and prints models a second, processor seconds a model and bytes a
model, as a table and as JSON. Processor seconds do not depend on what else the machine does: two
cores have two of them a second. Exit code 1 if the goal is missed.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from softhat.circuits.corpus.corpus import make_corpus
from softhat.circuits.corpus.shards import Settings

MODELS = 1000
DISGUISED = "gpt2, disguised"
PROCESSOR_SECONDS = 400.0
"""For 1,000 disguised models: five a second on two cores."""


def processor_seconds() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(entry.ru_utime + entry.ru_stime for entry in used)


def main() -> int:
    count = 100 if "--quick" in sys.argv else MODELS
    if "--models" in sys.argv:
        count = int(sys.argv[sys.argv.index("--models") + 1])
    plain = Settings(
        count=count, seed=0, alphabet=("a", "b"), attention="unbounded", family="mixed",
        smallest=4, largest=20, shard=50,
    )  # fmt: skip
    gpt2 = replace(plain, to="gpt2")
    rows: list[dict[str, Any]] = []
    corpora = {"torch": plain, "gpt2": gpt2, DISGUISED: replace(gpt2, disguise=7)}
    if "--more" in sys.argv:
        corpora |= {
            "torch, RASP": replace(plain, family="rasp", context=64),
            "llama": replace(gpt2, to="llama"),
            "llama, disguised": replace(gpt2, to="llama", disguise=7),
        }
    for name, settings in corpora.items():
        with tempfile.TemporaryDirectory() as folder:
            start, used = time.monotonic(), processor_seconds()
            make_corpus(Path(folder) / "corpus", settings, jobs=2)
            seconds, used = time.monotonic() - start, processor_seconds() - used
            size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        rows.append(
            {
                "corpus": name,
                "models": count,
                "seconds": round(seconds, 1),
                "models_per_second": round(count / seconds, 2),
                "processor_seconds": round(used, 1),
                "processor_seconds_per_model": round(used / count, 3),
                "KiB_per_model": round(size / count / 1024, 1),
            }
        )
        print(f"{name}: {count:,} models in {seconds:.1f} s", file=sys.stderr)
    goal = PROCESSOR_SECONDS * count / MODELS
    (used,) = (row["processor_seconds"] for row in rows if row["corpus"] == DISGUISED)
    met = used < goal
    print("| " + " | ".join(rows[0]) + " |")
    print("| " + " | ".join("---" for _ in rows[0]) + " |")
    for row in rows:
        print("| " + " | ".join(map(str, row.values())) + " |")
    print(json.dumps({"rows": rows, "goal_processor_seconds": goal, "met": met}))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
