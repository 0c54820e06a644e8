"""Numerical predicates as users give them: by bits, lists or functions; and as tables for files.

A proof is about the predicate that this makes, whatever was meant by it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.numbers.arithmetic_sets import BUILT_IN
from softhat.numbers.predicates import (
    Function,
    Listed,
    ListedByLength,
    Periodic,
    Predicate,
    check_name,
    column,
)

LENGTH = 4096
"""How far a function becomes a table unless something else is said."""
LONGEST = 1 << 24
"""Positions in a table: beyond, files and memory would burst."""
LONGEST_BY_LENGTH = 1 << 14
"""Lengths in a table of lengths: 2^27 bits."""


def define(name: str, definition: Any) -> Predicate:
    """The predicate that a user means by a function, bits, or a list of them."""
    check_name(name)
    if isinstance(definition, Predicate):
        if definition.name != name:
            raise SofthatError(f"the numerical predicate {definition.name!r} is not {name!r}")
        return definition
    if name in BUILT_IN:
        raise SofthatError(f"the numerical predicate {name!r} is built in: choose another name")
    if isinstance(definition, str):
        return _from_text(name, definition)
    if callable(definition):
        return Function(name, definition, _arguments(name, definition) == 2)
    if isinstance(definition, Sequence | np.ndarray):
        return _from_list(name, definition)
    raise SofthatError(
        f"the numerical predicate {name!r} must be bits such as '0110(01)', a list of bits, or a "
        f"function of i or of i and n, not {definition!r}"
    )


_TEXT = re.compile(r"([01]*)(?:\(([01]+)\))?")


def _from_text(name: str, text: str) -> Predicate:
    match = _TEXT.fullmatch(re.sub(r"[\s_]", "", text))
    if match is None or not (match[1] or match[2]):
        shown = text if len(text) < 40 else f"{text[:39]}…"
        raise SofthatError(
            f"the numerical predicate {name!r} must be bits, with those that repeat for ever in "
            f"parentheses, such as 0110(01), not {shown!r}"
        )
    _check_size(name, len(text))
    return Listed(name, match[1]) if match[2] is None else Periodic(name, match[1], match[2])


def _from_list(name: str, values: Sequence[Any] | NDArray[Any]) -> Predicate:
    _check_size(name, len(values))
    bits = []
    for i, value in enumerate(values, start=1):
        if not (isinstance(value, bool | np.bool_ | int | np.integer) and value in (0, 1)):
            raise SofthatError(
                f"the numerical predicate {name!r} must be a list of 0 and 1, not {value!r} at "
                f"position {i}"
            )
        bits.append("01"[int(value)])
    if not bits:
        raise SofthatError(f"the numerical predicate {name!r} is empty: give at least one bit")
    return Listed(name, "".join(bits))


def _check_size(name: str, size: int) -> None:
    if size > LONGEST:
        raise SofthatError(
            f"the numerical predicate {name!r} has {size:,} positions, more than {LONGEST:,}"
        )


def _arguments(name: str, function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1  # built-in functions that do not say
    needed = [
        p
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    if len(needed) not in (1, 2):
        raise SofthatError(
            f"the numerical predicate {name!r} must be a function of i, or of i and n, not of "
            f"{len(needed)} arguments"
        )
    return len(needed)


def tabulated(predicate: Predicate, length: int = LENGTH) -> Predicate:
    """The same predicate in a form that files can hold: a function becomes a table for words of at
    most `length` symbols."""
    if not isinstance(predicate, Function):
        return predicate
    most = LONGEST_BY_LENGTH if predicate.takes_length else LONGEST
    if not isinstance(length, int) or not 1 <= length <= most:
        raise SofthatError(
            f"predicate_length is the length of the table of {predicate.name!r}, 1 to {most:,}, "
            f"not {length!r}"
        )
    name = predicate.name
    if not predicate.takes_length:
        held = column(predicate, np.arange(1, length + 1), length)
        return Listed(name, "".join("01"[bool(bit)] for bit in held))
    rows = [column(predicate, np.arange(1, n + 1), n) for n in range(1, length + 1)]
    return ListedByLength(name, length, np.packbits(np.concatenate(rows)).tobytes())
