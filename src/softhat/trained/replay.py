"""Words run in `transformers` itself, by the stock class, from the checkpoint's own folder."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import MissingExtraError
from softhat.io.files.reading import check_folder
from softhat.trained.checkpoint import Checkpoint


class Replay:
    """A loaded stock model."""

    def __init__(self, model: Checkpoint, dtype: str = "float32", attention: str = "sdpa") -> None:
        try:
            import torch
            import transformers
        except ImportError:
            raise MissingExtraError("transformers", "hf") from None
        check_folder(model.folder)
        self.torch = torch
        self.name = f"transformers {transformers.__version__} {model.head} ({attention})"
        level = transformers.logging.get_verbosity()
        transformers.logging.set_verbosity_error()
        bars = transformers.utils.logging.is_progress_bar_enabled()
        transformers.utils.logging.disable_progress_bar()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                loaded: Any = getattr(transformers, model.head).from_pretrained(
                    str(model.folder), attn_implementation=attention, use_safetensors=True,
                    local_files_only=True, dtype=getattr(torch, dtype),
                )  # fmt: skip
        finally:
            transformers.logging.set_verbosity(level)
            if bars:
                transformers.utils.logging.enable_progress_bar()
        self.model = loaded.eval()

    def logits(self, ids: Sequence[Sequence[int]], offset: int = 0) -> NDArray[np.float64]:
        """(words, positions, outputs) of words of one length."""
        torch = self.torch
        given = torch.tensor([list(row) for row in ids], dtype=torch.long)
        places = torch.arange(offset, offset + given.shape[1])[None].expand(given.shape[0], -1)
        with torch.no_grad():
            out = self.model(input_ids=given, position_ids=places, use_cache=False).logits
        return np.asarray(out.to(torch.float64).numpy())


def replay_of(model: Checkpoint, dtype: str) -> Replay | None:
    """The stock class, or None where `transformers` is not installed."""
    try:
        return Replay(model, dtype)
    except MissingExtraError:
        return None
