"""The certificate of a simulation that was read from a file: derived again, never believed.

A file can say anything. What it says (ε, how far) is what is tried to prove anew from the AHAT and
its β, length by length: in the reals by the checker in `softhat.proof.simulations`, which shares
nothing with `simulate`, in number formats by bounds of rounding. Where they fail the new
certificate ends, whatever the old one claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softhat.ahat.model import AHAT
from softhat.ahat.simulation.certificate import SimulationCertificate, certify, nothing_proved
from softhat.ahat.simulation.lengths import MANY_WORDS, LengthBound, Lengths
from softhat.ahat.simulation.temperature import BetaChoice, round_up
from softhat.ahat.simulation.unique import require_broken
from softhat.io.errors import SofthatError

HeadId = tuple[int, int]


def recertified(
    model: AHAT,
    betas: Mapping[HeadId, float],
    epsilon: float | None,
    top: int,
    evidence: Any = None,
) -> SimulationCertificate:
    """What can be proved of a claim: values within `epsilon` (None: decisions) to the length.
    Without evidence, as in older files, it is what follows from the model."""
    require_broken(model, top)
    for (l, h), beta in betas.items():
        if round_up(beta) != beta:
            raise SofthatError(
                f"β of layer {l}, head {h} is {beta:g}, which has more than 6 significant bits: "
                "make the simulation again with simulate"
            )
    best = _proved(Lengths(model, top), betas, epsilon, top, evidence)
    if len(best.lengths) < top and len(model.alphabet) ** top <= MANY_WORDS:
        more = _proved(Lengths(model, top, MANY_WORDS), betas, epsilon, top, evidence)
        best = max(best, more, key=lambda certificate: len(certificate.lengths))
    return best


def _proved(
    lengths: Lengths,
    betas: Mapping[HeadId, float],
    epsilon: float | None,
    top: int,
    evidence: Any,
) -> SimulationCertificate:
    bounds: dict[int, LengthBound] = {}
    decide = epsilon is None
    target = float("inf") if epsilon is None else epsilon * (1 - 1e-6)
    for n in range(1, top + 1):
        try:
            bound = lengths.enough(n, betas, target, decide, n == top)
        except (SofthatError, ArithmeticError):  # β so large that nothing can be said
            break
        if not bound.holds(epsilon):
            break
        bounds[n] = bound
    if bounds:
        return certify(lengths, BetaChoice(betas, bounds), epsilon, evidence)
    return nothing_proved(epsilon)
