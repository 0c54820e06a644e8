"""Words run in `transformers` itself, by the stock class, from the checkpoint's own folder."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import MissingExtraError
from softhat.io.files.reading import check_folder
from softhat.io.pretrained import import_transformers, pretrained
from softhat.trained.checkpoint import Checkpoint
from softhat.trained.concrete import bounded_logits
from softhat.trained.decisions import Decisions
from softhat.trained.rounding import Rounding
from softhat.trained.searching import Found
from softhat.trained.specification import Specification
from softhat.trained.verdict import Failure


class Replay:
    """A loaded stock model."""

    def __init__(self, model: Checkpoint, dtype: str = "float32", attention: str = "sdpa") -> None:
        transformers = import_transformers()
        import torch

        check_folder(model.folder)
        self.torch = torch
        self.name = f"transformers {transformers.__version__} {model.head} ({attention})"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind, number = getattr(transformers, model.head), getattr(torch, dtype)
            self.model = pretrained(kind, model.folder, number, attn_implementation=attention)

    def logits(self, ids: Sequence[Sequence[int]], offset: int = 0) -> NDArray[np.float64]:
        """(words, positions, outputs) of words of one length."""
        torch = self.torch
        batch = torch.tensor([list(row) for row in ids], dtype=torch.long)
        places = torch.arange(offset, offset + batch.shape[1])[None].expand(batch.shape[0], -1)
        with torch.no_grad():
            out = self.model(input_ids=batch, position_ids=places, use_cache=False).logits
        return np.asarray(out.to(torch.float64).numpy())


@dataclass
class Replays:
    """Failures as the stock class computes them: what counts in the end."""

    model: Checkpoint
    spec: Specification
    dtype: str
    domain: str
    rounding: Rounding

    def __post_init__(self) -> None:
        self.decisions = Decisions(self.spec, self.model.outputs)

    @cached_property
    def _replay(self) -> Replay | None:
        try:
            return Replay(self.model, self.dtype)
        except MissingExtraError:
            return None

    def failure(self, candidate: Found, offset: int) -> Failure | None:
        """The failure, if it is one there. Without `transformers` it must be one in every
        kernel: beyond the bounds of rounding."""
        spec, decisions = self.spec, self.decisions
        ids = [spec.bos, *(spec.ids[k] for k in candidate.word)]
        if self._replay is not None:
            logits = self._replay.logits([ids], offset)[0, -1]
            margin, token = decisions.worst(logits, candidate.state)
            name: str | None = self._replay.name
        else:
            with np.errstate(all="ignore"):
                bounds = bounded_logits(self.model, np.array([ids]), offset, self.rounding)
            logits = bounds.centre[0, -1]
            margin, token = decisions.worst(logits, candidate.state)
            margin += 2 * float(bounds.error[0, -1].max())
            name = None
        if not decisions.wrong(margin, token, candidate.state):
            return None
        way = spec.completion(candidate.state) if self.domain == "completable" else []
        return Failure(
            spec.shown([*candidate.word, *way]), len(candidate.word), spec.name_of(token), token,
            float(logits[token]), float(margin), offset, tuple(ids), name,
        )  # fmt: skip
