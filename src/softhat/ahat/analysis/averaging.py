"""Unique-hard heads that are average-hard ones: those whose tied keys have one value.

What is known of attention in the reals and in floats is known of rows whose maximal keys share it.
Softmax shares it among them, whichever of them hard attention takes; where they agree (Theorem 43,
`softhat.proof.simulations.argmax`) that is no error.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from softhat.ahat.analysis.portrait import portrait
from softhat.ahat.model import AHAT
from softhat.proof.simulations.argmax import agreeing


@lru_cache(maxsize=64)
def averaging(model: AHAT) -> AHAT:
    """The same function by average-hard heads, where tied keys of unique-hard ones agree."""
    seen = portrait(model)
    names = [
        (l, h)
        for l, h in model.heads
        if model.layers[l].heads[h].ties != "average" and agreeing(seen.views[l, h])
    ]
    if not names:
        return model
    return replace(
        model,
        layers=tuple(
            replace(
                layer,
                heads=tuple(
                    replace(head, ties="average") if (l, h) in names else head
                    for h, head in enumerate(layer.heads)
                ),
            )
            for l, layer in enumerate(model.layers)
        ),
    )
