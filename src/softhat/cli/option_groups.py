"""Options that belong together are one parameter of a command: a dataclass of options.

Typer wants a parameter for each option, so it is shown the command with the fields of such a
dataclass in its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """The command with a parameter for each field of the dataclasses among its parameters."""
    shown: list[inspect.Parameter] = []
    groups: dict[str, type] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind = parameter.annotation
        if not (isinstance(kind, type) and is_dataclass(kind)):
            shown.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
            continue
        groups[parameter.name] = kind
        types = get_type_hints(kind, include_extras=True)
        shown += [
            parameter.replace(
                name=field.name, kind=parameter.KEYWORD_ONLY, default=field.default,
                annotation=types[field.name],
            )
            for field in fields(kind)
        ]  # fmt: skip

    @wraps(command)
    def whole(**options: Any) -> None:
        for name, kind in groups.items():
            options[name] = kind(**{field.name: options.pop(field.name) for field in fields(kind)})
        command(**options)

    whole.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return whole
