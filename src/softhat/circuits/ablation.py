"""Is a circuit complete, and is it minimal? Asked of the model itself, by ablation.

*Completeness*: all edges outside the circuit carry what they carry on another word of the same
length; the share of answers that stay what they are, on random words and on the circuit's own pairs
(a formula that needs long words has one answer on all random ones). *Minimality*: the share of the
circuit's edges that matter, each patched alone. Both are 1 for the edges that carry input;
completeness is compared with that of the empty circuit, which only knows how often words agree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from softhat.circuits.graph import Circuit
from softhat.circuits.network import Array, Network, Only
from softhat.circuits.witness import LENGTHS, coded, draw

WORDS = 256
"""Random pairs of words, of all lengths together."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """What is left of the answers, and what each edge contributes."""

    completeness: float
    """The share of answers that stay."""
    empty: float
    """The completeness of the empty circuit."""
    minimality: float
    """The share of edges that matter, each patched alone."""


def ablate(network: Network, circuit: Circuit, chosen: Collection[str]) -> Ablation:
    """Of the edges `chosen`. What each does alone, the circuit knows: its edges were judged by
    patching, and the weights of all others are 0. Constants are in no circuit and in all."""
    matter = {edge.name for edge in circuit.edges if edge.carries == "input"}
    constant = frozenset(edge.name for edge in circuit.edges if edge.carries == "constant")
    asked = frozenset(chosen) - constant
    return Ablation(
        completeness=_completeness(network, circuit, asked | constant),
        empty=_completeness(network, circuit, constant),
        minimality=len(asked & matter) / len(asked) if asked else 1.0,
    )


def _completeness(network: Network, circuit: Circuit, edges: frozenset[str]) -> float:
    rng = np.random.default_rng([0, 1])
    most = LENGTHS[-1] if network.longest is None else network.longest
    lengths = [min(n, most) for n in LENGTHS]
    count = WORDS // len(lengths)
    pairs = [(draw(network, rng, count, n), draw(network, rng, count, n)) for n in lengths]
    right = total = 0
    for clean, other in (*pairs, *_own_pairs(network, circuit)):
        _, margins = network.run(clean)
        added, _ = network.run(other)
        _, left = network.run(clean, Only(edges, added))
        right += int(((left > 0) == (margins > 0)).sum())
        total += margins.size
    return right / total


def _own_pairs(network: Network, circuit: Circuit) -> Iterator[tuple[Array, Array]]:
    """Each pair of words that part in an answer, both ways round."""
    for pair in circuit.answers:
        clean, corrupt = (coded(network, word)[None] for word in (pair.clean, pair.corrupt))
        yield clean, corrupt
        yield corrupt, clean
