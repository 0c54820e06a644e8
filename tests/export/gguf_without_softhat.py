"""Run as a script: what llama.cpp answers on GGUF files, without softhat.

Reads a manifest (JSON) of files with words and expected truth values, and prints for each how many
positions differ and the least distance between the logits of `<true>` and `<false>`, the last two
tokens. `cache` is `f32` (keys and values in float32, no flash attention) or `default`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

sys.modules["softhat"] = None  # type: ignore[assignment]


def main(manifest: str) -> None:
    import numpy as np
    from cyllama.llama import llama_cpp

    with open(manifest) as file:  # noqa: PTH123
        tasks = json.load(file)
    results = []
    for task in tasks:

        class Model(llama_cpp.LlamaModel):
            n_vocab = task["vocabulary"]  # which this binding's get_logits_ith asks for

        params = llama_cpp.LlamaModelParams()
        params.n_gpu_layers = 0
        model = Model(path_model=task["file"], params=params, verbose=False)
        chosen = llama_cpp.LlamaContextParams()
        chosen.n_ctx = chosen.n_batch = task["context"]
        chosen.n_threads = chosen.n_threads_batch = 1
        if task["cache"] == "f32":
            chosen.type_k = chosen.type_v = 0
            chosen.flash_attn_type = 0
        context = llama_cpp.LlamaContext(model, chosen, verbose=False)
        bos = model.get_vocab().token_bos()

        def logits(ids: list[int], context: Any = context) -> Any:
            context.kv_cache_clear()
            batch = llama_cpp.LlamaBatch(n_tokens=len(ids), embd=0, n_seq_max=1)
            for place, token in enumerate(ids):
                batch.add(int(token), place, [0], True)
            context.decode(batch)
            return np.array([context.get_logits_ith(place) for place in range(len(ids))])

        wrong, margin, positions = 0, float("inf"), 0
        with np.load(task["words"]) as words:
            for key in [name for name in words.files if name.startswith("codes")]:
                truth = words[key.replace("codes", "truth")]
                for word, holds in zip(words[key], truth, strict=True):
                    found = logits([bos, *word.tolist()])[1:]
                    distance = found[:, -1] - found[:, -2]
                    wrong += int(((distance > 0) != holds).sum())
                    # No other token is as likely as the answer.
                    wrong += int((found[:, :-2].max(axis=1) >= found[:, -2:].max(axis=1)).sum())
                    margin = min(margin, float(np.abs(distance).min()))
                    positions += distance.size
        ids = model.get_vocab().tokenize(task.get("text", ""), True, False)
        results.append({"wrong": wrong, "margin": margin, "positions": positions, "ids": ids})
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
