"""How crowded is the maximum of a head's rows, in every word of every length?"""

from __future__ import annotations

from softhat.ahat.analysis.pairs import gap_law
from softhat.proof.simulations.residual import Sight
from softhat.proof.simulations.scores import pairs
from softhat.proof.simulations.single import crowded


def crowd(view: Sight) -> int | None:
    """At most this many keys lie at gap ≥ m·γ for each m = 1, 2, …, where γ is the gap law; None if
    any number of keys may lie at the same gap."""
    return crowded(view, list(pairs(view)), gap_law(view))
