"""Signals of an attention program, and their plan, as terms of `proofs/Lowering.v`.

The plan comes from the compiler's own passes, run again: it is evidence that Coq checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from softhat.export.coq.inputs import Inputs, is_given
from softhat.export.coq.syntax import (
    boolean,
    call,
    integer,
    numbers,
    optional,
    rational,
    sequence,
)
from softhat.io.errors import SofthatError
from softhat.numbers.positions import DigitFeature, Feature, Holds, Mod, Named
from softhat.program import heads
from softhat.program.gates import And, Steps, Table, Total, Xor
from softhat.program.inputs import (
    FirstPosition,
    LastPosition,
    PositionBit,
    PositionIn,
    PositionMod,
    TokenIn,
)
from softhat.program.literals import Literal
from softhat.program.registers import Allocation, Register, allocate, read, stored_layers
from softhat.program.schedule import AT_THE_END, Schedule, Term, schedule
from softhat.program.signals import Program, Signal
from softhat.transformer.lowering.heads.match import sharp
from softhat.transformer.lowering.lower import lower
from softhat.transformer.lowering.steps import count_steps
from softhat.transformer.weights import Attention, Transformer, sharpness_of

MASKS: dict[heads.Mask, str] = {
    "<=": "AtMost",
    "<": "Below",
    ">=": "Program.AtLeast",
    ">": "Above",
    "none": "Any",
}
_RANGES = {"past": "Before", "future": "After", "total": "All"}
_WITHOUT_COUNTS = (
    TokenIn, FirstPosition, LastPosition, PositionMod, PositionIn, And, Xor, heads.Latest,
    heads.StrictLatest, heads.Previous, heads.Shift,
)  # fmt: skip
"""The kinds of signal of a formula that does not count: bits, of which floats are proved too."""
_KINDS = (*_WITHOUT_COUNTS, heads.Average, heads.Sign)
"""The kinds of signal that a formula becomes: the kernel finds the formula again in them."""
_OF_VALUES = (
    heads.Match, heads.MatchMean, heads.At, heads.Width, Table, Steps, Total, PositionBit,
)  # fmt: skip
"""Those that only programs of values have: the theorem states the program itself."""


@dataclass(frozen=True)
class Planned:
    """A program, and what the passes make of it for one target."""

    program: Program
    schedule: Schedule
    allocation: Allocation
    weights: Transformer
    """As the compiler makes them: where the model's own differ, Coq says so."""


def planned(program: Program, attention: Attention) -> Planned:
    plan = schedule(program)
    return Planned(program, plan, allocate(program, plan), lower(program, attention))


def is_of_formulas(program: Program) -> bool:
    """Does it consist of signals that formulas become?"""
    return all(isinstance(signal, _KINDS) for signal in program.signals)


def is_without_counts(program: Program) -> bool:
    """Does it consist of signals of formulas that do not count?"""
    return all(isinstance(signal, _WITHOUT_COUNTS) for signal in program.signals)


def check_kinds(program: Program) -> None:
    """Refuse what the kernel does not cover, by name."""
    for signal in program.signals:
        if not isinstance(signal, (*_KINDS, *_OF_VALUES)):
            raise SofthatError(
                f"the Coq kernel does not cover {type(signal).__name__} signals: no file is written"
            )


# Signals


