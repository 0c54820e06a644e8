"""Runs of machines: after every history exactly one token is allowed, so that greedy decoding is
what the formulas say.

The functions are the read-out's own, canonical diagrams over the truth of atoms. What is decided is
more than a run needs: for every truth of the atoms, whether a history has it or not, one token and
only one is allowed. Functions are joined in pairs, so that each is looked at a logarithm of times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from softhat.io.errors import VoidError
from softhat.proof.boolean import Space


def exactly_one(space: Space, functions: Mapping[str, int], at_start: Sequence[str]) -> None:
    """One of `functions` holds at every position; `at_start` are those allowed before the first."""
    if len(at_start) != 1:
        raise VoidError(f"{len(at_start)} tokens are allowed before the first, not exactly one")
    groups = [([name], function) for name, function in functions.items()]
    while len(groups) > 1:
        joined = []
        for (left, f), (right, g) in zip(groups[0::2], groups[1::2], strict=False):
            if space.both(f, g) != space.false:
                _refuse(space, functions, left, right)
            joined.append((left + right, space.either(f, g)))
        groups = joined + (groups[-1:] if len(groups) % 2 else [])
    if groups[0][1] != space.true:
        raise VoidError("there may be a history after which no token is allowed")


def _refuse(
    space: Space, functions: Mapping[str, int], left: Sequence[str], right: Sequence[str]
) -> None:
    for a in left:
        for b in right:
            if space.both(functions[a], functions[b]) != space.false:
                raise VoidError(f"{a!r} and {b!r} may both be allowed after one history")
