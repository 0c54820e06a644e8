"""Pairs of words on which an edge or a node matters: found by patching it, on many pairs at once.

Corrupt words differ from clean ones in one place or in many, and have the same length; some are
random and short, some are made for what the model decides, and as long as that takes. An edge
carries `input` if some pair shows an effect on an answer; it carries a `constant` if what its
source adds where the reader looks is the same on all words of a length. Where the source adds this
and that, but no answer notices, more words are tried; if none of these shows an effect, the edge is
said to carry a constant too, which is then what the search says and no proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softhat.circuits.aimed_pairs import aimed_pairs
from softhat.circuits.graph import Carries, Node, Witness
from softhat.circuits.network import Array, Begun, Change, Network, NodePatch, Patch
from softhat.logic.syntax.nodes import Formula

LENGTHS = (2, 3, 4, 6, 9)
EFFECT = 1e-3
"""A margin that moves by less than this is leak of softmax, not an answer."""
MOST = 1e6
"""Far above every margin."""
WIDER = 2
"""How often four times as many words are tried for what differs and no answer notices."""


def draw(network: Network, rng: np.random.Generator, *shape: int) -> NDArray[np.int64]:
    """Random symbols, or bits of random sets of propositions."""
    k = len(network.symbols)
    if network.propositional:
        return rng.integers(0, 2, (*shape, k))
    return rng.integers(0, k, shape)


def coded(network: Network, word: Sequence[str]) -> Array:
    """A word of a witness as the network reads it: symbols, or bits of sets such as `{p,q}`."""
    if not network.propositional:
        return np.array([network.symbols.index(symbol) for symbol in word])
    sets = [letter[1:-1].split(",") for letter in word]
    return np.array([[int(symbol in held) for symbol in network.symbols] for held in sets])


class WitnessSearch:
    """Words and their corruptions, run once; each edge is then patched on all of them."""

    def __init__(
        self,
        network: Network,
        seed: int,
        words: int,
        formulas: Sequence[Formula] = (),
        wider: int = WIDER,
    ) -> None:
        """`formulas`: what the model decides, where that is known."""
        self.network = network
        self.given = seed, words, tuple(formulas), wider
        rng = np.random.default_rng(seed if wider == WIDER else [seed, wider])
        each = max(4, words // len(LENGTHS))
        most = LENGTHS[-1] if network.longest is None else network.longest
        lengths = sorted({min(n, most) for n in LENGTHS})
        pairs = [self._drawn(rng, n, each, wider) for n in lengths]
        seen = [clean for clean, _ in pairs] if wider == WIDER else None
        pairs += aimed_pairs(network, formulas, rng, each * LENGTHS[-1], seen)
        self.corrupted: list[Array] = []
        """The margins of the corrupt words, batch by batch."""
        self.batches = [self._run(clean, corrupt) for clean, corrupt in pairs]
        largest = max(float(np.abs(begun.margins).max()) for _, _, begun, _ in self.batches)
        self.effect = max(EFFECT, network.leak * largest)

    def _drawn(
        self, rng: np.random.Generator, n: int, count: int, wider: int
    ) -> tuple[Array, Array]:
        """Random words, half of them corrupted in one place, half as a whole."""
        clean = draw(self.network, rng, count, n)
        corrupt = clean.copy()
        one = np.arange(count), rng.integers(0, n, count)
        corrupt[one] = draw(self.network, rng, count)
        corrupt[count // 2 :] = draw(self.network, rng, count - count // 2, n)
        if wider < WIDER and not self.network.propositional:
            # Of many symbols what must occur again and again is rare: half the pairs have two.
            two = draw(self.network, rng, len(clean[::2]), 2)
            for words in (clean, corrupt):
                words[::2] = np.take_along_axis(two, words[::2] % 2, axis=1)
        return clean, corrupt

    def _run(self, clean: Array, corrupt: Array) -> tuple[Array, Array, Begun, dict[str, Array]]:
        begun = Begun.of(self.network, clean)
        ran = {word.tobytes(): at for at, word in enumerate(clean)}
        places = [ran[key] for word in corrupt if (key := word.tobytes()) in ran]
        if len(places) < len(corrupt):
            added, margins = self.network.run(corrupt)
        else:  # pairs that are tried both ways round: each word runs once
            added = {name: array[places] for name, array in begun.added.items()}
            margins = begun.margins[places]
        self.corrupted.append(margins)
        return clean, corrupt, begun, added

    def judged(self, source: str, target: str, slot: str) -> tuple[Carries, Witness | None]:
        """What the edge carries, and where it shows the most."""
        reader = target, slot
        witness = self._strongest(lambda added, begun: Patch(source, reader, added[source], begun))
        if witness is not None:
            return "input", witness
        if self._wider is not None and self._may_matter(source):
            return self._wider.judged(source, target, slot)
        return "constant", None

    @cached_property
    def _wider(self) -> WitnessSearch | None:
        """The search again, with more words."""
        seed, words, formulas, wider = self.given
        return WitnessSearch(self.network, seed, 4 * words, formulas, wider - 1) if wider else None

    def _may_matter(self, source: str) -> bool:
        """Does what the source adds differ from word to word? The input always does."""
        return source == "input" or any(
            float(np.abs(added[source] - begun.added[source]).max()) > EFFECT
            for _, _, begun, added in self.batches
        )

    def node(self, source: str) -> Witness | None:
        """A pair on which what the node adds, taken from the corrupt word, changes an answer."""
        witness = self._strongest(lambda added, begun: NodePatch(source, added[source], begun))
        if witness is not None and witness.flips:
            return witness
        # Gates that clear coordinates change no answer however long one searches.
        is_head = source.startswith("a")
        return self._wider.node(source) if is_head and self._wider is not None else None

    def witnessed(self, nodes: Iterable[Node]) -> Iterator[Node]:
        """The nodes, each with its pair."""
        for node in nodes:
            reads = node.name == "logits"
            yield node if reads else replace(node, witness=self.node(node.name))

    def answers(self, each: int = 4) -> tuple[Witness, ...]:
        """Words that differ in one place and in an answer: for each output as many that are true
        as that are false, at most `each` of both."""
        witnesses: dict[tuple[str, bool], list[Witness]] = {
            (name, value): [] for name in self.network.outputs for value in (False, True)
        }
        for (clean, corrupt, begun, _), other in zip(self.batches, self.corrupted, strict=True):
            margins = begun.margins
            one = (clean != corrupt).reshape(*clean.shape[:2], -1).any(-1).sum(1) == 1
            parted = ((margins > 0) != (other > 0)) & (np.abs(margins - other) > self.effect)
            parted &= one[:, None, None]
            for word, position, output in np.argwhere(parted).tolist():
                place = (word, position, output)
                name = self.network.outputs[output]
                listed = witnesses[name, bool(margins[place] > 0)]
                witness = self._witness(clean, corrupt, place, margins, other)
                if all(witness.clean != known.clean for known in listed):
                    listed.append(witness)
        pairs = []
        for name in self.network.outputs:
            both = witnesses[name, True], witnesses[name, False]
            count = min(each, *map(len, both))
            pairs += [witness for listed in both for witness in listed[:count]]
        return tuple(pairs)

    def _strongest(self, change: Callable[[dict[str, Array], Begun], Change]) -> Witness | None:
        """The pair and place where a change moves an answer the most; None if it never does."""
        best: tuple[float, Witness] | None = None
        for clean, corrupt, begun, added in self.batches:
            margins = begun.margins
            _, patched = self.network.run(clean, change(added, begun))
            # Rounded, equal effects are equal however sums are done.
            effect = np.round(np.abs(patched - margins), 6)
            flipped = (patched > 0) != (margins > 0)  # counts more; of a number 0, leak is no flip
            effect += MOST * (flipped & (effect > self.effect))
            place = tuple(map(int, np.unravel_index(int(effect.argmax()), effect.shape)))
            size = float(effect[place])
            if size > self.effect and (best is None or size > best[0] + 1e-9):
                best = size, self._witness(clean, corrupt, place, margins, patched)
        return None if best is None else best[1]

    def _witness(
        self, clean: Array, corrupt: Array, place: tuple[int, ...], before: Array, after: Array
    ) -> Witness:
        word, position, output = place
        return Witness(
            clean=self._spelt(clean[word]),
            corrupt=self._spelt(corrupt[word]),
            output=self.network.outputs[output],
            position=position,
            margins=(float(before[place]), float(after[place])),
        )

    def _spelt(self, codes: Array) -> tuple[str, ...]:
        symbols = self.network.symbols
        if codes.ndim == 1:
            return tuple(symbols[code] for code in codes.tolist())
        return tuple(
            "{" + ",".join(s for s, on in zip(symbols, row, strict=True) if on) + "}"
            for row in codes.tolist()
        )
