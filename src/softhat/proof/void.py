"""Why nothing is proved: what a derivation raises, as a sentence of the certificate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from softhat.io.errors import VoidError
from softhat.proof.boolean import MOST_NODES, TooLargeError

UNPROVED = (VoidError, TooLargeError, ArithmeticError)
"""What a derivation may end with; anything else is a mistake of ours."""


@contextmanager
def reading(what: object) -> Iterator[None]:
    """Errors say what was read."""
    try:
        yield
    except VoidError as error:
        raise VoidError(f"{what}: {error}") from None


def reason_of(error: Exception) -> str:
    """The sentence for one of `UNPROVED`."""
    match error:
        case TooLargeError():
            return f"a Boolean function needs more than {MOST_NODES:,} nodes: not decided"
        case ArithmeticError():
            return f"the weights lead to numbers that float64 does not hold ({error})"
    return str(error)
