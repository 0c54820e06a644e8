"""A compiled model as a term of `proofs/Compare.v`: its program, its schedule, its weights.

The schedule comes from the passes, as data to be checked. The weights, the embeddings, the scales
of averages and the steepness of comparisons are read off the finished transformer, so whatever
`lowering` writes is what Coq sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from softhat.logic.syntax.nodes import Formula
from softhat.lowering.lower import lower
from softhat.positions import Feature, Mod, Named
from softhat.program.build import build
from softhat.program.gates import And, Xor
from softhat.program.heads import Average, Latest, Previous, Shift, Sign, StrictLatest
from softhat.program.inputs import FirstPosition, LastPosition, PositionMod, TokenIn
from softhat.program.literals import Literal
from softhat.program.registers import Allocation, Register, allocate, read, stored_layers
from softhat.program.schedule import AT_THE_END, Schedule, Term, schedule
from softhat.program.signals import Program, Signal
from softhat.transformer.weights import Attention, Sparse, Transformer, sharpness_of

IMPORTS = """From Coq Require Import QArith ZArith List.
From Softhat Require Import Formula Program Lowering Compare.
Import ListNotations.
Open Scope nat_scope.
Definition e (c : nat) (a : Z) (b : positive) : nat * Q := (c, (a # b)%Q).
Definition q (a : Z) (b : positive) : Q := (a # b)%Q."""

FEATURES = {
    "1": "One",
    "ordinary": "Ordinary",
    "i": "Index",
    "r": "Reverse",
    "(-1)^i": "Alternating",
}
MASKS = {"<=": "AtMost", "<": "Below", ">=": "AtLeast", ">": "Above", "none": "Any"}
RANGES = {"past": "Before", "future": "After", "total": "All"}


@dataclass(frozen=True)
class Compiled:
    """Everything that the passes made of a formula, for one target."""

    program: Program
    schedule: Schedule
    allocation: Allocation
    weights: Transformer


def compiled(formula: Formula, symbols: Sequence[str], attention: Attention) -> Compiled:
    program = build({"output": formula}, symbols, False)
    planned = schedule(program)
    return Compiled(program, planned, allocate(program, planned), lower(program, attention))


def claim(model: Compiled) -> str:
    """The term `Claim …`: what the model is, and what it claims to compute."""
    program, weights = model.program, model.weights
    scaled = weights.attention == "temperature"
    return _call(
        "Claim",
        _list(_signal(signal, at, program) for at, signal in enumerate(program.signals)),
        str(len(program.symbols)),
        _bool(scaled),
        _bool(weights.has_eos),
        _list(_layout(model)),
        _list(_plans(model)),
        _list(_results(model)),
        _list(_layers(weights, scaled)),
        _list(_readouts(weights)),
    )


# The program and its schedule


def _signal(signal: Signal, at: int, program: Program) -> str:
    match signal:
        case TokenIn(symbols):
            return _call("Token", _list(str(program.symbols.index(s)) for s in symbols))
        case FirstPosition() | LastPosition() | PositionMod():
            return _call("Given", str(at))
        case And(literals):
            return _call("Program.And", _list(map(_literal, literals)))
        case Xor(left, right):
            return _call("Xor", str(left), str(right))
        case Latest(bad, value, direction):
            return _call("Latest", _literal(bad), _literal(value), direction.title())
        case StrictLatest(bad, value, direction):
            return _call("StrictLatest", _literal(bad), _literal(value), direction.title())
        case Previous(value, direction):
            return _call("Previous", _literal(value), direction.title())
        case Shift(value, distance, direction):
            return _call("Shift", _literal(value), str(distance), direction.title())
        case Average(terms, over):
            pairs = _list(f"({_integer(a)}%Z, {_option(None if s < 0 else s)})" for a, s in terms)
            return _call("Average", pairs, RANGES[over])
        case Sign(past, future, total, position, length, threshold):
            means = map(_option, (past, future, total))
            return _call("Sign", *means, *map(_integer, (position, length, threshold)))
    raise TypeError(f"not part of the theorem: {signal!r}")


def _literal(literal: Literal) -> str:
    return _call("Lit", _option(None if literal.signal < 0 else literal.signal),
                 _bool(literal.positive))  # fmt: skip


def _place(model: Compiled, register: Register) -> int:
    features = model.weights.d_model - model.allocation.count
    return features + model.allocation.coordinate[register]


def _plans(model: Compiled) -> Iterable[str]:
    stored = stored_layers(model.program, model.schedule)
    for number, layer in enumerate(model.schedule.layers, start=1):
        groups = []
        for h, group in enumerate(layer.heads):
            members = [
                _call("Member", str(at), str(_place(model, Register(at, True))),
                      str(_number(model, number - 1, h, r, at)))
                for r, at in enumerate(group.signals)
            ]  # fmt: skip
            groups.append(_call("Group", _list(members), _bool(group.wide)))
        gates = [
            _call("Gate", str(gate.signal), str(_place(model, Register(gate.signal, False))),
                  _list(_term(model, term, stored, number) for term in gate.cover.terms),
                  _bool(gate.cover.complement))
            for gate in layer.gates
        ]  # fmt: skip
        clears = [str(_place(model, register)) for register in model.allocation.clears[number - 1]]
        yield _call("Plan", _list(groups), _list(gates), _list(clears))


def _number(model: Compiled, layer: int, head: int, value: int, at: int) -> int:
    """The scale of an average, the steepness of a comparison, the modulus of a shift: as the
    weights have it."""
    weights = model.weights.layers[layer]
    signal = model.program.signals[at]
    if isinstance(signal, Average):
        a, source = signal.terms[0]
        ordinary = _coordinate(model.weights, Named("ordinary"))
        column = ordinary if source < 0 else _place(model, Register(source, False))
        written = Fraction(float(weights.value.dense()[head, value, column]))
        return int(a / written) if written and a / written > 0 else 1
    keys = weights.key.dense()[head]
    used = [row for row in range(len(keys)) if keys[row].any()]
    if isinstance(signal, Shift):  # two rows for the distance, then one for each residue
        return max(1, len(used) - 2)
    if isinstance(signal, Sign):  # the row of D·1 against where the key is
        column = _coordinate(model.weights, Named("1"))
        steep = Fraction(float(weights.query.dense()[head, :, column].max()))
        sharpness = sharpness_of(weights.laws[head])
        scaled = model.weights.attention == "temperature"
        return max(1, int(steep * Fraction(sharpness) if scaled else steep))
    return 1


def _term(model: Compiled, term: Term, stored: dict[int, int], layer: int) -> str:
    return _list(f"({_literal(x)}, {_place(model, read(stored, x.signal, layer))})" for x in term)


def _results(model: Compiled) -> Iterable[str]:
    stored = stored_layers(model.program, model.schedule)
    covers = dict(model.schedule.outputs)
    for name, literal in model.program.outputs:
        (term,) = covers[name].terms
        yield _call("Result", _literal(literal), _term(model, term, stored, AT_THE_END))


# The weights


def _layout(model: Compiled) -> Iterable[str]:
    """What the embeddings put into each coordinate."""
    weights = model.weights
    tokens, positions = weights.embedding.dense(), weights.position_embedding.dense()
    for c in range(weights.d_model):
        columns = np.flatnonzero(positions[c])
        rows = np.flatnonzero(tokens[:, c])
        if not len(columns) and not len(rows):
            yield "Empty"
        elif len(columns) == 1 and not len(rows) and positions[c, columns[0]] == 1:
            yield _feature(weights.positions[columns[0]], c, model)
        else:
            assert not len(columns) and (tokens[rows, c] == 1).all(), f"coordinate {c}"
            assert (rows < len(weights.symbols)).all(), f"coordinate {c} is not 0 at a sink"
            symbols = tuple(weights.symbols[row] for row in rows)
            yield _call("Bit", str(model.program.signals.index(TokenIn(symbols))))


def _feature(feature: Feature, coordinate: int, model: Compiled) -> str:
    fixed = model.weights.d_model - model.allocation.count
    match feature:
        case Named("1"):
            return "(Feature One)"
        case Named(name, scaled) if name in FEATURES:
            return f"(Feature ({FEATURES[name]} {_bool(scaled)}))"
        case Mod(modulus, remainder, False) if coordinate < fixed:
            return f"(Feature (Residue {modulus} {remainder}))"
        case Named("first"):
            signal: Signal = FirstPosition()
        case Named("last"):
            signal = LastPosition()
        case Mod(modulus, remainder, False):
            signal = PositionMod(modulus, remainder)
        case _:
            raise TypeError(f"not part of the theorem: {feature!r} in coordinate {coordinate}")
    return _call("Bit", str(model.program.signals.index(signal)))


def _coordinate(weights: Transformer, feature: Feature) -> int:
    column = weights.positions.index(feature)
    return int(np.flatnonzero(weights.position_embedding.dense()[:, column])[0])


def _layers(weights: Transformer, scaled: bool) -> Iterable[str]:
    for layer in weights.layers:
        query, key, value = (x.dense() for x in (layer.query, layer.key, layer.value))
        output = layer.output.dense()
        heads = []
        for h in range(len(layer.labels)):
            rows = _list(f"({_form(q)}, {_form(k)})" for q, k in zip(query[h], key[h], strict=True))
            values = []
            for r in range(value.shape[1]):
                for target in np.flatnonzero(output[h, :, r]):
                    assert output[h, target, r] == 1
                    values.append(f"({_form(value[h, r])}, {target})")
            cold = _rational(sharpness_of(layer.laws[h])) if scaled else _rational(1.0)
            heads.append(_call("Head", rows, MASKS[layer.masks[h]], _list(values), cold))
        into, out = layer.into.dense(), layer.out.dense()
        units = [
            _call("Unit", _form(into[u]), _rational(layer.into_bias[u]), _form(out[:, u]))
            for u in range(len(layer.into_bias))
        ]
        yield _call("Layer", _list(heads), _list(units), _form(layer.out_bias))


def _readouts(weights: Transformer) -> Iterable[str]:
    rows: Sparse = weights.readout
    for row, bias in zip(rows.dense(), weights.readout_bias, strict=True):
        yield _call("Readout", _form(row), _rational(bias))


# Coq's syntax


def _form(row: Iterable[float]) -> str:
    entries = ((c, Fraction(float(w))) for c, w in enumerate(row) if w)
    return _list(f"e {c} {_integer(w.numerator)} {w.denominator}" for c, w in entries)


def _rational(value: float) -> str:
    exact = Fraction(float(value))
    return f"(q {_integer(exact.numerator)} {exact.denominator})"


def _integer(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _option(value: int | None) -> str:
    return "None" if value is None else f"(Some {value})"


def _list(items: Iterable[str]) -> str:
    return f"[{'; '.join(items)}]"


def _call(name: str, *arguments: str) -> str:
    return f"({name} {' '.join(arguments)})"
