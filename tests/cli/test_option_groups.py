"""Groups of options: Typer sees their fields, the command gets them whole."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import typer

from softhat.cli.option_groups import flattened


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option(help="How wide.")] = 3
    deep: bool = False


def test_fields_stand_where_the_group_stood() -> None:
    seen: list[object] = []

    def command(name: str, size: Size, loud: bool = False) -> None:
        """Help."""
        seen.extend((name, size, loud))

    flat = flattened(command)
    assert list(inspect.signature(flat).parameters) == ["name", "width", "deep", "loud"]
    assert inspect.signature(flat).parameters["width"].default == 3
    assert flat.__doc__ == "Help."
    flat(name="x", width=5, deep=True, loud=False)
    assert seen == ["x", Size(5, True), False]
