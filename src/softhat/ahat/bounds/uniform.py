"""Rounding of a model whose heads are all structurally uniform, for words of any length.

Such a model has no error in the reals. In floats its error follows from the sizes of its
activations alone: an average is never larger than what it averages, so one bound a coordinate,
over all positions and symbols, carries through the layers.
"""

from __future__ import annotations

import numpy as np

from softhat.ahat.bounds.rounding import (
    Arithmetic,
    embedding_noise,
    forward_noise,
    head_noise,
    readout_noise,
)
from softhat.ahat.exact import Scaled, embedding_table, floats
from softhat.ahat.model import AHAT


def uniform_error(model: AHAT, n: int, kind: Arithmetic) -> float:
    """Bound on |float value - exact value| over all words of length n."""
    d = model.d_model
    table = embedding_table(model, n)
    x = Scaled(table.num.reshape(-1, d), table.den)
    size = np.abs(x.floats()).max(axis=0)  # of the exact activations
    error = embedding_noise(kind, x, model, n).max(axis=0)
    clean = error == 0
    length = n + model.sinks
    for layer in model.layers:
        before, before_error = size, error
        together = sum(len(head.value) for head in layer.heads)
        for head in layer.heads:
            wv = np.abs(floats(head.value, d))
            wo = np.abs(floats(head.output))
            seen = (before + before_error)[None]
            noise = head_noise(kind, head, x, seen, clean, True, length, together)
            size = size + wo @ (wv @ before)
            error = error + wo @ (wv @ before_error) + noise
        touched = np.zeros(d, dtype=bool)
        for head in layer.heads:
            touched |= floats(head.output).any(axis=1)
        clean = clean & ~touched
        if layer.feed_forward is not None:
            ff = layer.feed_forward
            wi = np.abs(floats(ff.in_weights, d))
            wo = np.abs(floats(ff.out_weights))
            bi = np.abs(floats((ff.in_bias,))[0])
            bo = np.abs(floats((ff.out_bias,))[0])
            noise = forward_noise(kind, ff, (size + error)[None], x, clean)
            error = error + wo @ (wi @ error) + noise
            size = size + wo @ (wi @ size + bi) + bo
            clean = clean & ~(wo.any(axis=1) | (bo > 0))
    noise_out = readout_noise(
        kind, model.output_weights, float(model.output_bias), (size + error)[None]
    )
    weights = np.abs(floats((model.output_weights,))[0])
    return float(weights @ error + noise_out)
