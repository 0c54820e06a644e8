"""What is read as a law is one; anything else is refused."""

from __future__ import annotations

import pytest

from softhat import SofthatError
from softhat.numbers.laws import from_json


@pytest.mark.parametrize(
    "data",
    [None, 3, "x", "0", "-1", "1/0", {}, {"n": "1"}, {"n": True}, {"sum": []},
     {"sum": ["1"], "n": 0},
     {"power": ["1", "2"]}, {"power": ["1"]}, {"rounded_up": ["1", 0]}, {"eval": "1"},
     {"lcm": 10**9}, [], {"table": ["a"], "beyond": "1"}],
    ids=str,
)  # fmt: skip
def test_what_is_no_law_is_refused(data: object) -> None:
    with pytest.raises(SofthatError):
        from_json(data)


def test_deep_nesting_is_refused() -> None:
    data: object = "2"
    for _ in range(1000):
        data = {"log": data}
    with pytest.raises(SofthatError, match="nested"):
        from_json(data)
