"""Unique-hard heads that are average-hard ones: those whose tied keys have one value.

What is known of attention in the reals and in floats is known of rows whose maximal keys share it.
Softmax shares it among them, whichever of them hard attention takes; where they agree (Theorem 43,
`softhat.proof.simulations.argmax`) that is no error.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.analysis.structure import structure
from softhat.ahat.model import AHAT
from softhat.proof.simulations.argmax import agreeing
from softhat.proof.simulations.own_score import OwnScore, own_score


@lru_cache(maxsize=64)
def averaging(model: AHAT) -> AHAT:
    """The same function by average-hard heads, where tied keys of unique-hard ones agree."""
    views = gap_laws(model).portrait.views
    names = [
        (l, h)
        for l, h in model.heads
        if model.layers[l].heads[h].ties != "average" and agreeing(views[l, h])
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


def returned_scores(model: AHAT) -> dict[tuple[int, int], OwnScore]:
    """The scores of heads that return them, where they carry no error (Theorem 44)."""
    facts, views = structure(model), gap_laws(model).portrait.views
    owns = {name: own_score(views[name]) for name in model.heads if facts[name].exact_scores}
    return {name: own for name, own in owns.items() if own is not None}
