"""Run as a script: a corpus of stock GPT-2 models, loaded as its card says, without softhat.

Prints, for every split, how many models and words there were and how many answers were wrong.
"""

from __future__ import annotations

import json
import os
import sys

sys.modules["softhat"] = None  # type: ignore[assignment]
os.environ["HF_HUB_OFFLINE"] = "1"


def main(folder: str, cache: str) -> None:
    try:
        import softhat  # noqa: F401
    except ImportError:
        pass
    else:
        raise AssertionError("softhat can be imported: this proves nothing")
    import torch
    from datasets import load_dataset
    from datasets.utils.logging import disable_progress_bar
    from safetensors import safe_open
    from transformers import GPT2Config, GPT2ForTokenClassification

    disable_progress_bar()
    torch.set_num_threads(1)
    found = {}
    for split, rows in load_dataset(folder, cache_dir=cache).items():
        wrong = words = 0
        for row in rows:
            with safe_open(f"{folder}/{row['weights']}", "pt") as file:
                prefix = f"{row['id']}/"
                names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118
                weights = {name.removeprefix(prefix): file.get_tensor(name) for name in names}
            config = GPT2Config(**json.loads(row["config"]))
            model = GPT2ForTokenClassification(config).eval()
            model.load_state_dict(weights)
            for answer, listed in ((True, row["accepted"]), (False, row["rejected"])):
                for word in listed:
                    tokens = [config.bos_token_id, *("ab".index(symbol) for symbol in word)]
                    with torch.no_grad():
                        logits = model(torch.tensor([tokens])).logits[0, -1]
                    words += 1
                    wrong += bool(logits[1] > logits[0]) != answer
        found[split] = {"models": len(rows), "words": words, "wrong": wrong}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
