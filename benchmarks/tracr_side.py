"""Tracr's side of benchmarks/rasp.py, run by a Python that has Tracr installed.

`python benchmarks/tracr_side.py PROGRAM LENGTH` prints seconds of compiling (after a small model
has been compiled once) and the number of parameters.
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    import jax
    from tracr.compiler import compiling, lib
    from tracr.rasp import rasp

    name, length = sys.argv[1], int(sys.argv[2])
    programs = {
        "bigram": (lambda: lib.detect_pattern(rasp.tokens, "ab"), {"a", "b"}),
        "hist": (lib.make_hist, set("abcd")),
        "dyck-1": (lambda: lib.make_shuffle_dyck(["()"]), set("()")),
        "frac_prevs": (lambda: lib.make_frac_prevs(rasp.tokens == "a"), set("abcd")),
        "reverse": (lambda: lib.make_reverse(rasp.tokens), set("abcd")),
        "length": (lib.make_length, set("abcd")),
        "count": (lambda: lib.make_count(rasp.tokens, "a"), set("abcd")),
        "sort": (
            lambda: lib.make_sort(rasp.tokens, rasp.tokens, max_seq_len=length, min_key=1),
            {1, 2, 3, 4},
        ),
    }
    make, vocabulary = programs[name]
    warm = lib.detect_pattern(rasp.tokens, "ab")
    compiling.compile_rasp_to_model(warm, vocab={"a", "b"}, max_seq_len=2, compiler_bos="BOS")
    start = time.process_time()
    model = compiling.compile_rasp_to_model(
        make(), vocab=vocabulary, max_seq_len=length, compiler_bos="BOS"
    )
    seconds = time.process_time() - start
    parameters = sum(leaf.size for leaf in jax.tree_util.tree_leaves(model.params))
    print(json.dumps({"seconds": seconds, "parameters": int(parameters)}))


if __name__ == "__main__":
    main()
