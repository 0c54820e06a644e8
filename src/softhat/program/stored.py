"""Attention programs as plain data, for the files of models that no formula describes.

A node is {"kind": name, "with": [its fields]}, a literal [signal, positive], a fraction "p/q".
What is read has the types that its classes declare, and every part that the meaning of a program
asks for: whoever evaluates, lowers or proves a program need not doubt its form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints
from typing import Literal as Choice

from softhat.io.errors import SofthatError
from softhat.program.gates import And, Gate, Steps, Table, Total, Xor
from softhat.program.heads import At, Average, Head, MatchMean, Recall, Selector, Shift, Sign
from softhat.program.inputs import Input, PositionBit, PositionMod, TokenIn
from softhat.program.literals import Literal, literals_in
from softhat.program.signals import Number, Program, Signal, is_number

_KINDS = {
    kind.__name__: kind
    for kind in (*get_args(Input), *get_args(Gate), *get_args(Head), Selector, Number, Program)
}
MOST_DIGITS = 62
"""Of a position's number: they are bits of one machine integer."""
LARGEST = 1 << 53
"""Of whole numbers in a program."""
MOST_TIMES = 1 << 32
"""That a count is taken: sums of counts are machine integers."""
FARTHEST = 1 << 16
"""That a Shift reads: no program is compiled for longer words."""
_FRACTION = re.compile(r"-?[0-9]{1,400}(/0*[1-9][0-9]{0,399})?")


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
        program: Program = _read(data, Program)
        _check(program)
    except (ValueError, RecursionError) as error:
        raise SofthatError(f"the attention program is damaged: {error}") from None
    return program


def fraction_from(text: Any) -> Fraction:
    """A fraction as `str` writes it: no exponents, which may stand for gigabytes."""
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise ValueError(f"expected a fraction p/q, not {_shown(text)}")
    return Fraction(text)


def _read(data: Any, kind: Any) -> Any:
    """A value of the type `kind`, as a class declares it."""
    match data:
        case {"literal": [int(signal), bool(positive)]} if kind is Literal and len(data) == 1:
            return Literal(_read(signal, int), positive)
        case {"fraction": text} if kind is Fraction and len(data) == 1:
            return fraction_from(text)
        case {"kind": str(name), "with": list(parts)} if len(data) == 2:
            node = _KINDS.get(name)
            if node is not None and node in _members(kind):
                return _node(node, parts)
        case list() if get_origin(kind) is tuple:
            declared = get_args(kind)
            if declared[-1] is ...:
                return tuple(_read(part, declared[0]) for part in data)
            if len(declared) == len(data):
                return tuple(map(_read, data, declared))
        case bool() if kind is bool:
            return data
        case int() if int in _members(kind) and not isinstance(data, bool):
            if abs(data) <= LARGEST:
                return data
        case str() if kind is str or (get_origin(kind) is Choice and data in get_args(kind)):
            return data
        case None if NoneType in _members(kind):
            return data
    raise ValueError(f"unexpected part {_shown(data)}")


def _node(kind: type, parts: list[Any]) -> Any:
    declared = _declared(kind)
    if len(parts) != len(declared):
        raise ValueError(f"{kind.__name__} has {len(parts)} fields")
    return kind(*map(_read, parts, declared))


@cache
def _declared(kind: type) -> tuple[Any, ...]:
    """The types of the fields of a class, in order."""
    hints = get_type_hints(kind)
    return tuple(hints[field.name] for field in fields(kind))


def _members(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)


def _shown(data: Any) -> str:
    return repr(data)[:40]


def _check(program: Program) -> None:
    """Signals refer to earlier ones of the kind they need, and everything has a label."""
    if len(program.labels) != len(program.signals):
        raise ValueError("labels are missing")
    _check_distinct("a symbol", program.symbols)
    _check_distinct("an output", [name for name, _ in (*program.outputs, *program.numbers)])
    bits = {-1}
    for at, signal in enumerate(program.signals):
        reads = getattr(signal, "reads", ())
        if not all(-1 <= read < at for read in reads):
            raise ValueError(f"signal {at} reads what comes later")
        if not _fits(signal, program, bits):
            raise ValueError(f"signal {at}, a {type(signal).__name__}, has parts that do not fit")
        if not is_number(signal):
            bits.add(at)
    for _, literal in program.outputs:
        if literal.signal not in bits:
            raise ValueError("an output reads no bit")
    for _, number in program.numbers:
        for read in number.reads:
            numeric = 0 <= read < len(program.signals) and isinstance(
                program.signals[read], Average | MatchMean | Total
            )
            if not numeric and read not in bits - {-1}:
                raise ValueError("a numeric output reads no number")


def _check_distinct(what: str, names: Iterable[str]) -> None:
    listed = list(names)
    if len(set(listed)) < len(listed):
        raise ValueError(f"{what} stands there twice")


def _fits(signal: Signal, program: Program, bits: set[int]) -> bool:
    """Does a signal ask only what its kind may? `bits` are the earlier signals that are bits."""
    match signal:
        case TokenIn(symbols):
            known = set(symbols) <= set(program.symbols)
            return known and (len(symbols) == 1 or not program.propositional)
        case PositionMod(modulus, remainder):
            return 0 <= remainder < modulus
        case PositionBit(bit):
            return 0 <= bit < MOST_DIGITS
        case Total(terms, most):
            small = all(abs(a) <= MOST_TIMES for a, _ in terms) and 0 <= most <= MOST_TIMES
            return small and _all_are(program, [read for _, read in terms], "Width")
        case Steps(count, turns):
            rising = all(a < b for a, b in pairwise(turns))
            return rising and _all_are(program, [count], "Width", "Total")
        case Sign():
            places = {"past": signal.past, "future": signal.future, "total": signal.total}
            asked = {name: at for name, at in places.items() if at is not None}
            return _all_are(program, list(asked.values()), "Average") and all(
                getattr(program.signals[at], "range", None) == name for name, at in asked.items()
            )
        case Xor(left, right):
            return {left, right} <= bits - {-1}
        case Shift(distance=distance) if not 2 <= distance <= FARTHEST:
            return False
        case At(queries, keys) | Recall(queries=queries, keys=keys) if (
            len(queries) != len(keys) or not keys
        ):
            return False
        case At(longest=longest) if longest < 1:
            return False
        case And(()) | Table(()):
            return False
        case Table(terms) if not all(terms):
            return False
    selector = getattr(signal, "selector", None)
    if selector is not None and not _is_whole(selector):
        return False
    counted = () if isinstance(signal, Table) else getattr(signal, "terms", ())
    return all(literal.signal in bits for literal in literals_in(signal)) and all(
        read in bits for _, read in counted
    )


def _all_are(program: Program, places: list[int], *kinds: str) -> bool:
    return all(at >= 0 and type(program.signals[at]).__name__ in kinds for at in places)


def _is_whole(selector: Selector) -> bool:
    """Its table names categories that it has."""
    queries, keys = range(len(selector.queries)), range(len(selector.keys))
    return selector.longest >= 1 and all(q in queries and k in keys for q, k in selector.table)
