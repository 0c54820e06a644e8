"""Machines from texts and dictionaries: `softhat.machine`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softhat.frontends.machines.counter import counter_machine
from softhat.frontends.machines.machine import Machine
from softhat.frontends.machines.turing import SPACE, from_table, is_table, turing_machine
from softhat.io.errors import SofthatError

KINDS = ("turing", "counter")


def machine(description: str | Mapping[str, Any], space: int = SPACE) -> Machine:
    """The machine of a text or of a dictionary.

    A text is a Turing machine as bbchallenge writes them, `1RB1LB_1LA1RZ`, or a counter machine:
    lines `label: inc c next`, `label: dec c next otherwise` (otherwise: c is 0) and `label: halt`,
    of which the first comes first. A dictionary has a
    `kind` and what that kind needs.
    """
    if isinstance(description, str):
        if is_table(description):
            return from_table(description, space)
        return counter_machine(description.splitlines())
    if not isinstance(description, Mapping):
        raise SofthatError(f"a machine is a text or a dictionary, not {description!r}")
    match description.get("kind"):
        case "turing":
            return turing_machine({"space": space, **description})
        case "counter":
            return counter_machine(description["program"])
    raise SofthatError(
        f"unknown kind of machine {description.get('kind')!r}: choose one of {', '.join(KINDS)}"
    )
