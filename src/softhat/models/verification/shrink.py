"""Shorter counterexamples: leave out what is not needed for the model to be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from softhat.models.verification.job import Findings, Job
from softhat.models.verification.words import Tokens

EFFORT = 3e9
"""Scores that may be computed in search of a shorter word."""
AT_ONCE = 1 << 22


def shrunk(job: Job, mismatch: dict[str, Any], shorter: bool) -> tuple[Tokens, dict[str, Any]]:
    """The word of a mismatch, if asked with blocks and then single symbols left out while the
    model stays wrong; and the mismatch on it."""
    dtype = np.bool_ if job.model.transformer.propositional else np.int64
    tokens: Tokens = np.array(mismatch["tokens"], dtype)
    effort = EFFORT
    block = len(tokens) // 2 if shorter else 0
    while block >= 1 and effort > 0:
        starts = np.arange(0, len(tokens) - block + 1, block)
        step = max(1, AT_ONCE // len(tokens) ** 2)
        for low in range(0, len(starts), step):
            some = starts[low : low + step]
            words = np.stack([_without(tokens, at, block) for at in some.tolist()])
            effort -= len(words) * len(tokens) ** 2 * max(1, job.model.size.heads)
            wrong = job.wrong(words) if words.shape[1] else np.zeros(1, bool)
            if wrong.any():
                tokens = words[int(wrong.argmax())]
                block = min(block, len(tokens) // 2) or (1 if len(tokens) > 1 else 0)
                break
            if effort <= 0:
                break
        else:
            block //= 2
    findings = Findings(len(job.model.transformer.outputs), 0)
    job.check(tokens[None], findings)
    return tokens, findings.mismatch or mismatch


def _without(tokens: Tokens, at: int, block: int) -> Tokens:
    return np.concatenate([tokens[:at], tokens[at + block :]])
