"""The evidence that a simulation gives, for `softhat.proof.simulations` to check.

Before each layer: the denominators and ranges of the residual stream and the weights of errors; for
each head its gap law, its inverse temperature and its leak. Nothing here need be believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from softhat.ahat.analysis.gap_laws import GapLaws, HeadId, gap_laws
from softhat.ahat.analysis.margins import margin_law
from softhat.ahat.analysis.peaks import crowd
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.magnitudes import Magnitude
from softhat.ahat.simulation.temperature_laws import HeadTemperature, TemperatureLaws
from softhat.ahat.simulation.unique import without_terms
from softhat.numbers.growth import Polynomial
from softhat.numbers.laws import Law
from softhat.proof.simulations.evidence import FORMAT, LENGTH_FORMAT
from softhat.proof.simulations.residual import ResidualStream


def evidence_of(
    temperatures: TemperatureLaws, allowed: Law | None, share: Fraction
) -> dict[str, Any]:
    """What is claimed of these laws, as a JSON document."""
    model, laws = temperatures.model, gap_laws(temperatures.model)
    before = _before_terms(temperatures.model)
    return {
        "format": FORMAT,
        "allowed": None if allowed is None else allowed.to_json(),
        "share": str(share),
        "layers": [
            {
                "stream": _stream(laws.portrait.states[l], model.d_model),
                "before": _weights(temperatures.weights[l][0]),
                "middle": _weights(temperatures.weights[l][1]),
                "heads": [
                    _head(temperatures.heads[l, h], None if before is None else before.gap[l, h])
                    for h in range(len(layer.heads))
                ],
            }
            for l, layer in enumerate(model.layers)
        ],
        "end": _weights(temperatures.end),
    }


def evidence_to_length(model: AHAT) -> dict[str, Any]:
    """What is claimed where β are constants: coordinates and gaps, a layer, as a JSON document."""
    laws, before = gap_laws(model), _before_terms(model)
    margin = margin_law(laws.portrait)

    def head(name: HeadId, law: Law | None) -> dict[str, Any] | None:
        if law is None:
            return None
        others = None if before is None else before.gap[name]
        return {
            "gap": law.to_json(),
            "crowd": crowd(laws.portrait.views[name]),
            "others": None if others is None else others.to_json(),
        }

    return {
        "format": LENGTH_FORMAT,
        "layers": [
            {
                "stream": _stream(laws.portrait.states[l], model.d_model),
                "heads": [head((l, h), laws.gap[l, h]) for h in range(len(layer.heads))],
            }
            for l, layer in enumerate(model.layers)
        ],
        "margin": None if margin is None else margin.to_json(),
    }


def _before_terms(model: AHAT) -> GapLaws | None:
    """The laws without the rows that break ties, where there are any."""
    shorter = without_terms(model)
    return None if shorter is model else gap_laws(shorter)


def _stream(state: ResidualStream, width: int) -> list[dict[str, Any]]:
    result = []
    for c in range(width):
        x = state.read(tuple(Fraction(int(k == c)) for k in range(width)))
        grid, reach = state.whole(x), state.range(x)
        least = grid.least.to_json() if grid.unit else None
        low, high = _polynomial(reach.low), _polynomial(reach.high)
        result.append({"least": least, "low": low, "high": high})
    return result


def _polynomial(p: Polynomial) -> list[list[Any]]:
    return [[k, str(c)] for k, c in p.terms]


def _weights(weights: Mapping[int, Magnitude]) -> dict[str, Any]:
    return {str(c): a.law.to_json() for c, a in sorted(weights.items()) if a.coefficient}


def _head(head: HeadTemperature | None, others: Law | None) -> dict[str, Any] | None:
    if head is None:
        return None
    return {
        "gap": head.claim.gap.to_json(),
        "inside": None if head.claim.inside is None else head.claim.inside.to_json(),
        "leak": head.claim.leak.law.to_json(),
        "crowd": head.claim.crowd,
        "others": None if others is None else others.to_json(),
        "short_gaps": [str(gap) for gap in head.short_gaps],
    }
