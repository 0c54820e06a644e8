"""Snaps: the same exact values, and no error downstream of them."""

from __future__ import annotations

import itertools

import numpy as np

import softhat
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.lengths import Lengths
from softhat.ahat.simulation.snap import snapped
from tests.ahat.definition import evaluate, softmax_values


def test_exact_values_stay() -> None:
    model = GALLERY["induction-average"]()
    more = snapped(model, 5)
    assert len(more.layers) == len(model.layers) + 1
    for n in range(1, 6):
        for letters in itertools.product("ab", repeat=n):
            assert evaluate(more, letters).values == evaluate(model, letters).values


def test_a_snap_rescues_a_dangerous_tie() -> None:
    model = GALLERY["induction-average"]()
    plain = softhat.simulate(model, max_length=7)
    rounded = softhat.simulate(model, max_length=7, snap=True)
    assert rounded.certificate.error <= 1e-3
    assert rounded.betas[0, 0] < plain.betas[0, 0] / 2
    # Layer 0 leaks much, and nothing of it arrives.
    warm = {**rounded.betas, (0, 0): 3.0}
    cold = {**rounded.betas, (0, 0): 300.0}
    lengths = Lengths(rounded.source)
    assert lengths.bound(6, warm).error == lengths.bound(6, cold).error
    for letters in itertools.product("ab", repeat=5):
        exact = np.array(model.values(letters), dtype=float)
        soft = np.array(softmax_values(rounded.source, rounded.betas, letters), dtype=float)
        assert np.abs(soft - exact).max() <= rounded.certificate.error + 1e-12


def test_nothing_to_snap() -> None:
    for name in ("majority", "last-token", "dyck-argmin"):
        model = GALLERY[name]()
        assert snapped(model, 5) == model
