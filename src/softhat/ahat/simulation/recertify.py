"""The certificate of a simulation that was read from a file: derived again, never believed.

A file can say anything. What it says (ε, how far) is what is tried to prove anew from the AHAT and
its β, length by length, with the bounds that `simulate` itself uses; where they fail the new
certificate ends, whatever the old one claims.
"""

from __future__ import annotations

from collections.abc import Mapping

from softhat.ahat.model import AHAT
from softhat.ahat.simulation.certificate import Certificate, certify, good
from softhat.ahat.simulation.lengths import MANY_WORDS, Bound, Lengths
from softhat.ahat.simulation.temperature import Choice
from softhat.errors import SofthatError
from softhat.formats import FORMATS

HeadId = tuple[int, int]


def recertified(model: AHAT, betas: Mapping[HeadId, float], claim: Certificate) -> Certificate:
    """What can be proved of the claim."""
    top = len(claim.lengths)
    best = _proved(Lengths(model, top), betas, claim)
    if len(best.lengths) < top and len(model.alphabet) ** top <= MANY_WORDS:
        more = _proved(Lengths(model, top, MANY_WORDS), betas, claim)
        best = max(best, more, key=lambda found: len(found.lengths))
    return best


def _proved(lengths: Lengths, betas: Mapping[HeadId, float], claim: Certificate) -> Certificate:
    bounds: dict[int, Bound] = {}
    decide, top = claim.epsilon is None, len(claim.lengths)
    target = float("inf") if claim.epsilon is None else claim.epsilon * (1 - 1e-6)
    for n in range(1, top + 1):
        try:
            bound = lengths.enough(n, betas, target, decide, n == top)
        except (SofthatError, ArithmeticError):  # β so large that nothing can be said
            break
        if not good(bound, claim.epsilon):
            break
        bounds[n] = bound
    if bounds:
        return certify(lengths, Choice(betas, bounds), claim.epsilon)
    nothing = dict.fromkeys(FORMATS, 0)
    return Certificate(claim.epsilon, float("inf"), "exhaustive", 0, nothing, (), {})
