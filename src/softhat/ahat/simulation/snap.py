"""Snaps: a feed-forward layer that is the identity on exact values and flat around each.

Where the scores of a tied head carry error and its values vary, the tie is dangerous: β times the
error must stay far below 1, so upstream layers must be much colder. A snap after the upstream
layer sets the error to 0 instead, as long as it is below a quarter of the distance between exact
values. The snapped model is an AHAT with one more layer and the same values on every word to the
length it was made for.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

from softhat.ahat.analysis.portrait import portrait
from softhat.ahat.analysis.reach import reach
from softhat.ahat.analysis.structure import erroneous, live, structure
from softhat.ahat.model import AHAT, FeedForward, Layer
from softhat.io.errors import SofthatError

MAX_VALUES = 16  # exact values of one coordinate


def snapped(model: AHAT, max_length: int) -> AHAT:
    """The model with a snap after every layer that a head with erroneous scores reads from."""
    facts = structure(model)
    scored = [l for (l, _), fact in facts.items() if not fact.exact_scores and not fact.uniform]
    result = model
    for l in sorted({k for top in scored for k in range(top)}, reverse=True):
        result = snap_after(result, l, max_length)
    return result


def snapped_everywhere(model: AHAT) -> AHAT:
    """The same for every length: only coordinates with finitely many values at all lengths."""
    facts = structure(model)
    scored = [l for (l, _), fact in facts.items() if not fact.exact_scores and not fact.uniform]
    result = model
    for l in sorted({k for top in scored for k in range(top)}, reverse=True):
        state = portrait(result).states[l + 1]
        wrong = erroneous(result)[l + 1] & live(result)[1][l]
        plateaus = {
            c: values
            for c in sorted(wrong)
            if not state.forms[c]
            and len(values := sorted({k.content[c] for k in state.classes})) <= MAX_VALUES
        }
        result = _with_snap(result, l, plateaus)
    return result


def _with_snap(model: AHAT, layer: int, plateaus: dict[int, list[Fraction]]) -> AHAT:
    if not plateaus:
        return model
    extra = Layer((), _snap(plateaus, model.d_model))
    layers = (*model.layers[: layer + 1], extra, *model.layers[layer + 1 :])
    return replace(model, layers=layers)


def snap_after(model: AHAT, layer: int, max_length: int) -> AHAT:
    """The model with a snap after this layer, for the coordinates that carry error there."""
    wrong = erroneous(model)[layer + 1] & live(model)[1][layer]
    values = _exact_values(model, layer, max_length)
    plateaus = {c: values[c] for c in sorted(wrong) if len(values[c]) <= MAX_VALUES}
    return _with_snap(model, layer, plateaus)


def _exact_values(model: AHAT, layer: int, max_length: int) -> list[list[Fraction]]:
    """Every exact value of each coordinate after the layer, over all words to the length."""
    by_coordinate: list[set[Fraction]] = [set() for _ in range(model.d_model)]
    for n in range(1, max_length + 1):
        sets = reach(model, n, layer + 1)
        if not sets.complete:
            raise SofthatError(
                f"cannot snap layer {layer} at length {n}: {sets.reason}; leave snap out"
            )
        for vectors in sets.final:
            for vector in vectors.tolist():
                for c, x in enumerate(vector):
                    by_coordinate[c].add(Fraction(x, sets.final_den))
    return [sorted(values) for values in by_coordinate]


def _snap(plateaus: dict[int, list[Fraction]], d: int) -> FeedForward:
    """x ↦ v_0 + Σ ramps, each from a quarter past one value to a quarter before the next."""
    rows: list[tuple[int, int, Fraction, Fraction]] = []  # coordinate, sign, bias, effect
    constant = [Fraction(0)] * d
    for c, values in plateaus.items():
        constant[c] = values[0]
        rows += [(c, 1, Fraction(0), Fraction(-1)), (c, -1, Fraction(0), Fraction(1))]  # minus x
        for low, high in itertools.pairwise(values):
            quarter = (high - low) / 4
            rows += [(c, 1, -(low + quarter), Fraction(2)), (c, 1, -(high - quarter), Fraction(-2))]
    zero = Fraction(0)
    return FeedForward(
        in_weights=tuple(
            tuple(Fraction(sign) if k == c else zero for k in range(d)) for c, sign, _, _ in rows
        ),
        in_bias=tuple(bias for _, _, bias, _ in rows),
        out_weights=tuple(
            tuple(effect if c == k else zero for c, _, _, effect in rows) for k in range(d)
        ),
        out_bias=tuple(constant),
    )
