"""Stock classifiers in transformers: loaded, run, and what their folders state."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
os.environ["HF_HUB_OFFLINE"] = "1"


def stock(folder: Path, dtype: str = "float32", kernel: str = "sdpa") -> Any:
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    return transformers.AutoModelForTokenClassification.from_pretrained(
        folder, dtype=getattr(torch, dtype), attn_implementation=kernel
    ).eval()


def answers(model: Any, codes: Any) -> Any:
    """(words, n) truth values of a classifier of one output."""
    first = np.full((len(codes), 1), model.config.bos_token_id)
    with torch.no_grad():
        logits = model(torch.from_numpy(np.concatenate([first, codes], axis=1))).logits
    logits = logits[:, 1:].float().numpy()
    return logits[..., 1] > logits[..., 0]


def stated(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "certificate.json").read_text())
    return found
