"""Values that a caller in Python gives: of the type that is meant, or refused in one line.

The command line reads its options as numbers and texts. In Python anything can come, and what
Python itself says of a wrong type ("'<' not supported between …") names neither the option nor what
was expected. `True` and `False` are no numbers here.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from softhat.io.errors import SofthatError

_SHOWN = 60  # characters of a wrong value


def shown(value: object) -> str:
    """A value as an error shows it: short, or only its type."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"a value of type {type(value).__name__}"


def whole_number(name: str, value: Any, least: int = 0, most: int | None = None) -> None:
    """Refuse what is not a whole number from `least` up, and to `most` if there is such a limit."""
    if type(value) is bool or not isinstance(value, Integral) or int(value) < least:
        raise SofthatError(f"{name} must be a whole number, at least {least}, not {shown(value)}")
    if most is not None and int(value) > most:
        raise SofthatError(f"{name} must be at most {most:,}, not {shown(value)}")


def real_number(name: str, value: Any) -> None:
    """Refuse what is not a number."""
    if type(value) is bool or not isinstance(value, Real):
        raise SofthatError(f"{name} must be a number, not {shown(value)}")


def instance(name: str, value: Any, kind: type | tuple[type, ...], said: str) -> None:
    """Refuse what is not of a class; `said` names the class in words."""
    if not isinstance(value, kind):
        raise SofthatError(f"{name} must be {said}, not {shown(value)}")


def several(name: str, value: Any) -> list[Any]:
    """The members of a collection, or a refusal of what is none."""
    if not isinstance(value, Iterable) or isinstance(value, bytes):
        raise SofthatError(f"{name} must be a collection, not {shown(value)}")
    return list(value)


def texts(name: str, value: Any) -> list[str]:
    """The members of a collection of texts, such as an alphabet; a text is one of characters."""
    members = several(name, value)
    wrong = [member for member in members if not isinstance(member, str)]
    if wrong:
        raise SofthatError(f"{name} must be a collection of texts, not with {shown(wrong[0])}")
    return members
