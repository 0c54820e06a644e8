"""A local causal language model on a text: its attention scores, as they enter softmax.

Scores are taken from the model's own QK products (scaled, biased and masked as it does), not from
its weights: those are rounded, and underflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.io.errors import SofthatError, extra
from softhat.io.files.names import as_path
from softhat.io.files.reading import check_folder
from softhat.io.pretrained import silent_transformers

Floats = npt.NDArray[np.float64]
MASKED = -1e30  # scores below stand for "may not look"


@dataclass(frozen=True)
class TextRun:
    """One text: its tokens, and (heads, T, T) scores of each layer, -inf where masked."""

    model: str
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    scores: tuple[Floats, ...]


class OpenedCheckpoint:
    """A folder, opened once for many texts."""

    def __init__(self, folder: str | Path) -> None:
        folder = as_path(folder)
        with extra("transformers", "hf"):
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        if not (folder / "config.json").is_file():
            raise SofthatError(
                f"{str(folder)!r} has no config.json: give a Hugging Face checkpoint"
            )
        check_folder(folder)
        self.folder, self.torch = folder, torch
        try:
            # A checkpoint may bring code of its own, which would be run, or ask on standard input
            # whether it may: neither.
            closed: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
            with silent_transformers():
                self.tokenizer = AutoTokenizer.from_pretrained(folder, **closed)
                self.model = AutoModelForCausalLM.from_pretrained(
                    folder, attn_implementation="eager", use_safetensors=True, **closed
                ).eval()
        except Exception as error:  # a damaged checkpoint raises anything
            raise SofthatError(
                f"cannot load the checkpoint {str(folder)!r}: {_first_line(error)}"
            ) from None

    def run(self, text: str) -> TextRun:
        """The model on one text."""
        try:
            ids = self.tokenizer(text, return_tensors="pt")["input_ids"]
        except Exception as error:  # other libraries' tokenizers raise anything
            raise SofthatError(
                f"cannot read the text with {str(self.folder)!r}: {_first_line(error)}"
            ) from None
        length = int(ids.shape[1])
        if length < 2:
            raise SofthatError("the text gives fewer than two tokens: every row has one key")
        longest = getattr(self.model.config, "max_position_embeddings", None)
        if longest is not None and length > longest:
            raise SofthatError(f"the text has {length} tokens, the model takes {longest}")
        try:
            with self.torch.no_grad(), _watched(self.torch, length) as seen:
                self.model(ids)
        except Exception as error:  # so do weights of the wrong shape
            raise SofthatError(
                f"cannot run the checkpoint {str(self.folder)!r}: {_first_line(error)}"
            ) from None
        kind = str(self.model.config.model_type)
        if len(seen) != int(self.model.config.num_hidden_layers):
            raise SofthatError(f"{kind} shows no attention scores to look at")
        numbers = tuple(int(x) for x in ids[0])
        names = tuple(self.tokenizer.convert_ids_to_tokens(list(numbers)))
        return TextRun(kind, names, numbers, tuple(seen))


@contextmanager
def _watched(torch: Any, length: int) -> Iterator[list[Floats]]:
    """What enters softmax along the keys of a (1, heads, T, T) array, in order of the layers."""
    functional = torch.nn.functional
    original, seen = functional.softmax, list[Floats]()

    def softmax(x: Any, *rest: Any, **named: Any) -> Any:
        if x.ndim == 4 and x.shape[0] == 1 and tuple(x.shape[2:]) == (length, length):
            scores = x[0].detach().to(torch.float64).cpu().numpy()
            seen.append(np.where(scores > MASKED, scores, -np.inf))
        return original(x, *rest, **named)

    functional.softmax = softmax
    try:
        yield seen
    finally:
        functional.softmax = original


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else repr(error)