def signal_text(signal: Signal, inputs: Inputs) -> str:
    match signal:
        case TokenIn(symbols) if not inputs.propositional:
            return call("Token", sequence(str(inputs.symbols[s]) for s in symbols))
        case _ if is_given(signal, inputs.propositional):
            return call("Given", str(inputs.number(signal)))
        case And(literals):
            return call("Program.And", sequence(map(literal_text, literals)))
        case Xor(left, right):
            return call("Program.Xor", str(left), str(right))
        case heads.Latest(bad, value, direction):
            return call("Latest", literal_text(bad), literal_text(value), direction.title())
        case heads.StrictLatest(bad, value, direction):
            return call("StrictLatest", literal_text(bad), literal_text(value), direction.title())
        case heads.Previous(value, direction):
            return call("Previous", literal_text(value), direction.title())
        case heads.Shift(value, distance, direction):
            return call("Shift", literal_text(value), str(distance), direction.title())
        case heads.Average(terms, over):
            return call("Average", _terms(terms), _RANGES[over])
        case heads.Sign(past, future, total, position, length, threshold):
            means = map(optional, (past, future, total))
            return call("Sign", *means, *map(integer, (position, length, threshold)))
        case Table(terms):
            return call("Table", sequence(sequence(map(literal_text, term)) for term in terms))
        case heads.Match(selector, value):
            where = MASKS[selector.mask], str(selector.longest)
            return call("Match", _pairs(selector), literal_text(value), *where)
        case heads.MatchMean(selector, terms):
            where = MASKS[selector.mask], str(selector.longest)
            return call("Blend", _pairs(selector), _terms(terms), *where)
        case heads.Width(selector):
            return call("Width", _pairs(selector), MASKS[selector.mask], str(selector.longest))
        case heads.At(queries, keys, value, mask, longest):
            digits = sequence(map(_pair, queries, keys))
            return call("Program.At", digits, literal_text(value), MASKS[mask], str(longest))
        case Total(terms, most):
            counts = sequence(f"({integer(a)}%Z, {at})" for a, at in terms)
            return call("Total", counts, str(most))
        case Steps(count, turns):
            return call("Steps", str(count), numbers(turns))
    raise TypeError(f"not part of the kernel: {signal!r}")


def _pairs(selector: heads.Selector) -> str:
    """The pairs of a query and a key that match."""
    return sequence(_pair(selector.queries[q], selector.keys[k]) for q, k in selector.table)


def _terms(terms: heads.Terms) -> str:
    """A sum of multiples of signals; no signal is the constant true."""
    return sequence(f"({integer(a)}%Z, {optional(None if s < 0 else s)})" for a, s in terms)


def _pair(query: Literal, key: Literal) -> str:
    return f"({literal_text(query)}, {literal_text(key)})"


def literal_text(literal: Literal) -> str:
    signal = None if literal.signal < 0 else literal.signal
    return call("Lit", optional(signal), boolean(literal.positive))


# The plan


def _place(model: Planned, register: Register) -> int:
    fixed = model.weights.d_model - model.allocation.count
    return fixed + model.allocation.coordinate[register]


def plan_texts(model: Planned) -> Iterator[str]:
    """The layers: which head computes which signals, which gate stores which bit."""
    stored = stored_layers(model.program, model.schedule)
    for number, layer in enumerate(model.schedule.layers, start=1):
        groups = []
        for h, group in enumerate(layer.heads):
            members = (
                call("Member", str(at), str(_place(model, Register(at, True))),
                     str(_number(model, number - 1, h, r, at, group.wide)))
                for r, at in enumerate(group.signals)
            )  # fmt: skip
            groups.append(call("Group", sequence(members), boolean(group.wide)))
        gates = (
            call("Gate", str(gate.signal), str(_place(model, Register(gate.signal, False))),
                 sequence(_term(model, term, stored, number) for term in gate.terms),
                 boolean(gate.complement))
            for gate in layer.gates
        )  # fmt: skip
        clears = (str(_place(model, register)) for register in model.allocation.clears[number - 1])
        decoded = (f"({at}, {_place(model, Register(at, True))})" for at in layer.steps)
        steps = _steps(model, layer.steps)
        yield call("Plan", *map(sequence, (groups, gates, steps, decoded, clears)))


def _steps(model: Planned, signals: tuple[int, ...]) -> Iterator[str]:
    """Steps of counts: where each rises, and to which coordinates it is added."""
    for step in count_steps(model.program, signals, len(model.weights.sinks)):
        outs = (
            f"({_place(model, Register(at, True))}, {integer(weight)}%Z)"
            for at, weight in step.weights.items()
        )
        ends = rational(step.low), rational(step.high)
        yield call("Step", str(step.counted), str(step.k), *ends, sequence(outs))


