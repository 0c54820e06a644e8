"""Which shape a head's scores have, by its weights alone.

The bilinear form is computed exactly, terms that are the same for every key are left out, and what
is left is compared with the shapes. Weights of no shape raise `UnknownShapeError`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import isfinite, isnan
from typing import Any

import numpy as np

from softhat.numbers.laws import ONE, Constant, Law
from softhat.numbers.positions import DigitFeature, Feature, Mod, Named
from softhat.numerics.formats import Format
from softhat.transformer.rows import Row, UnknownShapeError
from softhat.transformer.shapes import (
    Classes,
    Factor,
    HeadForm,
    Local,
    Numbered,
    Penalty,
    Ramp,
    Residues,
    Shape,
    Terms,
    Uniform,
)
from softhat.transformer.weights import Mask, Sparse, Transformer

FEATURES = ("1", "ordinary", "i", "r", "(-1)^i")
NEGLIGIBLE = 38.0
"""e^-38 < 2^-54: a weight this far below the winner's is lost in float64."""
MOST_TAPS = 16
STEEPEST = 512.0
"""e^-512 is a normal number: the weight of distance 0, which every query sees, is not 0."""
MOST_BITS = 60
"""Coordinates that tell classes apart: their bits are one number."""


class Reader:
    """Reads head forms from a transformer's weights in one number format."""

    def __init__(self, transformer: Transformer, form: Format) -> None:
        self.transformer = transformer
        self.form = form

    @cached_property
    def fixed(self) -> dict[int, Feature]:
        """The coordinates that hold one position feature and nothing else, at every layer."""
        t = self.transformer
        written = set(t.embedding.where[1].tolist())
        for layer in t.layers:
            written.update(layer.output.where[1].tolist())
            written.update(layer.out.where[0].tolist())
            written.update(np.flatnonzero(layer.out_bias).tolist())
        entries: dict[int, list[tuple[int, float]]] = {}
        for c, feature, value in t.position_embedding.entries():
            entries.setdefault(c, []).append((feature, value))
        return {
            c: t.positions[held[0][0]]
            for c, held in entries.items()
            if len(held) == 1 and held[0][1] == 1 and c not in written
        }

    def heads(self, number: int) -> tuple[HeadForm, ...]:
        """The heads of layer `number` (from 0)."""
        layer = self.transformer.layers[number]
        query, key, value = (self._rows(m) for m in (layer.query, layer.key, layer.value))
        output: dict[int, dict[int, list[tuple[int, float]]]] = {}
        for h, c, r, w in layer.output.entries(self.form.load(layer.output.values)):
            output.setdefault(h, {}).setdefault(r, []).append((c, w))
        forms = []
        for h, mask in enumerate(layer.masks):
            written = output.get(h, {})
            used = sorted(written)
            sharpness = layer.sharpness[h]
            unscaled = self.transformer.attention != "temperature"
            constant = _constant(layer.laws[h])
            known = layer.laws[h] == ONE if unscaled else not isnan(sharpness)
            if not known and constant is None:
                raise UnknownShapeError(
                    f"layer {number}, head {h} ({layer.labels[h]}): the temperature of no "
                    "compiled head"
                )
            content = constant if not known else None  # one temperature at every length
            terms = self._terms(query.get(h, {}), key.get(h, {}), sharpness, content)
            values = tuple(value.get(h, {}).get(r, ()) for r in used)
            try:
                shape = self._shape(terms, mask, values, content is not None)
            except UnknownShapeError as error:
                raise UnknownShapeError(
                    f"layer {number}, head {h} ({layer.labels[h]}): {error}"
                ) from None
            targets = tuple(tuple(written[r]) for r in used)
            forms.append(HeadForm(mask, shape, values, targets))
        return tuple(forms)

    def _rows(self, tensor: Sparse) -> dict[int, dict[int, Row]]:
        """(heads, rows, d_model) as rows[head][row]."""
        rows: dict[int, dict[int, list[tuple[int, float]]]] = {}
        for h, r, c, w in tensor.entries(self.form.load(tensor.values)):
            rows.setdefault(h, {}).setdefault(r, []).append((c, w))
        return {h: {r: tuple(row) for r, row in by_row.items()} for h, by_row in rows.items()}

    def _factor(self, c: int) -> tuple[Factor, int]:
        """What a coordinate is, and whether it is divided by P."""
        match self.fixed.get(c):
            case Named(name, scaled) if name in FEATURES:
                return name, int(scaled)
        return c, 0

    def _terms(
        self,
        query: dict[int, Row],
        key: dict[int, Row],
        sharpness: float,
        constant: Fraction | None = None,
    ) -> Terms:
        """The bilinear form of the logits, without the terms that are the same for every key.
        `constant` is an inverse temperature that does not grow with the word."""
        scaled = self.transformer.attention == "temperature" and constant is None
        exact: dict[tuple[Factor, Factor, int], Fraction] = {}
        factor = Fraction(sharpness) if scaled else constant or Fraction(1)
        products: dict[tuple[float, float], Fraction] = {}  # few weights are different ones
        for r in query.keys() & key.keys():
            for a, u in query[r]:
                for b, v in key[r]:
                    (left, p), (right, q) = self._factor(a), self._factor(b)
                    if right == "1":
                        continue
                    if not (isfinite(u) and isfinite(v)):
                        raise UnknownShapeError(f"a weight is beyond the range of {self.form.name}")
                    at = (left, right, int(scaled) - p - q)
                    if (u, v) not in products:
                        products[u, v] = Fraction(u) * Fraction(v) * factor
                    exact[at] = exact[at] + products[u, v] if at in exact else products[u, v]
        terms = {at: _float(w) for at, w in exact.items() if w}
        if any(terms[at] != w for at, w in exact.items() if w):  # compared exactly
            raise UnknownShapeError("a score's coefficient has more digits than float64")
        return terms

    def _shape(
        self, terms: Terms, mask: Mask, values: tuple[Row, ...], content: bool = False
    ) -> Shape:
        if self.transformer.attention == "hard":
            raise UnknownShapeError("hard attention is not a softmax")
        if not terms and mask in ("none", "<=", ">="):
            return Uniform()
        if mask == "<=" and any(
            isinstance(self._feature(key), DigitFeature) for _, key, _ in terms
        ):
            return self._numbered(terms)
        if content or mask == "none" or self._is_content(terms, values):
            return self._classes(terms)
        if any(isinstance(self._feature(left), Mod) for left, _, _ in terms):
            return self._residues(terms, mask)
        ordinary = {c for c, feature in self.fixed.items() if feature == Named("ordinary")}
        if mask in ("<=", ">=") and all(c in ordinary for row in values for c, _ in row):
            return self._ramp(terms, mask)
        return self._local(terms, mask)

    def _is_content(self, terms: Terms, values: tuple[Row, ...]) -> bool:
        """No score knows a position, and what is read is more than how many positions there are."""
        ordinary = {c for c, feature in self.fixed.items() if feature == Named("ordinary")}
        counts = all(c in ordinary for row in values for c, _ in row)
        return not counts and all(
            power == 0 and self._is_bit(left) and self._is_bit(right)
            for left, right, power in terms
        )

    def _is_bit(self, factor: Factor) -> bool:
        if isinstance(factor, str):
            return factor in ("1", "ordinary")
        feature = self._feature(factor)
        return feature is None or feature in (Named("first"), Named("last"))

    def _feature(self, factor: Factor) -> Feature | None:
        """The position feature that a coordinate holds; a factor with a name is none."""
        return None if isinstance(factor, str) else self.fixed.get(factor)

    def _classes(self, terms: Terms) -> Classes:
        held = self.fixed.items()
        ordinary = next((c for c, feature in held if feature == Named("ordinary")), None)

        def coordinate(factor: Factor) -> int | None:
            """Where a factor stands; None for the constant 1."""
            if factor == "1":
                return None
            if factor == "ordinary" and ordinary is not None:
                return ordinary
            if isinstance(factor, str) or not self._is_bit(factor):
                raise UnknownShapeError(f"scores that read {factor} without its position")
            return factor

        places = {at: (coordinate(at[0]), coordinate(at[1])) for at in terms}
        if any(power for _, _, power in terms):
            raise UnknownShapeError("contents that are scaled by the length")
        queries = tuple(sorted({q for q, _ in places.values() if q is not None}))
        keys = tuple(sorted({k for _, k in places.values() if k is not None}))
        if max(len(queries), len(keys)) > MOST_BITS:
            raise UnknownShapeError(f"contents of more than {MOST_BITS} coordinates")
        weights = np.zeros((1 + len(queries), 1 + len(keys)))
        for at, (q, k) in places.items():
            row = 0 if q is None else 1 + queries.index(q)
            column = 0 if k is None else 1 + keys.index(k)
            weights[row, column] += terms[at]
        return Classes(queries, keys, tuple(map(tuple, weights.tolist())))

    def _numbered(self, terms: Terms) -> Numbered:
        """At: every digit of a key's number is compared with one bit of the query.

        Σ half·(±1)(±1) over digits and -half·(digits - 1) off the sink are, in bits,
        half·Σ ±(4qk - 2q - 2k + 1) - half·(digits - 1): exactly these terms, and no others.
        """
        pairs: dict[int, tuple[int, float, DigitFeature]] = {}
        for (left, right, power), weight in terms.items():
            digit = self._feature(right)
            if not isinstance(left, int) or not isinstance(digit, DigitFeature):
                continue
            if power or digit.bit in pairs:
                raise UnknownShapeError("a digit that is compared twice")
            pairs[digit.bit] = (left, weight / 4, digit)
        count = len(pairs)
        halves = {abs(weight) for _, weight, _ in pairs.values()}
        numbers = {(d.position, d.length, d.constant) for _, _, d in pairs.values()}
        if sorted(pairs) != list(range(count)) or len(halves) != 1 or len(numbers) != 1:
            raise UnknownShapeError("keys that are not the digits of one number")
        ((half,), ((position, length, constant),)) = halves, numbers
        if length or (position, constant >= 0) not in ((1, True), (-1, True)):
            raise UnknownShapeError("keys that are not numbered one after the other")
        wanted: Terms = {("1", "ordinary", 0): -half * (count - 1)}

        def add(left: Factor, right: Factor, weight: float) -> None:
            wanted[left, right, 0] = wanted.get((left, right, 0), 0.0) + weight

        keys = {self.fixed[c]: c for c in self.fixed}
        for left, weight, digit in pairs.values():
            key = keys[digit]
            add(left, key, 4 * weight)
            add(left, "ordinary", -2 * weight)
            add("ordinary", key, -2 * weight)
            add("ordinary", "ordinary", weight)
        if {at: w for at, w in wanted.items() if w} != terms:
            raise UnknownShapeError("digits that are not compared as ±1")
        if 3 * half < NEGLIGIBLE:
            raise UnknownShapeError(f"digits that cost {2 * half:g} each: two of them would count")
        flipped = sum(1 << b for b, (_, weight, _) in pairs.items() if weight < 0)
        queries = tuple(pairs[b][0] for b in range(count))
        return Numbered(queries, flipped, half, position < 0, constant)

    def _local(self, terms: Terms, mask: Mask) -> Local:
        here = "i" if mask in ("<=", "<") else "r"
        slope = even = 0.0
        bad: dict[tuple[Factor, int], dict[Factor, float]] = {}
        for (left, right, power), weight in terms.items():
            if (left, right, power) == ("1", here, 0):
                slope = weight
            elif (left, right, power) == ("(-1)^i", "(-1)^i", 0):
                even = -2 * weight
            elif right == "ordinary" or isinstance(right, int):
                bad.setdefault((left, power), {})[right] = weight
            else:
                raise UnknownShapeError(f"a score term {left} × {right}")
        if slope <= 0 or even < 0 or (even and mask in ("<", ">")):
            raise UnknownShapeError("scores that do not fall with the distance")
        winner = min(even, slope)  # what the nearest candidate, at distance 0 or 1, gives up
        if even > STEEPEST:
            raise UnknownShapeError(f"a cost of {even:g} for even distances")
        taps = int((NEGLIGIBLE + winner) // slope) + 1
        if taps > MOST_TAPS:
            raise UnknownShapeError(f"a slope of {slope:g} needs {taps} taps")
        return Local(slope, even, self._penalty(bad, slope, even, here), taps)

    def _residues(self, terms: Terms, mask: Mask) -> Residues:
        """Shift: the same penalty for every residue but the one at the distance."""
        here = "i" if mask == "<=" else "r"
        back = 1 if mask == "<=" else -1
        slope = terms.get(("1", here, 0), 0.0)
        rest = {at: w for at, w in terms.items() if at != ("1", here, 0)}
        penalties = {-w if right == "ordinary" else w for (_, right, _), w in rest.items()}
        powers = {power for _, _, power in rest}
        pairs: set[tuple[Mod, Mod]] = set()
        queries: set[Mod] = set()
        for left, right, _ in rest:
            query, key = self._feature(left), self._feature(right)
            if isinstance(query, Mod) and right == "ordinary":
                queries.add(query)
            elif isinstance(query, Mod) and isinstance(key, Mod):
                pairs.add((query, key))
            else:
                raise UnknownShapeError(f"a score term {left} × {right}")
        moduli = {feature.modulus for feature in queries}
        if mask not in ("<=", ">=") or len(penalties) != 1 or len(powers) != 1 or len(moduli) != 1:
            raise UnknownShapeError("residues that are not all penalised alike")
        (modulus,), (penalty,), (power,) = moduli, penalties, powers
        steps = {back * (query.remainder - key.remainder) % modulus for query, key in pairs}
        alike = all(f.modulus == modulus and not f.sinks for pair in pairs for f in pair)
        complete = {query for query, _ in pairs} == queries and len(queries) == modulus
        if not (len(steps) == 1 and alike and complete and len(pairs) == modulus):
            raise UnknownShapeError("residues that are not all those of one modulus")
        (distance,) = steps
        least = 2 * slope if power == 1 else slope * (distance + 2)
        if slope <= 0 or power not in (0, 1) or not distance or penalty < least:
            raise UnknownShapeError("residues that are not ruled out")
        if NEGLIGIBLE // slope > MOST_TAPS:
            raise UnknownShapeError(f"a slope of {slope:g} is too flat")
        return Residues(slope, penalty, power == 1, distance, modulus)

    def _penalty(
        self,
        bad: dict[tuple[Factor, int], dict[Factor, float]],
        slope: float,
        even: float,
        here: str,
    ) -> Penalty | None:
        if not bad:
            return None
        if len(bad) > 1 or even:
            raise UnknownShapeError("more than one kind of penalty")
        ((left, power), row) = next(iter(bad.items()))
        if (left, power) not in ((here, 0), ("1", 1)):
            raise UnknownShapeError(f"a penalty in units of {left}")
        weight = max(abs(w) for w in row.values())
        if weight < 2 * slope:
            raise UnknownShapeError("a penalty below twice the slope")
        held = self.fixed.items()
        ordinary = next((c for c, feature in held if feature == Named("ordinary")), -1)
        coordinates = tuple(
            (c if isinstance(c, int) else ordinary, -w / weight) for c, w in row.items()
        )
        return Penalty(coordinates, weight, scaled=power == 1)

    def _ramp(self, terms: Terms, mask: Mask) -> Ramp:
        positions = {"1": (1, 0, 0), "ordinary": (1, 0, 0), "i": (0, 1, 0), "r": (0, 0, 1)}
        toward = {"ordinary": 0, "i": 1, "r": -1}
        own = np.zeros(3)
        slope = 0.0
        contents: dict[int, tuple[Any, float]] = {}
        for (left, right, power), weight in terms.items():
            if right not in toward or power:
                raise UnknownShapeError(f"a score term {left} × {right}")
            assert isinstance(right, str)
            step = toward[right] * (1 if mask == "<=" else -1) * weight
            if isinstance(left, int):
                before, steep = contents.get(left, (np.zeros(3), 0.0))
                contents[left] = (before + weight * np.array(positions[right]), steep + step)
            elif left in ("1", "ordinary"):
                own += weight * np.array(positions[right])
                slope += step
            elif left in ("i", "r") and right == "ordinary":
                own += weight * np.array(positions[left])
            else:
                raise UnknownShapeError(f"a score term {left} × {right}")
        rows = tuple((c, _triple(parts), steep) for c, (parts, steep) in sorted(contents.items()))
        return Ramp(_triple(own), slope, rows)


def _constant(law: Law) -> Fraction | None:
    return Fraction(law.value) if isinstance(law, Constant) else None


def _float(x: Fraction) -> float:
    try:
        return float(x)
    except OverflowError:
        raise UnknownShapeError("a score's coefficient is beyond float64") from None


def _triple(parts: Any) -> tuple[float, float, float]:
    constant, per_i, per_r = (float(x) for x in parts)
    return constant, per_i, per_r
