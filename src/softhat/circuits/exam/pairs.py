"""The pairs of words that come with a question: clean, corrupt, and the place of the answer.

Every edge of the circuit has a pair on which it alone moves an answer (its witness), so a method
that patches edges one by one on these pairs can find all of them. The other half are random words
with one symbol changed, on which the answer changes. All words of a question have one length:
shorter ones go on with the same random symbols in both words, which a decoder does not see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from softhat.circuits.graph import Circuit, Witness
from softhat.circuits.network import Array, Network
from softhat.circuits.witness import LENGTHS, coded, draw
from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import Formula

SEEDS = 3
"""Sets of pairs a question has."""
WITNESSED, RANDOM = 24, 24
TRIES = 40


def make_pairs(network: Network, circuit: Circuit, formula: Formula, seed: int) -> dict[str, Any]:
    """`pairs.json` of a question: a list of pairs for each of the seeds."""
    known = _witnesses(circuit)
    length = max([LENGTHS[-1], *(len(witness.clean) for witness in known)])
    sets = [
        [
            _pair_data(network, formula, *pair)
            for pair in _pairs(network, known, length, np.random.default_rng([seed, number]))
        ]
        for number in range(SEEDS)
    ]
    return {"length": length, "seeds": sets}


def _witnesses(circuit: Circuit) -> list[Witness]:
    """One for each edge that carries input, and the answers'; no pair twice."""
    every = [edge.witness for edge in circuit.edges if edge.witness is not None]
    listed = {(w.clean, w.corrupt, w.position): w for w in (*every, *circuit.answers)}
    return list(listed.values())


def _pairs(
    network: Network, known: list[Witness], length: int, rng: np.random.Generator
) -> Iterator[tuple[Array, Array, int]]:
    """(clean, corrupt, position), as many as can be found."""
    chosen = rng.permutation(len(known))[: max(WITNESSED, len(known))]
    for at in sorted(chosen.tolist()):
        clean, corrupt = (coded(network, word) for word in (known[at].clean, known[at].corrupt))
        rest = draw(network, rng, length - len(clean))
        yield (
            np.concatenate([clean, rest]),
            np.concatenate([corrupt, rest]),
            known[at].position,
        )
    wanted = RANDOM
    for _ in range(TRIES):
        clean = draw(network, rng, 64, length)
        corrupt = clean.copy()
        place = np.arange(64), rng.integers(0, length, 64)
        corrupt[place] = draw(network, rng, 64)
        _, before = network.run(clean)
        _, after = network.run(corrupt)
        parted = (before[..., 0] > 0) != (after[..., 0] > 0)
        for at in np.flatnonzero(parted.any(axis=1)).tolist()[:wanted]:
            yield clean[at], corrupt[at], int(rng.choice(np.flatnonzero(parted[at])))
            wanted -= 1
        if not wanted:
            return


def _pair_data(
    network: Network, formula: Formula, clean: Array, corrupt: Array, position: int
) -> dict[str, Any]:
    """A pair as data. The answer is the formula's, and must be the model's."""
    words = [[network.symbols[code] for code in word.tolist()] for word in (clean, corrupt)]
    answer = bool(formula.truth(words[0])[position])
    _, margins = network.run(clean[None])
    if answer != bool(margins[0, position, 0] > 0):
        raise SofthatError(f"the model is wrong about {' '.join(words[0])} at {position}")
    return {
        "clean": " ".join(words[0]),
        "corrupt": " ".join(words[1]),
        "position": position,
        "answer": answer,
    }
