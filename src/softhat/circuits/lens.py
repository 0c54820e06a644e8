"""`softhat.lens`: models in the tools of interpretability, also those of a corpus or an exam.

TransformerLens and nnsight open a model folder, a stock export, one model of a corpus by its
number, or a question of an exam's paper by its name. How: `softhat.export.lens`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from softhat.circuits.corpus.extract import extracted
from softhat.circuits.exam.making import is_paper
from softhat.circuits.exam.subject import read_subject
from softhat.export import lens as _lens
from softhat.export.lens import to_transformer_lens
from softhat.io.files import as_path

__all__ = ["load", "load_nnsight", "to_transformer_lens"]


def load(
    folder: str | Path,
    id: int | str | None = None,
    context: int = 1024,
    dtype: Any = "float32",
) -> Any:
    """A `TransformerBridge` of a model folder, of a stock GPT-2 or Llama export, of model `id` of
    a corpus, or of question `id` of an exam's paper.

    Its logits (batch, positions, …) are those of the export: of `false` and `true`, of each
    output, or of each next token. Those of a model folder are its margins, as in
    `to_transformer_lens`, to which `context` belongs. `bridge.labels` is what `labels.json` says.
    """
    with _place(folder, id) as place:
        return _lens.load(place, context, dtype)


def load_nnsight(folder: str | Path, id: int | str | None = None, dtype: Any = "float32") -> Any:
    """The same for nnsight: `with model.trace(tokens): …`."""
    with _place(folder, id) as place:
        return _lens.load_nnsight(place, dtype)


@contextmanager
def _place(folder: str | Path, id: int | str | None) -> Iterator[Path]:
    """The folder of a model, for a while."""
    if id is None:
        yield as_path(folder)
    elif isinstance(id, str) or is_paper(folder):
        yield read_subject(as_path(folder), str(id)).folder
    else:
        with extracted(folder, id) as place:
            yield place
