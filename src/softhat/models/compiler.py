"""The whole way, pass by pass.

text → formulas (`parse`, `bind`) → simpler ones (`simplify`, `settle`) → core form (`core`) → heads
and gates (`build`), in fewer layers (`strict`) → layers (`schedule`) → coordinates (`registers`) →
weights (`lower`). What a formula was simplified to is taken only if the checker follows it
(`is_provable`).

Theorem 11. Every formula has a softmax transformer that computes it at every position of every
word, with weights that depend neither on the word nor on n. Machine-checked: `unbounded` and
`temperature` of proofs/Compiled.v, and for every schedule of a program proofs/Correct.v.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, get_args, overload

from softhat.io.errors import SofthatError
from softhat.io.garbage_collection import rarely_collected
from softhat.logic.binding import bound
from softhat.logic.syntax.nodes import Formula
from softhat.models.compile_arguments import check_symbol, checked_symbols, named_formulas
from softhat.models.model import Model
from softhat.models.provable import is_provable
from softhat.numbers.definitions import LENGTH
from softhat.program.build import build
from softhat.program.strict import spelled_out
from softhat.runtime.answers import End
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention

if TYPE_CHECKING:
    from softhat.frontends.machines.machine import Machine
    from softhat.frontends.rasp.language import SOp
    from softhat.frontends.regular.doubling import LogDepth
    from softhat.models.value_model import ValueModel


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

    Of a regular language (`softhat.from_regex(text, depth="log")`) the model's truth at a position
    is whether the prefix up to it belongs. With a `max_length` its rounds are so many layers;
    without, they are one block of weights that is run as often as a word asks.

    A machine (`softhat.machine`) becomes a model with one output a token, "this one comes next".
    """
    _check_options(formula, attention, max_length, causal, at)
    if not isinstance(formula, Formula | str | Mapping):
        return _of_a_front_end(formula, alphabet, attention, max_length, causal)
    propositional = propositions is not None
    named = named_formulas(formula)  # text → formulas
    formulas = bound(named, predicates, predicate_length)  # every at(name) has its meaning
    symbols = checked_symbols(formulas, alphabet, propositions)
    with rarely_collected():
        program = build(
            formulas, symbols, propositional, is_provable
        )  # → heads and gates, simplified
        transformer = lower(program, attention)  # → layers → registers → weights
    return Model(transformer, formulas, program, at=at)


def _check_options(
    formula: object, attention: str, max_length: int | None, causal: bool, at: str | None
) -> None:
    if attention not in get_args(Attention):
        choices = ", ".join(get_args(Attention))
        raise SofthatError(f"unknown attention {attention!r}: choose one of {choices}")
    if isinstance(formula, Formula | str | Mapping) and (max_length is not None or causal):
        raise SofthatError(
            "max_length and causal are for RASP programs (max_length for a regular language too, "
            "compiled alone); a formula has no length"
        )
    if at not in (None, "first", "last"):
        raise SofthatError(f"at is 'first' or 'last', not {at!r}")


def _of_a_front_end(
    source: object, alphabet: Any, attention: Attention, max_length: int | None, causal: bool
) -> Model | ValueModel:
    """The model of something that is no formula: a machine, a regular language in logarithmic
    depth, or a RASP program."""
    from softhat.frontends.machines.machine import Machine  # formulas start faster without
    from softhat.frontends.regular.doubling import LogDepth
    from softhat.models.machine_model import MachineModel

    match source:
        case Machine():
            return MachineModel(source, attention)
        case LogDepth():
            if causal:
                raise SofthatError("causal is for RASP programs: a prefix is never ahead of itself")
            with rarely_collected():
                return _regular(source, alphabet, attention, max_length)
    with rarely_collected():
        return _rasp(source, alphabet, attention, max_length, causal)


def _regular(
    language: LogDepth, alphabet: Any, attention: Attention, max_length: int | None
) -> ValueModel:
    from softhat.models.loop_model import LoopModel
    from softhat.models.regular import regular_model

    longest = language.max_length if max_length is None else max_length
    symbols = checked_symbols({}, language.alphabet if alphabet is None else alphabet, None)
    if longest is not None:
        return regular_model(language, symbols, attention, longest)
    if language.may_count:
        raise SofthatError(
            "depth='auto' needs the longest word's length, to compare counting with doubling: "
            "max_length=4096"
        )
    return LoopModel.of(language, symbols, attention)


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
        check_symbol(symbol, "alphabet")
    return ValueModel(lower(compiled.program, attention), compiled, program.name)


def with_one_mask(model: Model) -> Model:
    """The same decoder for architectures whose only mask is j <= i: it may have more layers."""
    if all(mask == "<=" for layer in model.transformer.layers for mask in layer.masks):
        return model
    program = spelled_out(model.program)
    attention = model.transformer.attention
    return Model(lower(program, attention), model.formulas, program, at=model.at)
