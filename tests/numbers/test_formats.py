"""The facts of number formats are those that NumPy and ml_dtypes know."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from softhat.numbers.formats import FORMATS
from softhat.proof import arithmetic


@pytest.mark.parametrize("form", FORMATS.values(), ids=lambda form: form.name)
def test_facts(form: object) -> None:
    from softhat.numbers.formats import Format

    assert isinstance(form, Format)
    known = ml_dtypes.finfo(form.storage)
    assert form.digits == known.nmant + 1
    assert form.sum_digits == np.finfo(form.accumulate).nmant + 1
    assert form.largest == float(known.max)
    assert form.normal == float(known.smallest_normal)
    assert form.smallest == float(known.smallest_subnormal)
    with np.errstate(under="ignore"):
        assert np.exp(form.accumulate(-form.lost)) == 0
        assert np.exp(form.accumulate(1.5 - form.lost)) > 0


def test_the_proof_reads_the_same_facts() -> None:
    for name, form in FORMATS.items():
        seen = arithmetic.FORMATS[name]
        assert (seen.digits, seen.sum_digits) == (form.digits, form.sum_digits)
        assert (seen.largest, seen.smallest, seen.normal) == (
            form.largest,
            form.smallest,
            form.normal,
        )
