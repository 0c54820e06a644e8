"""The whole way: formula → attention program → layers → weights.

Theorem 11. Every formula has a softmax transformer that computes it at every position of every
word, with weights that depend neither on the word nor on n. Machine-checked: `unbounded` and
`temperature` of proofs/Compiled.v, and for every schedule of a program proofs/Correct.v.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, get_args, overload

from softhat.io.errors import SofthatError
from softhat.logic.binding import predicates_of, with_tables
from softhat.logic.fragments import describe
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.models.followed import follows
from softhat.models.model import Model
from softhat.numbers.predicates import LENGTH
from softhat.program.build import build
from softhat.program.strict import spelled_out
from softhat.runtime.answers import End
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import BOS, EOS, Attention

if TYPE_CHECKING:
    from softhat.frontends.machines.machine import Machine
    from softhat.frontends.rasp.language import SOp
    from softhat.frontends.regular.doubling import LogDepth
    from softhat.models.value_model import ValueModel

OUTPUT = "output"
"""The name of the output of a model of one formula."""
_FORBIDDEN = frozenset(":\n\r")
"""In the name of an output: files separate it from its formula by a colon."""


@overload
def compile(
    formula: Formula | str | Mapping[str, Formula | str],
    alphabet: str | Iterable[str] | None = None,
    attention: Attention = "unbounded",
    propositions: Iterable[str] | None = None,
    predicates: Mapping[str, Any] | None = None,
    predicate_length: int = LENGTH,
    *,
    at: End | None = None,
) -> Model: ...


@overload
def compile(formula: Machine, *, attention: Attention = "unbounded") -> Model: ...


@overload
def compile(
    formula: SOp,
    alphabet: str | Iterable[Any],
    attention: Attention = "unbounded",
    *,
    max_length: int,
    causal: bool = False,
) -> ValueModel: ...


@overload
def compile(
    formula: LogDepth,
    alphabet: str | Iterable[str] | None = None,
    attention: Attention = "unbounded",
    *,
    max_length: int | None = None,
) -> ValueModel: ...


def compile(
    formula: Formula | str | Mapping[str, Formula | str] | SOp | Machine | LogDepth,
    alphabet: str | Iterable[Any] | None = None,
    attention: Attention = "unbounded",
    propositions: Iterable[str] | None = None,
    predicates: Mapping[str, Any] | None = None,
    predicate_length: int = LENGTH,
    max_length: int | None = None,
    causal: bool = False,
    at: End | None = None,
) -> Model | ValueModel:
    """A transformer whose truth at every position of every word is the formula's.

    `attention` is "unbounded" (softmax, positions grow), "temperature" (softmax, activations in
    [-1, 1], inverse temperature grows with n) or "hard". Without an alphabet it is the
    formula's symbols. A mapping gives several outputs in one model. `predicates` say what the
    names in `at(name)` mean; those that are functions hold for words of `predicate_length`. `at`
    says where a word is accepted, "first" or "last", if formulas look both ways.

    A RASP program (`softhat.rasp`) needs its alphabet, whose tokens may be any values, and the
    `max_length` of its sequences; with `causal` positions see only what is not after them. The
    model's `values` are the program's.

    A regular language (`softhat.from_regex(text, depth="log")`) needs a `max_length` too. The
    model's truth at a position is whether the prefix up to it belongs.

    A machine (`softhat.machine`) becomes a model with one output a token, "this one comes next".
    """
    if attention not in get_args(Attention):
        choices = ", ".join(get_args(Attention))
        raise SofthatError(f"unknown attention {attention!r}: choose one of {choices}")
    if not isinstance(formula, Formula | str | Mapping):
        return _of_a_front_end(formula, alphabet, attention, max_length, causal)
    if max_length is not None or causal:
        raise SofthatError("max_length and causal are for RASP programs; a formula has no length")
    if at not in (None, "first", "last"):
        raise SofthatError(f"at is 'first' or 'last', not {at!r}")
    formulas = {
        name: with_tables(given.bind(predicates), predicate_length)
        for name, given in _named(formula).items()
    }
    predicates_of(*formulas.values())  # no name has two meanings
    symbols = _symbols(formulas, alphabet, propositions)
    program = build(formulas, symbols, propositions is not None, follows)
    return Model(lower(program, attention), formulas, program, at=at)


def _of_a_front_end(
    given: object, alphabet: Any, attention: Attention, max_length: int | None, causal: bool
) -> Model | ValueModel:
    """What is no formula: a machine, a regular language in logarithmic depth, or RASP."""
    from softhat.frontends.machines.machine import Machine  # formulas start faster without
    from softhat.frontends.regular.doubling import LogDepth
    from softhat.models.machine_model import MachineModel

    match given:
        case Machine():
            return MachineModel(given, attention)
        case LogDepth():
            if causal:
                raise SofthatError("causal is for RASP programs: a prefix is never ahead of itself")
            return _regular(given, alphabet, attention, max_length)
    return _rasp(given, alphabet, attention, max_length, causal)


def _regular(
    language: LogDepth, alphabet: Any, attention: Attention, max_length: int | None
) -> ValueModel:
    from softhat.models.regular import regular_model

    longest = language.max_length if max_length is None else max_length
    if longest is None:
        raise SofthatError("logarithmic depth needs the longest word's length: max_length=4096")
    symbols = _symbols({}, language.alphabet if alphabet is None else alphabet, None)
    return regular_model(language, symbols, attention, longest)


def _rasp(
    program: object, alphabet: Any, attention: Attention, max_length: int | None, causal: bool
) -> ValueModel:
    from softhat.frontends.rasp.compile import compile_rasp  # formulas start faster without
    from softhat.frontends.rasp.language import SOp
    from softhat.models.value_model import ValueModel

    if not isinstance(program, SOp):
        raise SofthatError(f"expected a formula or a RASP program, got {program!r}")
    if alphabet is None or not isinstance(alphabet, Iterable):
        raise SofthatError("a RASP program needs its alphabet: alphabet=['a', 'b']")
    if max_length is None:
        raise SofthatError("a RASP program needs the length of its sequences: max_length=64")
    compiled = compile_rasp(program, tuple(alphabet), max_length, causal)
    for symbol in compiled.program.symbols:
        _check_symbol(symbol, "alphabet")
    return ValueModel(lower(compiled.program, attention), compiled, program.name)


def with_one_mask(model: Model) -> Model:
    """The same decoder for architectures whose only mask is j <= i: it may have more layers."""
    if all(mask == "<=" for layer in model.transformer.layers for mask in layer.masks):
        return model
    program = spelled_out(model.program)
    attention = model.transformer.attention
    return Model(lower(program, attention), model.formulas, program, at=model.at)


def _named(formula: Formula | str | Mapping[str, Formula | str]) -> dict[str, Formula]:
    formulas = formula if isinstance(formula, Mapping) else {OUTPUT: formula}
    if not formulas:
        raise SofthatError("nothing to compile: give at least one formula")
    named = {}
    for name, value in formulas.items():
        if not isinstance(name, str) or not name or not _FORBIDDEN.isdisjoint(name):
            raise SofthatError(
                f"an output's name is a non-empty string without ':' or line breaks, not {name!r}"
            )
        if not _is_text(name):
            raise SofthatError(f"the output's name {name!r} is not text: no file can hold it")
        value = parse(value) if isinstance(value, str) else value
        if not isinstance(value, Formula):
            raise SofthatError(f"expected a formula for output {name!r}, got {value!r}")
        named[name] = value
    return named


def _symbols(
    formulas: Mapping[str, Formula],
    alphabet: str | Iterable[str] | None,
    propositions: Iterable[str] | None,
) -> tuple[str, ...]:
    if alphabet is not None and propositions is not None:
        raise SofthatError("give an alphabet or propositions, not both")
    what = "alphabet" if propositions is None else "propositions"
    given = alphabet if propositions is None else propositions
    if given is None:
        used = {name for formula in formulas.values() for name in describe(formula).symbols}
        # A formula without symbols speaks of positions only: one symbol makes words.
        given = sorted(used) or ["a"]
    if not isinstance(given, Iterable):
        raise SofthatError(f"the {what} must be text or a list of strings, not {given!r}")
    symbols = tuple(given)
    if not symbols and propositions is None:
        raise SofthatError("the alphabet is empty: give at least one symbol")
    seen: set[str] = set()
    for symbol in symbols:
        _check_symbol(symbol, what)
        if symbol in seen:
            raise SofthatError(f"duplicate in the {what}: {symbol!r}")
        seen.add(symbol)
    return symbols


def _is_text(text: str) -> bool:
    """Has it no half characters?"""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def _check_symbol(symbol: object, what: str) -> None:
    if not isinstance(symbol, str) or not symbol:
        raise SofthatError(f"the {what} must be non-empty strings, not {symbol!r}")
    if not _is_text(symbol):
        raise SofthatError(f"{symbol!r} in the {what} is half a character: no file can hold it")
    if symbol in (BOS, EOS):
        raise SofthatError(f"the symbol {symbol!r} is reserved for a sink")
