"""One model of a corpus as a folder of its own, which every tool opens.

Shards hold tensors only. A folder has more: tokenizer, labels, certificate. All of it follows from
the settings of the corpus and the formula, so it is made again, and the weights that come out must
be those in the shard.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from softhat.circuits.corpus.corpus import load_model, read_settings, stored_tensors
from softhat.circuits.corpus.targets import exported
from softhat.io.errors import SofthatError
from softhat.io.files import read_tensors, write_folder


def extract(corpus: str | Path, number: int, folder: str | Path) -> None:
    """Write model `number` of a corpus as a model folder, or as a GPT-2 or Llama checkpoint."""
    with extracted(corpus, number) as place:
        files = {path.name: path.read_bytes() for path in place.iterdir()}
    write_folder(folder, files)


@contextmanager
def extracted(corpus: str | Path, number: int) -> Iterator[Path]:
    """The folder of model `number`, in a place that is deleted afterwards."""
    settings = read_settings(corpus)
    model = load_model(corpus, number)
    if settings.to == "torch":
        with tempfile.TemporaryDirectory() as scratch:
            model.save(Path(scratch) / "m")
            yield Path(scratch) / "m"
        return
    disguise = None if settings.disguise is None else settings.disguise + number
    with exported(model, settings.to, settings.context, disguise) as place:
        again, stored = read_tensors(place / "model.safetensors"), stored_tensors(corpus, number)
        same = again.keys() == stored.keys() and all(
            np.array_equal(again[name], stored[name]) for name in again
        )
        if not same:
            raise SofthatError(
                f"model {number} of {corpus} has other weights than this softhat makes of its "
                "formula: extract it with the softhat that wrote the corpus"
            )
        yield place
