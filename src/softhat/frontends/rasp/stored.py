"""Compiled RASP programs as plain data: the attention program, the tokens, how to read values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, get_args

from softhat.frontends.rasp.compile import Compiled
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.outputs import Bits, Decoder, DigitValues, NumberCase, Numbers, Scale
from softhat.io.errors import SofthatError
from softhat.program.stored import program_from_json
from softhat.program.stored import to_json as program_to_json


def to_json(compiled: Compiled) -> dict[str, Any]:
    """For a model's folder."""
    return {
        "alphabet": [value_to_json(token) for token in compiled.alphabet],
        "max_length": compiled.max_length,
        "causal": compiled.causal,
        "decoder": _decoder_to_json(compiled.decoder),
        "program": program_to_json(compiled.program),
    }


def from_json(data: Any) -> Compiled:
    """What `to_json` wrote."""
    try:
        return Compiled(
            program_from_json(data["program"]),
            tuple(map(_value_from_json, data["alphabet"])),
            _decoder_from_json(data["decoder"]),
            int(data["max_length"]),
            bool(data["causal"]),
        )
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SofthatError(f"the RASP program is damaged: {error}") from None


def value_to_json(value: Value) -> Any:
    """Text, numbers, Booleans, None and tuples of them."""
    match value:
        case tuple():
            return {"tuple": [value_to_json(part) for part in value]}
        case None | bool() | int() | float() | str():
            return value
        case Fraction():
            return {"fraction": str(value)}
    raise SofthatError(
        f"a model folder holds values that are text, numbers or tuples of them, not {value!r}"
    )


def _value_from_json(data: Any) -> Value:
    match data:
        case {"tuple": list(parts)}:
            return tuple(map(_value_from_json, parts))
        case {"fraction": str(text)}:
            return Fraction(text)
        case None | bool() | int() | float() | str():
            return data
    raise TypeError(f"unknown value {str(data)[:40]!r}")


def _decoder_to_json(decoder: Decoder) -> dict[str, Any]:
    match decoder:
        case Bits(names, values):
            return {"bits": list(names), "values": [value_to_json(v) for v in values]}
        case DigitValues(names, defined, values):
            listed = [value_to_json(v) for v in values]
            return {"digits": list(names), "defined": defined, "values": listed}
        case Numbers(cases):
            return {
                "numbers": [
                    {
                        "when": case.when,
                        "terms": [list(term) for term in case.terms],
                        "constant": str(case.constant),
                        "whole": case.whole,
                    }
                    for case in cases
                ]
            }


def _decoder_from_json(data: Any) -> Decoder:
    match data:
        case {"bits": list(names), "values": list(values)} if len(names) == len(values):
            return Bits(tuple(map(str, names)), tuple(map(_value_from_json, values)))
        case {"digits": list(names), "defined": defined, "values": list(values)}:
            return DigitValues(
                tuple(map(str, names)), defined, tuple(map(_value_from_json, values))
            )
        case {"numbers": list(cases)}:
            return Numbers(tuple(map(_case_from_json, cases)))
    raise TypeError("unknown decoder")


def _case_from_json(data: Any) -> NumberCase:
    terms = tuple((str(name), scale) for name, scale in data["terms"])
    if any(scale not in get_args(Scale) for _, scale in terms):
        raise TypeError("unknown scale")
    return NumberCase(data["when"], terms, Fraction(data["constant"]), bool(data["whole"]))
