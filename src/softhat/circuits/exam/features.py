"""Probes: how well the answer can be read off what a node adds.

softhat's own, by least squares: a probe of the answer gives a node the accuracy that it has above
always saying the same, and an edge that of the lesser of its ends.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from softhat.circuits.exam.patching import by_ends
from softhat.circuits.exam.subject import Subject
from softhat.circuits.graph import possible_nodes
from softhat.circuits.network import Array


def probing(subject: Subject, repository: Path | None = None) -> dict[str, float]:
    """Trained on the clean words, tested on the corrupt ones, at every symbol."""
    network, pairs = subject.network, subject.pairs
    train, margins = network.run(pairs.clean)
    test, other = network.run(pairs.corrupt)
    answers, wanted = (margins[..., 0] > 0).ravel(), (other[..., 0] > 0).ravel()
    majority = max(wanted.mean(), 1 - wanted.mean())
    nodes = {"logits": math.inf}
    for name in possible_nodes(subject.circuit.config)[:-1]:
        x, y = (_flat(part[name]) for part in (train, test))
        weights = np.linalg.lstsq(x, np.where(answers, 1.0, -1.0), rcond=1e-9)[0]
        nodes[name] = max(0.0, float(((y @ weights > 0) == wanted).mean() - majority))
    return by_ends(subject, nodes)


def _flat(x: Array) -> Array:
    """(words, rows, d) to (positions, d + 1), without `<bos>`, with a constant."""
    own = x[:, 1:].reshape(-1, x.shape[-1])
    return np.concatenate([own, np.ones((len(own), 1))], axis=1)
