"""Program to weights: a plan of layers, their rows by name, then a place for every name.

Machine-checked: `checked_right` of proofs/Compare.v. Its checker computes these weights from a
schedule by itself, and what passes it decides its outputs rightly at every position of every word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softhat.numbers.positions import DigitFeature, Feature, Holds, Mod, Named, text
from softhat.program import heads, inputs
from softhat.program.recalls import without_recalls
from softhat.program.registers import Allocation, Register, allocate
from softhat.program.schedule import Schedule, schedule
from softhat.program.signals import Program, Signal
from softhat.transformer.lowering.gates import (
    Stored,
    read_number,
    read_out,
    write_clears,
    write_gates,
)
from softhat.transformer.lowering.heads import head_rows
from softhat.transformer.lowering.matrices import Entries, Place, layer_of, matrix
from softhat.transformer.lowering.rows import Key, LayerRows, PositionUnits
from softhat.transformer.lowering.steps import write_steps
from softhat.transformer.lowering.wiring import Wiring
from softhat.transformer.weights import BOS, EOS, Attention, Coordinate, Sparse, Transformer

Contents = tuple[tuple[tuple[int, Key], ...], ...]
"""For each coordinate the features and registers that it holds, and from which layer on."""


@dataclass(frozen=True)
class Lowered:
    """A transformer, and where its program went: layer by layer, and in which coordinates."""

    transformer: Transformer
    plan: Schedule
    clears: tuple[tuple[Register, ...], ...]
    """The registers that each layer's feed-forward takes off."""
    contents: Contents


def lower(program: Program, attention: Attention) -> Transformer:
    """The transformer of a program for one target."""
    return lowered(program, attention).transformer


def lowered(program: Program, attention: Attention) -> Lowered:
    """The same, with the plan that it follows."""
    program = without_recalls(program)
    plan = schedule(program)
    return realised(program, plan, allocate(program, plan), attention)


def realised(
    program: Program, plan: Schedule, allocation: Allocation, attention: Attention
) -> Lowered:
    """A program whose layers are planned and whose registers have their coordinates."""
    stored = allocation.stored
    wiring = Wiring(program, PositionUnits(scaled=attention == "temperature"))
    sinks = (BOS, EOS) if any(map(_needs_end, program.signals)) else (BOS,)
    layers = []
    for number, planned in enumerate(plan.layers, start=1):
        rows = LayerRows([head_rows(group, wiring) for group in planned.heads])
        write_gates(rows, planned.gates, stored, number)
        write_steps(rows, program, planned.steps, len(sinks))
        write_clears(rows, program, allocation.clears[number - 1])
        layers.append(rows)
    outputs = [read_out(cover, stored) for _, cover in plan.outputs]
    outputs += [read_number(number, wiring) for _, number in plan.numbers]
    everywhere = [row for layer in layers for row in layer.rows()]
    everywhere += [output.row for output in outputs]
    used: set[Key] = set().union(*everywhere)
    features = sorted([key for key in used if not isinstance(key, Register)], key=_rank)
    place: Place = {feature: at for at, feature in enumerate(features)}
    for register, at in allocation.coordinate.items():
        place[register] = len(features) + at
    d_model = len(features) + allocation.count
    positions, position_embedding = _positions(program, features, place, d_model)
    contents = _contents(plan, stored, features, place, d_model)
    transformer = Transformer(
        attention=attention,
        symbols=program.symbols,
        propositional=program.propositional,
        sinks=sinks,
        positions=positions,
        embedding=_embedding(program, len(sinks), place, d_model),
        position_embedding=position_embedding,
        layers=tuple([layer_of(rows, place, d_model) for rows in layers]),
        outputs=tuple(name for name, _ in (*plan.outputs, *plan.numbers)),
        readout=matrix([output.row for output in outputs], place, d_model),
        readout_bias=np.array([output.bias for output in outputs]),
        coordinates=_coordinates(program, contents),
    )
    return Lowered(transformer, plan, allocation.clears, contents)


