"""Compiled RASP programs as plain data: the attention program, the tokens, how to read values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeVar, get_args

from softhat.frontends.rasp.compile import Compiled, tokens_and_symbols
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.outputs import Bits, Decoder, DigitValues, NumberCase, Numbers, Scale
from softhat.io.errors import SofthatError
from softhat.program.stored import fraction_from, program_from_json
from softhat.program.stored import to_json as program_to_json

T = TypeVar("T")
LONGEST = 1 << 20
"""Words that any program is compiled for: those of regular languages, in logarithmic depth."""


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
    """What `to_json` wrote; `SofthatError` if it did not."""
    try:
        compiled = Compiled(
            program_from_json(data["program"]),
            tuple(map(_value_from_json, data["alphabet"])),
            _decoder_from_json(data["decoder"]),
            _typed(data["max_length"], int),
            _typed(data["causal"], bool),
        )
        _check(compiled)
    except SofthatError:
        raise
    except KeyError as error:
        raise SofthatError(f"the RASP program is damaged: {error} is missing") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise SofthatError(f"the RASP program is damaged: {error}") from None
    return compiled


def _typed(value: Any, kind: type[T]) -> T:
    """A value that is of this type, and no kind of it (True is an int)."""
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}, not {str(value)[:40]!r}")
    return value


def _check(compiled: Compiled) -> None:
    """Tokens are those of the program, and every output is read, for what it is."""
    program = compiled.program
    if program.propositional:
        raise ValueError("the program reads sets of propositions, not tokens")
    if tokens_and_symbols(compiled.alphabet)[1] != program.symbols:
        raise ValueError("the program has other symbols than the alphabet")
    if not 1 <= compiled.max_length <= LONGEST:
        raise ValueError(f"max_length is from 1 to {LONGEST:,}")
    bits, numbers = read_by(compiled.decoder)
    if not set(bits) <= {name for name, _ in program.outputs}:
        raise ValueError("a value is read from an output that is not there")
    if sorted(numbers) != sorted(name for name, _ in program.numbers):
        raise ValueError("numeric outputs are not each read once")


def read_by(decoder: Decoder) -> tuple[list[str], list[str]]:
    """The outputs that a decoder reads: bits, and numbers as often as it reads them."""
    match decoder:
        case Bits(names, _):
            return list(names), []
        case DigitValues(names, defined, _):
            return [*names, *([] if defined is None else [defined])], []
        case Numbers(cases):
            return (
                [case.when for case in cases if case.when is not None],
                [name for case in cases for name, _ in case.terms],
            )


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
        case {"fraction": text}:
            return fraction_from(text)
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
            return {"numbers": [case_to_json(case) for case in cases]}


def case_to_json(case: NumberCase) -> dict[str, Any]:
    """A case of a number: when it holds, what is added up, and whether that is rounded."""
    return {
        "when": case.when,
        "terms": [list(term) for term in case.terms],
        "constant": str(case.constant),
        "whole": case.whole,
    }


def _decoder_from_json(data: Any) -> Decoder:
    match data:
        case {"bits": list(names), "values": list(values)} if len(names) == len(values):
            return Bits(_names(names), tuple(map(_value_from_json, values)))
        case {"digits": list(names), "defined": str() | None as defined, "values": list(values)}:
            if len(values) > 1 << len(names):
                raise TypeError("digits name fewer values than there are")
            return DigitValues(_names(names), defined, tuple(map(_value_from_json, values)))
        case {"numbers": list(cases)}:
            return Numbers(tuple(map(_case_from_json, cases)))
    raise TypeError("unknown decoder")


def _names(names: list[Any]) -> tuple[str, ...]:
    return tuple(_typed(name, str) for name in names)


def _case_from_json(data: Any) -> NumberCase:
    when, terms = data["when"], tuple((name, scale) for name, scale in data["terms"])
    if any(scale not in get_args(Scale) for _, scale in terms):
        raise TypeError("unknown scale")
    _names([name for name, _ in terms])
    return NumberCase(
        None if when is None else _typed(when, str),
        terms,
        fraction_from(data["constant"]),
        _typed(data["whole"], bool),
    )
