"""Hidden units that share a side of a clip: what they read on the mean, and write together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from softhat.io.errors import VoidError
from softhat.proof.dense.sharing import sharing
from softhat.transformer.directions import DisguisedUnits

UNITS = DisguisedUnits(
    part=np.array([1, 0, 1, -1]),
    share=np.array([0.25, 1.0, 0.75, 0.0], np.float32),
    factor=np.array([2.0, 4.0, 0.5, 1.0], np.float32),
)


def test_means_and_totals_by_side() -> None:
    found = sharing(UNITS, 4, 0)
    read = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [9.0, 9.0]])
    assert np.array_equal(found.mean(read), [[3.0, 4.0], [1.0, 2.0]])
    written = np.array([[1.0], [1.0], [4.0], [7.0]])
    assert np.array_equal(found.total(written), [[4.0], [4.0]])  # 4·1, and 2·1 + 0.5·4


@pytest.mark.parametrize(
    ("units", "count", "reason"),
    [
        (UNITS, 5, "not of these hidden units"),
        (replace(UNITS, share=np.array([np.nan, 1, 1, 0], np.float32)), 4, "not of these hidden"),
        (replace(UNITS, factor=np.array([0, 1, 1, 1], np.float32)), 4, "not positive"),
        (replace(UNITS, factor=np.array([np.inf, 1, 1, 1], np.float32)), 4, "not positive"),
        (replace(UNITS, part=np.array([9, 0, 1, -1])), 4, "more sides"),
    ],
)
def test_other_claims_are_refused(units: DisguisedUnits, count: int, reason: str) -> None:
    with pytest.raises(VoidError, match=reason):
        sharing(units, count, 3)
