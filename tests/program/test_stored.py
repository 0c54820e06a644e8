"""Programs as plain data: read back as they were, and refused where they are damaged."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from softhat.io.errors import SofthatError
from softhat.program.draft import Draft
from softhat.program.gates import Steps, Total
from softhat.program.heads import At, Average, Match, MatchMean, Selector, Shift, Width
from softhat.program.inputs import PositionBit, PositionMod
from softhat.program.literals import TRUE
from softhat.program.signals import Number, Program
from softhat.program.stored import program_from_json, to_json


def program_of() -> Program:
    draft = Draft("abc")
    a, b = draft.token("a"), draft.token("b")
    digits = tuple(draft.add(PositionBit(k, 1, 0, 0), f"i{k}") for k in range(3))
    selector = Selector((a, b), (b, a), ((0, 0), (1, 1)), "<=", 7)
    width = draft.add(Width(selector), "width").signal
    total = draft.add(Total(((2, width),), 7), "total").signal
    mean = draft.add(MatchMean(selector, ((3, a.signal), (-1, -1))), "mean").signal
    average = draft.add(Average(((1, b.signal),), "past"), "average").signal
    bits = [
        draft.add(Steps(total, (1, 3)), "steps"),
        draft.add(Match(selector, a), "match"),
        draft.add(At(digits, (*digits[1:], TRUE), a, "none", 7), "at"),
        draft.add(Shift(a, 2, "future"), "shift"),
        draft.add(PositionMod(3, 1), "mod"),
    ]
    numbers = {"x": Number(((Fraction(1, 3), mean), (Fraction(2), average)), Fraction(-5, 7))}
    return draft.finish({str(k): bit for k, bit in enumerate(bits)}, numbers)


def test_a_program_is_read_back() -> None:
    program = program_of()
    assert program_from_json(json.loads(json.dumps(to_json(program)))) == program


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, part in items:
        if isinstance(part, dict | list):
            found += places(part, (*path, key))
        else:
            found.append((*path, key))
    return found


def test_no_damage_gets_through_as_another_error() -> None:
    """Any part may be replaced by anything: it is a program still, or refused in one line."""
    plain = to_json(program_of())
    where = places(plain)
    rng = np.random.default_rng(5)
    junk: list[Any] = [None, -7, 10**30, "x", [], {}, {"kind": "Latest", "with": []}, [[[]]], True]
    for _ in range(400):
        data = copy.deepcopy(plain)
        path = where[rng.integers(len(where))]
        part = data
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = junk[rng.integers(len(junk))]
        try:
            assert isinstance(program_from_json(data), Program)
        except SofthatError as error:
            assert str(error).startswith("the attention program is damaged")


@pytest.mark.parametrize("data", [None, [], {}, "x", {"kind": "And", "with": [[]]}])
def test_what_is_no_program(data: Any) -> None:
    with pytest.raises(SofthatError, match="the attention program is damaged"):
        program_from_json(data)


def test_signals_refer_to_earlier_ones() -> None:
    data = to_json(program_of())
    signals = data["with"][0]
    signals.reverse()
    with pytest.raises(SofthatError, match="reads what comes later"):
        program_from_json(data)
    with pytest.raises(TypeError, match="not a part of a program"):
        to_json(object())
