"""How much may be asked of a verification: beyond this no run would ever end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softhat.io.argument_types import whole_number

MOST = {
    "exhaustive": 1_000,
    "random": 10**7,
    "adversarial": 10**7,
    "max_length": 10**8,
    "max_words": 10**12,
}
"""By the option's name, in Python and on the command line."""


def check_amounts(asked: Mapping[str, Any]) -> None:
    """Refuse in one line what is no number, too few or too many."""
    for name, most in MOST.items():
        if name in asked:
            whole_number(name, asked[name], least=1 if name == "max_length" else 0, most=most)
    whole_number("seed", asked["seed"])
