"""The error of softmax at one length and given β, from the gap laws and ranges alone.

The same inequality of one row that temperature laws are made of (Theorem 12), with numbers for
laws: total variation of a row ≤ (T-1)·e^(-β(γ-η)) + tanh(βη/4), errors passed on through absolute
weights. The bounds are the checker's; here they are made of what the analysis found.
"""

from __future__ import annotations

from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.analysis.peaks import crowd
from softhat.ahat.analysis.portrait import source_of
from softhat.ahat.analysis.structure import structure
from softhat.ahat.model import AHAT
from softhat.proof.simulations.lengths import LawBounds
from softhat.proof.simulations.walk import GapFact, Stage


def along_laws(model: AHAT) -> LawBounds:
    """Bounds at every length of one model."""
    laws, source, facts = gap_laws(model), source_of(model), structure(model)
    seen = laws.portrait
    stages = []
    for l, layer in enumerate(source.layers):
        names = [(l, h) for h in range(len(layer.heads))]
        proved = [
            None if (law := laws.gap[name]) is None
            else GapFact(law, crowd(seen.views[name]), seen.copies[name], seen.agreed[name])
            for name in names
        ]  # fmt: skip
        sights = [seen.views[name] for name in names]
        uniform = [facts[name].uniform for name in names]
        stages.append(Stage(layer, seen.states[l], sights, proved, uniform))
    return LawBounds(source, stages)
