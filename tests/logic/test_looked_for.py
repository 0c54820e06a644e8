"""The table "What people look for" of docs/language.md: each formula says what its row claims."""

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from softhat import parse

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
MEANS: dict[str, Callable[[str], bool]] = {
    "#(a) > #(b)": lambda w: w.count("a") > w.count("b"),
    "#(a) = #(b)": lambda w: w.count("a") == w.count("b"),
    "2*#*(a) >= n": lambda w: 2 * w.count("a") >= len(w),
    "F (2*#(a) = #*(a))": lambda w: w.count("a") % 2 == 0,
    "F (3*#(a) = #*(a))": lambda w: w.count("a") % 3 == 0,
    "F (3*#(a) = #*(a) - 2) | #*(a) = 2": lambda w: w.count("a") % 3 == 2,
    "F (last & mod(2, 0))": lambda w: len(w) % 2 == 0,
    "mod(2, 0)": lambda w: len(w) % 2 == 0,
}


@pytest.mark.parametrize("text", MEANS)
def test_formulas_mean_what_the_table_says(text: str) -> None:
    formula, means = parse(text), MEANS[text]
    at = "first" if text.startswith("F") else "last"
    for length in range(1, 10):
        for word in map("".join, product("ab", repeat=length)):
            assert formula.accepts(word, at=at) == means(word), word


def test_every_formula_of_the_table_is_tried() -> None:
    page = PAGE.read_text("utf-8")
    table = page[page.index("## What people look for") : page.index("Why some prefix")]
    cells = [line.replace(r"\|", "¦").split("|")[2] for line in table.splitlines() if "|" in line]
    written = [form.replace("¦", "|") for cell in cells for form in re.findall("`([^`]+)`", cell)]
    assert set(written) == {*MEANS, "2*i = n + 1"}
    middle = parse("2*i = n + 1")
    assert all(middle.truth("a" * n).tolist() == [2 * i == n + 1 for i in range(1, n + 1)]
               for n in range(1, 12))  # fmt: skip
