"""One token at a time in hard attention: the truth of formulas, computed word by word."""

from __future__ import annotations

import numpy as np
import pytest

import softhat
from softhat.io.errors import SofthatError
from softhat.program.build import build
from softhat.runtime.hard_stepper import hard_steps

FORMULAS = (
    "a", "!a S b", "Y a", "Y Y Y a", "O[2,4] a", "H !b", "#(a) >= #(b)", "2*#(a) - #(b) = 3",
    "Y(a S b) | (b T a)", "mod(3, 1) & a", "first | (a xor b)", "last[a | a = b, Y a = Y b]",
    "last[Y a | b = a]", "i >= 4 & #(a) > 1", "at(prime) -> a", "true", "#(#(a) > 2) > 1",
)  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_each_step_is_the_formulas_truth(text: str) -> None:
    formula = softhat.parse(text)
    rng = np.random.default_rng(len(text))
    program = build({"f": formula}, ("a", "b"), False)
    for _ in range(5):
        codes = rng.integers(0, 2, 40).tolist()
        step = hard_steps(program)()
        truth = formula.truth("".join("ab"[code] for code in codes))
        assert [step(code) == 0 for code in codes] == truth.tolist()


def test_what_looks_ahead_is_refused() -> None:
    with pytest.raises(SofthatError, match="one token after the other"):
        hard_steps(build({"f": softhat.parse("X a")}, ("a", "b"), False))
    with pytest.raises(SofthatError, match="propositions"):
        hard_steps(build({"f": softhat.parse("p")}, ("p",), True))
