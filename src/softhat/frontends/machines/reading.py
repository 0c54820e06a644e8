"""Machines from texts and dictionaries: `softhat.machine`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softhat.frontends.machines.automaton import automaton
from softhat.frontends.machines.cellular import cellular_automaton
from softhat.frontends.machines.counter import counter_machine
from softhat.frontends.machines.machine import Machine
from softhat.frontends.machines.stack import stack_machine
from softhat.frontends.machines.tables import from_table, is_table, turing_machine
from softhat.frontends.machines.turing import SPACE
from softhat.io.errors import SofthatError
from softhat.io.files.reading import parse_json

KEYS = {
    "turing": "tapes one_sided space states symbols blank start halt transitions",
    "counter": "program",
    "automaton": "regex alphabet states start accept transitions space",
    "transducer": "alphabet states start final transitions space",
    "cellular": "rule states width",
    "stack": "program order space",
}
"""What the dictionaries of each kind may have."""


def machine(description: str | Mapping[str, Any], space: int = SPACE) -> Machine:
    """The machine of a text or of a dictionary.

    A text is a Turing machine as bbchallenge writes them, `1RB1LB_1LA1RZ`, or a counter machine:
    lines `label: inc c next`, `label: dec c next otherwise` (otherwise: c is 0) and `label: halt`,
    of which the first comes first. A dictionary, or its JSON text, has a `kind` (turing, counter,
    automaton, transducer, cellular or stack) and what that kind needs. `space` is the number of
    cells of tapes, where the dictionary does not say.
    """
    if isinstance(description, str) and description.lstrip().startswith("{"):
        description = parse_json(description, "the machine's text")
    if isinstance(description, str):
        if is_table(description):
            return from_table(description, space)
        if ":" not in description:
            raise SofthatError(
                f"{description.strip()[:60]!r} is no machine: write a Turing machine's rows "
                "1RB1LB_1LA1RZ (symbol, L or R, state; no other characters), a counter machine's "
                "lines `label: inc c next`, or a dictionary"
            )
        return counter_machine(description.splitlines())
    if not isinstance(description, Mapping):
        raise SofthatError(f"a machine is a text or a dictionary, not {description!r}")
    kind = description.get("kind")
    if not isinstance(kind, str) or kind not in KEYS:
        raise SofthatError(f"unknown kind of machine {kind!r}: choose one of {', '.join(KEYS)}")
    for key in description:
        if key != "kind" and key not in KEYS[kind].split():
            raise SofthatError(f"a {kind} machine has no {key!r}: it has {KEYS[kind]}")
    match kind:
        case "turing":
            return turing_machine({"space": space, **description})
        case "counter":
            return counter_machine(_lines(description.get("program")))
        case "cellular":
            return cellular_automaton(description)
        case "stack":
            return stack_machine({"space": space, **description})
    return automaton({"space": space, **description})


def _lines(program: Any) -> list[str]:
    """A counter machine's lines, as a list or as one text."""
    if isinstance(program, str):
        return program.splitlines()
    if not isinstance(program, list | tuple) or not all(isinstance(x, str) for x in program):
        raise SofthatError("a counter machine's program is a list of lines: label: inc c next")
    return list(program)