def _needs_end(signal: Signal) -> bool:
    """Whether a head looks only to the right, or averages over everything: it needs `<eos>`."""
    match signal:
        case heads.Latest(direction="future") | heads.StrictLatest(direction="future"):
            return True
        case heads.Previous(direction="future") | heads.Shift(direction="future"):
            return True
        case heads.Average(range="future" | "total"):
            return True
        case heads.Match(selector) | heads.MatchMean(selector) | heads.Width(selector):
            return selector.mask in (">=", ">")
        case heads.At(mask=mask):
            return mask in (">=", ">")
    return False


_FIRST = (
    Named("1"), Named("ordinary"), Named("i"), Named("r"), Named("i", True), Named("r", True),
    Named("ordinary", True), Named("(-1)^i"), Named("(-1)^i", True),
)  # fmt: skip
_RANKS: dict[Feature, int] = {feature: rank for rank, feature in enumerate(_FIRST)}


def _rank(feature: Feature) -> tuple[int, str]:
    """The order of the features in the residual stream, the same every time."""
    rank = _RANKS.get(feature)
    return (len(_RANKS), text(feature)) if rank is None else (rank, "")


def _positions(
    program: Program, features: list[Feature], place: Place, d_model: int
) -> tuple[tuple[Feature, ...], Sparse]:
    columns = list(features)
    entries: Entries = [((at, at), 1.0) for at in range(len(features))]
    for at, signal in enumerate(program.signals):
        feature = _feature(signal)
        if feature is not None and Register(at, False) in place:
            entries.append(((place[Register(at, False)], len(columns)), 1.0))
            columns.append(feature)
    return tuple(columns), Sparse.of((d_model, len(columns)), entries)


def _feature(signal: Signal) -> Feature | None:
    """The position feature that an input is."""
    match signal:
        case inputs.FirstPosition():
            return Named("first")
        case inputs.LastPosition():
            return Named("last")
        case inputs.PositionMod(modulus, remainder):
            return Mod(modulus, remainder, sinks=False)
        case inputs.PositionBit(bit, position, length, constant):
            return DigitFeature(bit, position, length, constant)
        case inputs.PositionIn(predicate):
            return Holds(predicate)
        case _:
            return None


def _embedding(program: Program, sinks: int, place: Place, d_model: int) -> Sparse:
    rank = {symbol: at for at, symbol in enumerate(program.symbols)}
    entries: Entries = []
    for at, signal in enumerate(program.signals):
        if isinstance(signal, inputs.TokenIn):
            column = place.get(Register(at, False))
            if column is not None:
                entries += [((rank[s], column), 1.0) for s in signal.symbols]
    return Sparse.of((len(rank) + sinks, d_model), entries)


def _contents(
    plan: Schedule, stored: Stored, features: list[Feature], place: Place, d_model: int
) -> Contents:
    """What each coordinate holds, from which layer on."""
    holds: list[list[tuple[int, Key]]] = [[(0, feature)] for feature in features]
    holds += [[] for _ in range(d_model - len(features))]
    for at in sorted((at for at, layer in stored.items() if layer == 0), reverse=True):
        register = Register(at, False)
        if register in place:
            holds[place[register]].append((0, register))
    for number, layer in enumerate(plan.layers, start=1):
        raw = [Register(at, True) for group in layer.heads for at in group.signals]
        raw += [Register(at, True) for at in layer.steps]
        for register in (*raw, *(Register(gate.signal, False) for gate in layer.gates)):
            holds[place[register]].append((number, register))
    return tuple(map(tuple, holds))


def _coordinates(program: Program, contents: Contents) -> tuple[Coordinate, ...]:
    def name(key: Key) -> str:
        if not isinstance(key, Register):
            return text(key)
        label = program.labels[key.signal]
        return f"raw {label}" if key.raw else label

    return tuple(
        [Coordinate(tuple([(since, name(key)) for since, key in held])) for held in contents]
    )
