"""The longest words that pass, and what a certificate says as JSON."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import VoidError
from softhat.proof.stock.certificate import (
    FormatVerdict,
    StockCertificate,
    dense_verdicts,
    longest,
    only_wide,
    or_reason,
    or_void,
)
from softhat.proof.stock.storage import need


@given(most=st.integers(1, 200), limit=st.integers(0, 250))
def test_bisection_finds_the_longest_and_its_bounds(most: int, limit: int) -> None:
    bounds: dict[str, float] = {}

    def check(n: int) -> None:
        bounds["length"] = n
        need(n <= limit, "too long")

    found = longest(check, most, bounds)
    assert found.max_length == min(limit, most)
    assert found.reason == ("" if limit >= most else "too long")
    if found.max_length:
        assert found.bounds == {"length": found.max_length}


def test_what_does_not_depend_on_the_length_comes_first() -> None:
    found = longest(lambda n: None, 10, {}, lambda: need(False, "never"))
    assert found == FormatVerdict(0, "never", {})


def test_why_nothing_is_proved() -> None:
    def fails() -> dict[str, FormatVerdict]:
        raise VoidError("because")

    assert or_reason(fails) == "because"
    assert or_reason(lambda: 3) == 3
    verdicts, void = or_void(fails)
    assert {(v.max_length, v.reason) for v in verdicts.values()} == {(0, "because")}
    assert void == ("because",)
    right = only_wide(FormatVerdict(7, "", {}))
    assert or_void(lambda: right) == (right, ())


def test_dense_bounds_are_for_wide_formats() -> None:
    class Some:
        def __init__(self, limit: int) -> None:
            need(limit > 0, "no bounds")
            self.limit, self.bounds = limit, {"noise": 0.5}

        def check(self, n: int) -> None:
            need(n <= self.limit, "too long")

    found = dense_verdicts(lambda: Some(5), 9)
    assert found["float32"] == found["float64"] == FormatVerdict(5, "too long", {"noise": 0.5})
    assert not found["bfloat16"].max_length and not found["float16"].max_length
    assert dense_verdicts(lambda: Some(0), 9)["float32"] == FormatVerdict(0, "no bounds", {})


def test_json_says_where_padding_may_stand() -> None:
    verdicts = only_wide(FormatVerdict(7, "", {"noise": 1e-6}))
    made = StockCertificate("gpt2", 8, "eager", None, verdicts, ("none",), ("float64",))
    document = made.to_json()
    assert document["max_length"] == {"float32": 7, "bfloat16": 0, "float16": 0, "float64": 7}
    formats = document["formats"]
    assert formats["float32"]["padding"] == ["left", "right"]
    assert formats["float64"]["padding"] == ["right"]
    assert formats["bfloat16"]["padding"] == []
    assert formats["float32"]["certified"] and "margin" not in document
