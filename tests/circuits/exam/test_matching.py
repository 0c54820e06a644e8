"""Marks of directions: matchings against all permutations, marks against values worked out by hand,
and methods that are found out."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.circuits.exam.directions import Features, sabotaged, true_directions
from softhat.circuits.exam.marking import mark_directions
from softhat.circuits.exam.matching import (
    DIRECTION_MEASURES,
    best_matching,
    direction_verdict,
    mark_features,
)
from softhat.circuits.exam.stored import marked_places, stored_bits
from softhat.circuits.exam.subject import Subject, read_subject
from softhat.circuits.network import Array
from softhat.io.errors import SofthatError
from tests.slices import examples

ID = "n-gram-1.gpt2-disguised"


@examples(60, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_matchings_against_all_permutations(rows: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gains = rng.choice([0.0, 0.25, 0.5, 1.0], (rows, columns))  # ties, too
    matching = best_matching(gains)
    assert len(matching) == len(set(matching.values())) == min(rows, columns)
    tall = gains if rows >= columns else gains.T
    best = max(
        sum(tall[row, column] for column, row in enumerate(order))
        for order in permutations(range(tall.shape[0]), tall.shape[1])
    )
    assert sum(gains[pair] for pair in matching.items()) == pytest.approx(best)


@pytest.fixture(scope="module")
def subject(paper: Path) -> Subject:
    return read_subject(paper, ID)


def truth(subject: Subject) -> Features:
    return true_directions(subject, None)


def test_the_truth_gets_1_in_any_order_and_size(subject: Subject) -> None:
    known = truth(subject)
    order = np.random.default_rng(0).permutation(len(known.directions))
    sizes = np.linspace(0.1, 3.0, len(order))[:, None]
    for features in (
        known,
        Features(known.directions[order], known.readers[order], known.thresholds[order]),
        Features(sizes * known.directions, known.readers, known.thresholds),
        Features(-known.directions, -known.readers, -known.thresholds),  # of falsehood
        Features.from_json(known.to_json(), subject.network.d_model),
    ):
        marks = mark_features(subject, features).measures
        assert [marks[name] for name in DIRECTION_MEASURES] == pytest.approx([1.0] * 4)


def test_marks_by_hand(subject: Subject) -> None:
    """One bit is found twice, one at 60 degrees, the others not at all."""
    known, bits = truth(subject), stored_bits(subject, marked_places(subject))
    count = len(bits.formulas)
    unit = known.directions / np.linalg.norm(known.directions, axis=1, keepdims=True)
    aside = np.linalg.svd(unit)[2][-1]  # orthogonal to all bits
    slanted = 0.5 * unit[1] + np.sqrt(0.75) * aside

    def chosen(values: Array) -> Array:
        return values[[0, 0, 1]]

    features = Features(
        np.array([unit[0], unit[0], slanted]), chosen(known.readers), chosen(known.thresholds)
    )
    marks = mark_features(subject, features).measures
    assert marks["uniqueness"] == pytest.approx(2 / 3)
    assert marks["MCC"] == pytest.approx(1.5 / count)  # the second copy is orthogonal to the rest
    share = bits.true[0].mean()
    never = Features(features.directions, features.readers, np.full(3, 1e9))
    always = Features(unit[:1], known.readers[:1], np.full(1, -1e9))
    assert mark_features(subject, never).measures["MCC"] == 0.0
    assert mark_features(subject, always).measures["F1"] == pytest.approx(
        2 * share / (1 + share) / count
    )
    assert mark_features(subject, always).measures["balanced accuracy"] == pytest.approx(0.5)


def test_sabotage_of_directions_is_found_out(subject: Subject) -> None:
    asked = {subject.id: subject.question}
    said = {}
    for how in ("random", "permuted", "reversed", None):
        known = truth(subject)
        features = [known if how is None else sabotaged(known, how, seed) for seed in range(3)]
        said[how] = direction_verdict([mark_features(subject, each) for each in features], asked)
    assert said == {
        "random": "no better than chance",
        "permuted": "no better than chance",
        "reversed": "upside down",
        None: "sound",
    }
    with pytest.raises(SofthatError, match="no sabotage 'everything' of directions"):
        sabotaged(truth(subject), "everything", 0)


def test_what_is_no_prediction_is_refused(paper: Path, subject: Subject) -> None:
    for features, message in (
        ({}, "lists of numbers"),
        ({"directions": [["x"]]}, "lists of numbers"),
        ({"directions": [[1.0]]}, "32 numbers each"),
        ({"directions": [[1.0] * 32], "thresholds": []}, "a threshold for every direction"),
        ({"directions": [[float("nan")] * 32]}, "not finite"),
    ):
        with pytest.raises(SofthatError, match=message):
            mark_directions(subject, {"features": features})
    with pytest.raises(SofthatError, match="not disguised"):
        mark_directions(read_subject(paper, "induction-1.gpt2"), {"features": {}})
    with pytest.raises(SofthatError, match="other weights"):
        mark_directions(subject, {"features": {}, "weights": "0"})


def test_mcc_and_uniqueness_are_those_of_sae_lens(subject: Subject) -> None:
    pytest.importorskip("scipy")
    pytest.importorskip("transformer_lens")
    torch = pytest.importorskip("torch")
    from softhat.circuits.exam.packages import SAE_LENS, import_package

    try:
        theirs = import_package(SAE_LENS, "synthetic.evals", None)
    except SofthatError:
        pytest.skip("sae_lens is not installed")
    stored = stored_bits(subject, marked_places(subject)).directions
    rng = np.random.default_rng(0)
    for count in (len(stored), 20, 40):
        found = rng.normal(size=(count, stored.shape[1]))
        marks = mark_features(subject, Features(found, found, np.full(count, -1e9))).measures
        each = [torch.from_numpy(array) for array in (found, stored)]
        assert marks["MCC"] == pytest.approx(theirs.mean_correlation_coefficient(*each))
        assert marks["uniqueness"] == pytest.approx(theirs.feature_uniqueness(*each))
