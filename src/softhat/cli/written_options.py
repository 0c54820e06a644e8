"""Which options stand on the command line, whatever their values.

An option that has no effect on what was given is refused: ignored, it would be a promise. To
compare values with defaults would let `--attention unbounded` pass for a folder that was compiled
for another target. So the command notes what was written before it begins.
"""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path
from typing import Any

from typer.core import TyperCommand
from typer.main import get_click_type
from typer.models import OptionInfo

from softhat.io.errors import SofthatError

_PATH: Any = type(get_click_type(annotation=Path, parameter_info=OptionInfo()))
_GIVEN: ContextVar[frozenset[str]] = ContextVar("given", default=frozenset())


class NotingCommand(TyperCommand):
    """A command that notes which options were written."""

    def invoke(self, ctx: Any) -> Any:
        for parameter in self.params:  # an empty name would be the working directory
            if isinstance(parameter.type, _PATH) and ctx.params.get(parameter.name) == "":
                raise SofthatError(f"{parameter.human_readable_name} is empty: give a name")
        written = frozenset(
            max(option.opts, key=len)
            for option in self.params
            if (source := ctx.get_parameter_source(option.name)) is not None
            and source.name == "COMMANDLINE"
        )
        token = _GIVEN.set(written)
        try:
            return super().invoke(ctx)
        finally:
            _GIVEN.reset(token)


def is_given(option: str) -> bool:
    """Does `--option` stand on the command line?"""
    return option in _GIVEN.get()


def refuse_given(why: str, *options: str) -> None:
    """Refuse the first of these options that was written; `why` says what has no use for it."""
    for option in options:
        if is_given(option):
            raise SofthatError(f"{why}: leave {option} out")
