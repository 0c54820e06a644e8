"""Boolean gates over any Boolean algebra: masks, arrays of bits, sets, truth values.

What a formula means at many positions at once is computed in several representations. In all of
them `&`, `|` and `^` are what they are for one truth value, so gates are written once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softhat.logic.syntax import nodes

Gate = nodes.Not | nodes.And | nodes.Or | nodes.Xor | nodes.Implies | nodes.Iff


def gate(node: Gate, below: Sequence[Any], everything: Any) -> Any:
    """The gate's value from its operands' values; `everything` is the value of `true`."""
    match node:
        case nodes.Not():
            return everything ^ below[0]
        case nodes.And():
            return below[0] & below[1]
        case nodes.Or():
            return below[0] | below[1]
        case nodes.Xor():
            return below[0] ^ below[1]
        case nodes.Implies():
            return everything ^ below[0] | below[1]
        case nodes.Iff():
            return everything ^ below[0] ^ below[1]
