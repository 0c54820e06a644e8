"""Run as a script: what stock transformers answer on exported folders, without softhat.

Reads a manifest (JSON) of folders with words and expected truth values, and prints for each how
many positions differ and the least distance between the two logits.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

sys.modules["softhat"] = None  # type: ignore[assignment]
os.environ["HF_HUB_OFFLINE"] = "1"


def main(manifest: str) -> None:
    try:
        import softhat  # noqa: F401
    except ImportError:
        pass
    else:
        raise AssertionError("softhat can be imported: this proves nothing")
    import numpy as np
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.set_num_threads(1)
    results = []
    with open(manifest) as file:  # noqa: PTH123
        tasks = json.load(file)
    for task in tasks:
        model = AutoModelForTokenClassification.from_pretrained(
            task["folder"],
            dtype=getattr(torch, task.get("dtype", "float32")),
            attn_implementation=task.get("kernel", "sdpa"),
        ).eval()
        bos = model.config.bos_token_id
        wrong, margin, positions = 0, float("inf"), 0
        with np.load(task["words"]) as words, torch.no_grad():
            for key in [name for name in words.files if name.startswith("codes")]:
                codes, truth = words[key], words[key.replace("codes", "truth")]
                step = max(1, 2**18 // codes.shape[1] ** 2, 2**14 // codes.shape[1])
                for start in range(0, len(codes), step):
                    part = torch.from_numpy(codes[start : start + step]).long()
                    first = torch.full((len(part), 1), bos)
                    logits = model(torch.cat([first, part], dim=1)).logits[:, 1:].float()
                    distance = (logits[..., 1] - logits[..., 0]).numpy()
                    wrong += int(((distance > 0) != truth[start : start + step]).sum())
                    margin = min(margin, float(np.abs(distance).min()))
                    positions += distance.size
        result: dict[str, Any] = {"wrong": wrong, "margin": margin, "positions": positions}
        if "text" in task:
            tokenizer = AutoTokenizer.from_pretrained(task["folder"])
            result["ids"] = tokenizer(task["text"])["input_ids"]
            found = pipeline("token-classification", task["folder"])(task["text"])
            result["pipeline"] = [entity["entity"] for entity in found]
        results.append(result)
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
