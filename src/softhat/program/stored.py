"""Attention programs as plain data, for the files of models that no formula describes.

A node is {"kind": name, "with": [its fields]}, a literal [signal, positive], a fraction "p/q".
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any, get_args

from softhat.io.errors import SofthatError
from softhat.program.gates import Gate
from softhat.program.heads import Head, Selector
from softhat.program.inputs import Input
from softhat.program.literals import Literal
from softhat.program.signals import Number, Program

_KINDS = {
    kind.__name__: kind
    for kind in (*get_args(Input), *get_args(Gate), *get_args(Head), Selector, Number, Program)
}


def to_json(node: Any) -> Any:
    """A program, or a part of one, as plain data."""
    match node:
        case Literal(signal, positive):
            return {"literal": [signal, positive]}
        case Fraction():
            return {"fraction": str(node)}
        case tuple():
            return [to_json(part) for part in node]
        case str() | int() | bool() | None:
            return node
    if not is_dataclass(node) or type(node).__name__ not in _KINDS:
        raise TypeError(f"not a part of a program: {node!r}")
    return {
        "kind": type(node).__name__,
        "with": [to_json(getattr(node, field.name)) for field in fields(node)],
    }


def program_from_json(data: Any) -> Program:
    """What `to_json` wrote of a program; `SofthatError` if it did not."""
    try:
        program = _read(data)
        if not isinstance(program, Program):
            raise TypeError("it is no program")
        _check(program)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise SofthatError(f"the attention program is damaged: {error}") from None
    return program


def _read(data: Any) -> Any:
    match data:
        case {"literal": [int(signal), bool(positive)]}:
            return Literal(signal, positive)
        case {"fraction": str(text)}:
            return Fraction(text)
        case {"kind": str(name), "with": list(parts)}:
            kind = _KINDS[name]
            if len(parts) != len(fields(kind)):
                raise TypeError(f"{name} has {len(parts)} fields")
            return kind(*map(_read, parts))
        case list():
            return tuple(map(_read, data))
        case str() | int() | bool() | None:
            return data
    raise TypeError(f"unknown part {str(data)[:40]!r}")


def _check(program: Program) -> None:
    """Signals refer to earlier ones, and everything has a label."""
    if len(program.labels) != len(program.signals):
        raise ValueError("labels are missing")
    known = (*get_args(Input), *get_args(Gate), *get_args(Head))
    for at, signal in enumerate(program.signals):
        if not isinstance(signal, known):
            raise TypeError(f"signal {at} is none")
        reads = getattr(signal, "reads", ())
        if not all(-1 <= read < at for read in reads):
            raise ValueError(f"signal {at} reads what comes later")
    for _, literal in program.outputs:
        if not -1 <= literal.signal < len(program.signals):
            raise ValueError("an output reads no signal")
    for _, number in program.numbers:
        if not all(0 <= read < len(program.signals) for read in number.reads):
            raise ValueError("a numeric output reads no signal")
