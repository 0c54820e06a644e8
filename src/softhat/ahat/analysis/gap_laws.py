"""Gap laws: a proved lower bound of every head's gap, at every length, from the weights alone.

Theorem 13. In an AHAT without position tables, a row of a head that is not uniform has a gap of at
least γ(n) = 1/(C·n^k·lcm(1..n)^e), where C, k and e come from one walk over the weights
(`portrait`, `grids`). e > 0 where a head averages numbers whose denominators differ from position
to position and scores read the result: then the law is true and exponential, and no float follows
it far. That such laws hold is machine-checked (`layer_on` and
`gap_law` of proofs/Gaps.v); what `pairs` sharpens is not machine-checked. A model with position
tables has these laws to the length its tables allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from softhat.ahat.analysis.pairs import gap_law
from softhat.ahat.analysis.portrait import Portrait, portrait
from softhat.ahat.analysis.structure import structure
from softhat.ahat.model import AHAT
from softhat.numbers.laws import Law

HeadId = tuple[int, int]


@dataclass(frozen=True, slots=True)
class GapLaws:
    """What is proved about every head for all words of every length."""

    portrait: Portrait
    gap: Mapping[HeadId, Law | None]  # None: the weights make all scores of a row equal
    tieless: Mapping[HeadId, bool]  # every row has one maximum (rows with one key count)

    @property
    def uniform_tieless(self) -> bool:
        """Is every head structurally uniform, proved tieless, or unique-hard?"""
        model = self.portrait.model
        return all(
            self.gap[l, h] is None
            or self.tieless[l, h]
            or model.layers[l].heads[h].ties != "average"
            for l, h in model.heads
        )


@lru_cache(maxsize=64)
def gap_laws(model: AHAT) -> GapLaws:
    """The gap law and the proved type of every head."""
    seen = portrait(model)
    facts = structure(model)
    return GapLaws(
        seen,
        {
            name: None if facts[name].equal_scores else gap_law(view)
            for name, view in seen.views.items()
        },
        seen.tieless,
    )