def _number(model: Planned, layer: int, head: int, value: int, at: int, wide: bool) -> int:
    """The scale of an average, the steepness of a comparison, the modulus of a shift, as the
    weights have it; how sharp a head is that selects."""
    weights = model.weights.layers[layer]
    signal = model.program.signals[at]
    match signal:
        case heads.Match(selector, _):
            return sharp(selector.longest, wide)
        case heads.Width(selector):
            return sharp(selector.longest, wide=False)
        case heads.At(longest=longest):
            return sharp(longest, wide)
        case heads.Average(terms=terms):
            return _scale(model, weights.value.dense()[head, value], terms)
        case heads.MatchMean(selector, terms):
            scale = _scale(model, weights.value.dense()[head, value], terms)
            return blend_number(sharp(selector.longest, wide), scale)
    keys = weights.key.dense()[head]
    used = [row for row in range(len(keys)) if keys[row].any()]
    if isinstance(signal, heads.Shift):  # two rows for the distance, then one for each residue
        return max(1, len(used) - 2)
    if isinstance(signal, heads.Sign):  # the row of D·1 against where the key is
        column = _coordinate(model.weights, Named("1"))
        steep = Fraction(float(weights.query.dense()[head, :, column].max()))
        sharpness = sharpness_of(weights.laws[head])
        scaled = model.weights.attention == "temperature"
        return max(1, int(steep * Fraction(sharpness) if scaled else steep))
    return 1


def blend_number(sharpness: int, scale: int) -> int:
    """Both in one, as `sharpness_in` and `scale_in` of `proofs/Lowering.v` take them apart."""
    return sharpness + 1024 * (scale.bit_length() - 1)


def _scale(model: Planned, row: NDArray[np.float64], terms: heads.Terms) -> int:
    """What a mean is divided by where it is written."""
    a, source = terms[0]
    ordinary = _coordinate(model.weights, Named("ordinary"))
    column = ordinary if source < 0 else _place(model, Register(source, False))
    written = Fraction(float(row[column]))
    return int(a / written) if written and a / written > 0 else 1


def _coordinate(weights: Transformer, feature: Feature) -> int:
    column = weights.positions.index(feature)
    return int(np.flatnonzero(weights.position_embedding.dense()[:, column])[0])


def _term(model: Planned, term: Term, stored: dict[int, int], layer: int) -> str:
    return sequence(
        f"({literal_text(x)}, {_place(model, read(stored, x.signal, layer))})" for x in term
    )


def result_texts(model: Planned) -> Iterator[str]:
    """Which literal each output reads, and where."""
    stored = stored_layers(model.program, model.schedule)
    covers = dict(model.schedule.outputs)
    for name, literal in model.program.outputs:
        (term,) = covers[name].terms
        yield call("Result", literal_text(literal), _term(model, term, stored, AT_THE_END))


# The embedding's layout


def layout_texts(model: Planned) -> Iterator[str]:
    """What the embedding puts into each coordinate."""
    weights, signals = model.weights, model.program.signals
    fixed = weights.d_model - model.allocation.count
    inputs = {
        fixed + at: register.signal
        for register, at in model.allocation.coordinate.items()
        if not register.raw and isinstance(signals[register.signal], _INPUTS)
    }
    columns = weights.position_embedding.dense()
    tokens = weights.embedding.dense()
    for c in range(weights.d_model):
        if c in inputs and (columns[c].any() or tokens[:, c].any()):
            yield call("Bit", str(inputs[c]))
        elif c < fixed:
            (column,) = np.flatnonzero(columns[c])
            yield call("Feature", feature_text(weights.positions[column]))
        else:
            yield "Empty"


_INPUTS = (TokenIn, FirstPosition, LastPosition, PositionMod, PositionIn, PositionBit)
_FEATURES = {
    "ordinary": "Ordinary",
    "i": "Index",
    "r": "Reverse",
    "(-1)^i": "Alternating",
}


def feature_text(feature: Feature) -> str:
    """A feature of `proofs/Lowering.v`."""
    match feature:
        case Named("1", False):
            return "One"
        case Named(name, scaled) if name in _FEATURES:
            return call(_FEATURES[name], boolean(scaled))
        case Mod(modulus, remainder, False):
            return call("Residue", str(modulus), str(remainder))
    raise SofthatError(f"the Coq kernel does not cover the position feature {feature!r}")


def known_text(feature: Feature, inputs: Inputs) -> str | None:
    """The input that a position feature is, if it is one."""
    match feature:
        case Named("first", False):
            return inputs.text(FirstPosition())
        case Named("last", False):
            return inputs.text(LastPosition())
        case Mod(modulus, remainder, False):
            return inputs.text(PositionMod(modulus, remainder))
        case Holds(predicate):
            return inputs.text(PositionIn(predicate))
        case DigitFeature(bit, position, length, constant):
            return inputs.text(PositionBit(bit, position, length, constant))
    return None
