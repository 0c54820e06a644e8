"""Which formulas Coq is told, and which are refused."""

from __future__ import annotations

import pytest

from softhat import parse
from softhat.export.coq.formulas import check_formula, surface
from softhat.io.errors import SofthatError
from softhat.logic.syntax.signs import PREFIX, TEMPORAL, WINDOWS


def test_every_plain_operator_has_its_name() -> None:
    for sign, kind in PREFIX.items():
        assert surface(parse(f"{sign} a"), {"a": 0}, {}) == f"({kind.__name__} (Symbol 0))"
    for sign, between in TEMPORAL.items():
        wanted = f"({between.__name__} (Symbol 0) (Symbol 1))"
        assert surface(parse(f"a {sign} b"), {"a": 0, "b": 1}, {}) == wanted


@pytest.mark.parametrize("sign", WINDOWS)
def test_an_operator_that_coq_does_not_know_is_refused(sign: str) -> None:
    with pytest.raises(SofthatError, match=f"the operator {sign}:"):
        check_formula(parse(f"{sign}[1,2] a"))
