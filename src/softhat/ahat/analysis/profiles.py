"""Gap profiles in closed form: heads whose scores read positions alone, at every length.

Where scores move by equal steps with the key's position, the competitors of a full row lie at γ,
2γ, 3γ, …; where they fall with the square of the distance to a peak, at c·(m² - d²). So the
critical β is the root of one equation at every n: exact, without words, sets or fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from softhat.ahat.analysis.rows import critical_beta, critical_betas
from softhat.ahat.model import BOS, EOS
from softhat.proof.simulations.residual import Sight, combined
from softhat.proof.simulations.single import single_peak

NEGLIGIBLE = 60.0  # e^-60 beside 1


@dataclass(frozen=True, slots=True)
class StepProfile:
    """Scores w·j (or w·j/n): gaps γ, 2γ, … over all keys of the longest row."""

    weight: Fraction
    shared: bool  # divided by n
    mask: str
    bos: bool

    @property
    def text(self) -> str:
        """For people."""
        return f"gaps γ, 2γ, 3γ, …, γ = {self.weight}{'/n' if self.shared else ''}"

    def critical(self, n: int, leak: float) -> float:
        """The least β at which no row leaks more, over all words of length n."""
        keys = n + int(self.bos) - int(self.mask in ("<", ">"))
        gap = self.weight / n if self.shared else self.weight
        if keys < 2:
            return 0.0
        # Σ x^m over all m is x/(1-x): for many keys the root is x = leak, to rounding.
        if (keys - 1) * np.log(1 / leak) > NEGLIGIBLE:
            return float(np.log(1 / leak)) / float(gap)
        return critical_beta((np.arange(1, keys) * float(gap)).tolist(), leak)


@dataclass(frozen=True, slots=True)
class SquareProfile:
    """Scores that fall with the square of the distance to a peak a + b·i + c·n, an integer."""

    weight: Fraction
    at: tuple[Fraction, Fraction, Fraction]
    at_bos: tuple[Fraction, Fraction] | None  # of the query `<bos>`, if there is one: a + c·n
    mask: str

    @property
    def text(self) -> str:
        """For people."""
        return f"gaps {self.weight}·(m² - d²) at distance m from the peak, d the winner's"

    def critical(self, n: int, leak: float) -> float:
        """The least β at which no row leaks more, over all words of length n."""
        a, b, c = self.at
        peaks = [(i, int(a + b * i + c * n)) for i in range(1, n + 1)]
        if self.at_bos is not None:
            peaks.append((0, int(self.at_bos[0] + self.at_bos[1] * n)))
        first = 0 if self.at_bos is not None else 1
        return max(self._row(*peak, first, n, leak) for peak in dict.fromkeys(peaks))

    def _row(self, i: int, peak: int, first: int, n: int, leak: float) -> float:
        low = {"<": first, "<=": first, "none": first, ">=": i, ">": i + 1}[self.mask]
        high = {"<": i - 1, "<=": i, "none": n, ">=": n, ">": n}[self.mask]
        if low >= high:
            return 0.0
        winner = min(max(peak, low), high)
        j = np.arange(max(low, winner - 40), min(high, winner + 40) + 1)  # the rest is negligible
        j = j[j != winner]
        gaps = float(self.weight) * ((j - peak) ** 2 - (winner - peak) ** 2).astype(np.float64)
        return float(critical_betas(gaps[None], leak, np.ones(1))[0])


Profiles = StepProfile | SquareProfile


def symbolic_profile(view: Sight) -> Profiles | None:
    """The head's gap profile in closed form; None if there is none."""
    state = view.stream
    if state.has(EOS):
        return None
    used = [r for r, q in enumerate(view.query) if q.form or any(q.content)]
    if any(len(set(view.key[r].content)) > 1 for r in used):
        return None
    ordinary = [c for c, k in enumerate(state.classes) if k.sink is None]
    sinks = [c for c, k in enumerate(state.classes) if k.sink == BOS]
    asked = {tuple(q.content[c] for q in view.query) for c in ordinary}
    at_bos = {tuple(q.content[c] for q in view.query) for c in sinks}
    if len(asked) != 1 or len(at_bos) > 1:
        return None
    linear = _linear(view, asked.pop())
    bos = _linear(view, at_bos.pop()) if at_bos else None
    if not view.bilinear and len(linear) == 1 and bos in (None, linear):
        ((name, weight),) = linear.items()
        # Counted from the end, `<bos>` is not next to the keys before the last one.
        apart = name == "r" and view.head.mask == "<" and bos is not None
        if name in ("i", "r", "i/n") and not apart:
            return StepProfile(abs(weight), name == "i/n", view.head.mask, bos is not None)
    return _squares(view, linear, bos) if single_peak(view) else None


def _linear(view: Sight, contents: tuple[Fraction, ...]) -> dict[str, Fraction]:
    atoms = view.stream.atoms
    form = combined((k.form, q) for q, k in zip(contents, view.key, strict=True))
    return {atoms[a].name: w for a, w in form.items() if atoms[a].apart.unit}


def _squares(
    view: Sight, linear: dict[str, Fraction], bos: dict[str, Fraction] | None
) -> SquareProfile:
    """The peak of b·j - c·j² is b/2c, where b is linear in i, n and n+1-i."""
    atoms = view.stream.atoms
    weight = -linear["i^2"]
    a, b, c = linear.get("i", Fraction(0)), Fraction(0), Fraction(0)
    still = Fraction(0)  # what remains at <bos>, where i and n+1-i are 0
    for x, _, w in view.bilinear:
        match atoms[x].name:
            case "i":
                b += w
            case "n":
                c, still = c + w, still + w
            case "r":
                a, b, c = a + w, b - w, c + w
    peak = (a / (2 * weight), b / (2 * weight), c / (2 * weight))
    if bos is None:
        return SquareProfile(weight, peak, None, view.head.mask)
    at_bos = (bos.get("i", Fraction(0)) / (2 * weight), still / (2 * weight))
    return SquareProfile(weight, peak, at_bos, view.head.mask)
