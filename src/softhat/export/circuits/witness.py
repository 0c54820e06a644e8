"""Pairs of words on which an edge matters: found by patching it, on many pairs at once.

Corrupt words differ from clean ones in one place or in many, and have the same length. An edge
carries `input` if some pair shows an effect on an answer; it carries a `constant` if what its
source adds where the reader looks is the same on all words of a length, or if no pair of the
search shows an effect, which is then what the search says and no proof.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softhat.export.circuits.graph import Carries, Witness
from softhat.export.circuits.network import Array, Network, Patch

LENGTHS = (2, 3, 4, 6, 9)
EFFECT = 1e-3
"""A margin that moves by less than this is leak, not an answer."""


class Search:
    """Words and their corruptions, run once; each edge is then patched on all of them."""

    def __init__(self, network: Network, seed: int, words: int) -> None:
        self.network = network
        rng = np.random.default_rng(seed)
        each = max(4, words // len(LENGTHS))
        self.batches = [self._batch(rng, n, each) for n in LENGTHS]

    def _batch(
        self, rng: np.random.Generator, n: int, count: int
    ) -> tuple[Array, Array, Array, dict[str, Array]]:
        k = len(self.network.symbols)

        def draw(*shape: int) -> NDArray[np.int64]:
            if self.network.propositional:
                return rng.integers(0, 2, (*shape, k))
            return rng.integers(0, k, shape)

        clean = draw(count, n)
        corrupt = clean.copy()
        one = np.arange(count), rng.integers(0, n, count)
        corrupt[one] = draw(count)
        corrupt[count // 2 :] = draw(count - count // 2, n)
        _, margins = self.network.run(clean)
        added, _ = self.network.run(corrupt)
        return clean, corrupt, margins, added

    def judged(self, source: str, target: str, slot: str) -> tuple[Carries, Witness | None]:
        """What the edge carries, and where it shows the most."""
        best: tuple[float, Witness] | None = None
        for clean, corrupt, margins, added in self.batches:
            _, patched = self.network.run(clean, Patch(source, (target, slot), added[source]))
            flipped = (patched > 0) != (margins > 0)
            effect = np.abs(patched - margins) + flipped  # a changed answer counts more
            word, position, output = np.unravel_index(int(effect.argmax()), effect.shape)
            size = float(effect[word, position, output])
            if size > EFFECT and (best is None or size > best[0] + 1e-9):
                moved = (margins[word, position, output], patched[word, position, output])
                best = (
                    size,
                    Witness(
                        clean=self._spelt(clean[word]),
                        corrupt=self._spelt(corrupt[word]),
                        output=self.network.outputs[output],
                        position=int(position),
                        margins=(float(moved[0]), float(moved[1])),
                    ),
                )
        return ("constant", None) if best is None else ("input", best[1])

    def _spelt(self, codes: Array) -> tuple[str, ...]:
        symbols = self.network.symbols
        if codes.ndim == 1:
            return tuple(symbols[code] for code in codes.tolist())
        return tuple(
            "{" + ",".join(s for s, on in zip(symbols, row, strict=True) if on) + "}"
            for row in codes.tolist()
        )
