"""Exact numbers, position features and numerical predicates in files.

Reading is careful, and errors name the place. Numbers are integers, or strings such as `"1/3"` and
`"0.125"`: a JSON float is refused, since the text `0.1` would then mean two different numbers. A
predicate writes itself (`Predicate.to_json`). A proof about weights reads none of these.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from softhat.io.errors import SofthatError
from softhat.numbers.arithmetic_sets import BUILT_IN
from softhat.numbers.definitions import LONGEST_BY_LENGTH, define
from softhat.numbers.positions import NAMES, DigitFeature, Feature, Holds, Mod, Named, Table
from softhat.numbers.predicates import BuiltIn, ListedByLength, Predicate

_NUMBER = re.compile(r"[+-]?(\d+(/\d+)?|\d*\.\d+|\d+\.)\Z", re.ASCII)
_LONGEST = 4000  # digits; Python itself refuses longer integers by default


def number_to_json(x: Fraction) -> int | str:
    """An integer as such, any other rational as `"p/q"`."""
    return int(x) if x.denominator == 1 else str(x)


def number_from_json(data: Any, place: str) -> Fraction:
    """The rational that `to_json` (or a person) wrote; errors name its place in the file."""
    if type(data) is int:
        return Fraction(data)
    if isinstance(data, float):
        raise SofthatError(f'{place}: {data!r} is a JSON float; write it as a string, "{data!r}"')
    if not isinstance(data, str):
        raise SofthatError(
            f"{place} must be an integer or a string such as '1/3', not {kind_of_data(data)}"
        )
    text = data.strip()
    if not _NUMBER.match(text) or len(text) > _LONGEST:
        raise SofthatError(
            f"{place}: {data[:40]!r} is not a rational number; write '3', '1/3' or '0.5'"
        )
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise SofthatError(f"{place}: {data!r} divides by zero") from None


def kind_of_data(data: Any) -> str:
    """What a piece of JSON is, in words."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}
    return names.get(type(data), "null" if data is None else f"the number {data!r}")


def to_json(feature: Feature) -> Any:
    """The feature as plain data, for files."""
    match feature:
        case Named(name, scaled):
            return {"name": name, "over": "P"} if scaled else name
        case Mod(modulus, remainder, sinks):
            pair = {"mod": [modulus, remainder]}
            return pair if sinks else {**pair, "sinks": False}
        case DigitFeature(bit, position, length, constant):
            return {"digit": [bit, position, length, constant]}
        case Table(entries):
            return {"table": [number_to_json(x) for x in entries]}
        case Holds(predicate):
            return predicate.to_json()


def from_json(data: Any, place: str) -> Feature:
    """The feature that `to_json` wrote; errors name its place in the file."""
    match data:
        case str(name) | {"name": str(name), "over": "P"} if name not in NAMES:
            raise SofthatError(
                f"{place}: unknown position feature {name!r}; known: {' '.join(NAMES)}"
            )
        case str(name):
            return Named(name)
        case {"name": str(name), "over": "P", **rest} if not rest:
            return Named(name, scaled=True)
        case {"mod": pair, **rest} if rest in ({}, {"sinks": False}):
            whole = isinstance(pair, list) and all(type(x) is int for x in pair)
            if not whole or len(pair) != 2 or not 0 <= pair[1] < pair[0]:
                raise SofthatError(
                    f"{place}.mod must be [m, r] with integers 0 <= r < m, not {pair!r}"
                )
            return Mod(pair[0], pair[1], sinks=not rest)
        case {"digit": [int(bit), int(position), int(length), int(constant)], **rest} if (
            not rest and bit >= 0
        ):
            return DigitFeature(bit, position, length, constant)
        case {"table": list(entries), **rest} if not rest:
            at = f"{place}.table"
            return Table(tuple(number_from_json(x, f"{at}[{k}]") for k, x in enumerate(entries)))
        case {"predicate": str()}:
            return Holds(predicate_from(data, place))
    raise SofthatError(f"{place} must be a feature's name, {{'mod': [m, r]}} or {{'table': […]}}")


_MOD = re.compile(r"mod\((\d+), (\d+)\)")
_DIGIT = re.compile(r"bit (\d+) of (-?\d+)\*i \+ (-?\d+)\*n \+ (-?\d+)")


def from_name(name: str, known: Mapping[str, Predicate] | None = None) -> Feature:
    """The feature that a model folder of format version 1 names; `known` are its predicates."""
    if known is not None and name.startswith("at(") and name[3:-1] in known:
        return Holds(known[name[3:-1]])
    match = _MOD.fullmatch(name)
    if match is not None:
        modulus, remainder = map(int, match.groups())
        return Mod(modulus, remainder, sinks=False)
    digit = _DIGIT.fullmatch(name)
    if digit is not None:
        return DigitFeature(*map(int, digit.groups()))
    base = name.removesuffix("/P")
    if base not in NAMES:
        raise SofthatError(f"unknown position feature {name!r}")
    return Named(base, scaled=base != name)


def predicate_from(data: Mapping[str, Any], place: str) -> Predicate:
    """The predicate that `to_json` wrote; errors name its place in the file."""
    match data:
        case {"predicate": str(name), **rest} if not rest and name in BUILT_IN:
            return BuiltIn(name)
        case {"predicate": str(name), "bits": str(bits), **rest} if not rest:
            return define(name, bits)
        case {
            "predicate": str(name),
            "longest": int(length),
            "by_length": str(text),
            **rest,
        } if not rest and 1 <= length <= LONGEST_BY_LENGTH:
            try:
                packed = base64.b64decode(text, validate=True)
            except binascii.Error:
                packed = b""
            if len(packed) == (length * (length + 1) // 2 + 7) // 8:
                return ListedByLength(name, length, packed)
    raise SofthatError(f"{place}: no numerical predicate that this softhat knows")
