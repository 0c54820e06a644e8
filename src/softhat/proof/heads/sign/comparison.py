"""What a Sign head compares: a linear form of counts and positions, by the bounds of its logit.

The runtimes differ in how they round it. What it is without rounding is here, once.
"""

from __future__ import annotations

from dataclasses import dataclass

from softhat.proof.atoms import Direction, Range


@dataclass(frozen=True, slots=True)
class Slope:
    """A mean that Sign reads: κ·Σ a·bit lies in [low, high] at a position."""

    over: Range
    low: float
    high: float
    size: float
    """How large the mean can be, and its query."""
    query: float

    @property
    def largest(self) -> float:
        """The largest |κ·Σ a·bit|."""
        return max(-self.low, self.high, 0.0)


@dataclass(frozen=True, slots=True)
class CountComparison:
    """Σ κ·count + A_i·i + A_r·r + A_0, the logit at j = i; with each step away from i it falls by
    `steep`, that is D, and by what the counts add.

    It is never nearer to 0 than `up` above and `down` below, and is a multiple of `unit` away
    from these.
    """

    direction: Direction
    means: tuple[Slope, ...]
    at_i: float
    at_r: float
    constant: float
    up: float
    down: float
    unit: float
    steep: float

    @property
    def one_sided(self) -> bool:
        """A comparison of counts in the head's own direction with a positive constant."""
        alone = len(self.means) == 1 and self.means[0].over == self.direction
        return alone and not self.at_i and not self.at_r and self.constant < 0

    @property
    def slope(self) -> float:
        """How fast scores fall with the distance, at least, where the answer is no.

        With one average over the head's own direction and a negative constant A_0 as the rest,
        the score is at most A_0 - D(i - j) where the average is negative, and falls by more than
        D a step where it is not: then D need not outweigh the average.
        """
        if self.one_sided:
            return self.steep
        past = self.direction == "past"
        rising, falling = ("future", "past") if past else ("past", "future")
        slope = self.steep
        for mean in self.means:
            if mean.over == falling:
                slope += min(0.0, mean.low)
            elif mean.over == rising:
                slope -= max(0.0, mean.high)
        return slope

    @property
    def sizes(self) -> dict[Range, float]:
        """The largest term of averages over each range, a position."""
        sizes: dict[Range, float] = {"past": 0.0, "future": 0.0, "total": 0.0}
        for mean in self.means:
            sizes[mean.over] += mean.largest
        return sizes

    def rest(self, i: int, r: int) -> float:
        """What positions and the constant add to the logit."""
        return self.at_i * i + self.at_r * r + self.constant

    def rests(self, start: int, n: int) -> list[float]:
        """The same at both ends of words of `start` symbols and of n: elsewhere, and in words of
        lengths between, it lies between these."""
        return [self.rest(i, r) for m in {start, n} for i, r in ((1, m), (m, 1))]

    def logits(self, start: int, n: int) -> tuple[float, float]:
        """No logit of a word of `start` to n symbols is lower or higher: both ends are linear in
        the length."""
        least, most = [], []
        for m in (start, n):
            rest = [self.rest(1, m), self.rest(m, 1)]
            least.append(sum(m * min(0.0, mean.low) for mean in self.means) + min(rest))
            most.append(sum(m * max(0.0, mean.high) for mean in self.means) + max(rest))
        return min(least), max(most)

    def is_near(self, n: int) -> bool:
        """Words of n symbols may be on either side of the threshold, next to it."""
        least, most = self.logits(n, n)
        return least <= 0 <= most

    def gaps(self, least: float, most: float) -> tuple[float, float]:
        """How far from 0 a logit between these is, where the answer is yes and where it is no, if
        there is such a word."""
        yes = self.up if least <= 0 else max(self.up, least)
        no = self.down if most >= 0 else max(self.down, -most)
        return yes, no
