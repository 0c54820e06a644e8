"""`softhat.lens`: models in the tools of interpretability, also those of a corpus.

TransformerLens and nnsight open a model folder, a stock export, or one model of a corpus by its
number. How that is done stands in `softhat.export.lens`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softhat.circuits.corpus.extract import extracted
from softhat.export import lens as _lens
from softhat.export.lens import to_transformer_lens

__all__ = ["load", "load_nnsight", "to_transformer_lens"]


def load(
    folder: str | Path, context: int = 1024, dtype: Any = "float32", id: int | None = None
) -> Any:
    """A `TransformerBridge` of a model folder, of a stock GPT-2 or Llama export, or of model `id`
    of a corpus.

    Its logits (batch, positions, …) are those of the export: of `false` and `true`, of each
    output, or of each next token. Those of a model folder are its margins, as in
    `to_transformer_lens`, to which `context` belongs. `bridge.labels` is what `labels.json` says.
    """
    if id is None:
        return _lens.load(folder, context, dtype)
    with extracted(folder, id) as place:
        return _lens.load(place, context, dtype)


def load_nnsight(folder: str | Path, dtype: Any = "float32", id: int | None = None) -> Any:
    """The same for nnsight: `with model.trace(tokens): …`."""
    if id is None:
        return _lens.load_nnsight(folder, dtype)
    with extracted(folder, id) as place:
        return _lens.load_nnsight(place, dtype)
