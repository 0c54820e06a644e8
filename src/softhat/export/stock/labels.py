"""What labels of stock exports say alike, whatever the architecture: heads, neurons, variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softhat.export.labels import (
    ROLES,
    CoordinateLabel,
    HeadLabel,
    Labels,
    Meaning,
    NeuronLabel,
    circuit,
    outputs_said,
    residual,
    spoken,
    stated,
)
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula
from softhat.program.literals import Literal
from softhat.program.meanings import Meanings, meanings
from softhat.program.registers import Register, read
from softhat.program.signals import Program, needed_by
from softhat.transformer.edges import CircuitNode, places
from softhat.transformer.lowering.stock.plan import (
    BOS_PAIR,
    Filler,
    Key,
    PlacedHead,
    PlannedCount,
    StockHeadPlan,
    StockLayout,
    bit,
    earlier_bit,
    mean_of,
)
from softhat.transformer.lowering.stock.trunk import LoweredClip, Trunk
from softhat.transformer.weights import EOS


class Spoken(NamedTuple):
    """A layout whose signals have names, what they mean, and which of them the outputs need."""

    layout: StockLayout
    signal_meanings: Meanings
    needed: set[int]


def label(
    trunk: Trunk[StockLayout],
    readout: Mapping[str, NDArray[Any]],
    formulas: Mapping[str, Formula],
    family: str,
) -> Labels:
    """What a checkpoint's parts are for: names from the layout, edges from the weights, outputs as
    they were asked for. `readout` reads variables."""
    program = trunk.layout.program
    signal_meanings = meanings(program)
    layout = trunk.layout.speaking(spoken(program, signal_meanings))
    words = Spoken(layout, signal_meanings, needed_by(layout.program, formulas))
    return Labels(
        model=family,
        heads=tuple(_head_label(words, head) for head in layout.placed()),
        neurons=tuple(_neurons(trunk, words)),
        coordinates=_coordinates(words),
        edges=circuit([*_stages(trunk), _output_nodes(program, readout, tuple(formulas))]),
        outputs=outputs_said(formulas),
        definitions=signal_meanings.definitions,
    )


def _neurons(trunk: Trunk[StockLayout], words: Spoken) -> Iterator[NeuronLabel]:
    """Where a term holds the difference of its two units is G/2, else 0."""
    layout, signal_meanings, needed = words
    for number, block in enumerate(trunk.blocks):
        hook, weight = f"blocks.{number}.mlp.hook_post", 2 / trunk.gain
        tables: dict[int, tuple[int, ...]] = {}
        for at, clip in enumerate(block.clips):
            signal, units = clip.target.signal, (2 * at, 2 * at + 1)
            if clip.is_table:
                tables[signal] = (*tables.get(signal, ()), *units)
            elif clip.term is not None:
                direction = list(zip(units, (weight, -weight), strict=True))
                meaning = stated("term", signal_meanings.conjunction(clip.term), hook, direction)
                text = clip_text(layout, clip, number - layout.first + 1)
                yield NeuronLabel(number, units, text, (meaning,), signal not in needed)
        for signal, own in tables.items():
            signs = [weight, -weight] * (len(own) // 2)
            formula = signal_meanings.of[signal].formula
            meaning = stated("term", formula, hook, list(zip(own, signs, strict=True)))
            yield NeuronLabel(number, own, layout.program.labels[signal], (meaning,))


def _coordinates(words: Spoken) -> tuple[CoordinateLabel, ...]:
    layout = words.layout
    holds: list[list[HeldVariable]] = [[] for _ in range(layout.variables)]
    fillers = layout.fillers()
    born, digits = _born(layout), _digits(layout)
    for key, at in layout.place.items():
        if at not in layout.pads:
            since = born.get(key, 0)
            held = _held(words, key, since, digits)
            holds[at].append(HeldVariable(since, key_text(layout, key), *held))
    for at, rows in enumerate(holds):
        if not rows:
            text, size = fillers.get(at, Filler("constant", 1.0))
            role = ("pad", TRUE, 1 / size) if size else ("empty", FALSE, 1.0)
            rows.append(HeldVariable(0, text, *role))
    return tuple(
        CoordinateLabel(
            layout.width * at + half,
            tuple((row.since, row.text if sign > 0 else f"minus: {row.text}") for row in rows),
            tuple(row.meaning(layout.width * at + half, sign) for row in rows),
        )
        for at, rows in enumerate(holds)
        for half, sign in enumerate((1.0, -1.0)[: layout.width])
    )


def _born(layout: StockLayout) -> dict[Key, int]:
    """After how many blocks each variable holds what it is for."""
    born: dict[Key, int] = {
        Register(at, False): layout.first + layer if layer or at in layout.tables else 0
        for at, layer in layout.stored.items()
    }
    for head in layout.placed():
        born |= dict.fromkeys(head.plan.targets, head.layer + 1)
    return born


def _digits(layout: StockLayout) -> dict[str, tuple[str, int]]:
    """The variables that are digits of a position: of which, and which digit."""
    digits = {bit(b): ("i", b) for b in range(layout.digits)}
    for distance in {head.plan.distance for head in layout.placed() if head.plan.distance}:
        digits |= {earlier_bit(b, distance): (f"i - {distance}", b) for b in range(layout.digits)}
    return digits


def _held(
    words: Spoken, key: Key, since: int, digits: Mapping[str, tuple[str, int]]
) -> tuple[Any, ...]:
    """Role, formula, weight, offset and numbers of what a variable holds."""
    layout, signal_meanings, _ = words
    if isinstance(key, Register):
        formula = signal_meanings.of[key.signal].formula
        if key.raw:
            return "raw", formula, 0.5 / layout.amplitude, 0.5
        return "gate" if since else "input", formula, 0.5, 0.5
    return feature_held(layout, signal_meanings, key, digits)


def _stages(trunk: Trunk[StockLayout]) -> list[list[CircuitNode]]:
    """Who reads and writes which variables. Where positions turn, attention itself knows how far
    apart query and key are: no node gives it positions."""
    layout, size, half = trunk.layout, trunk.layout.head_size, trunk.layout.head_size // 2
    tables = {"embed": trunk.tokens, "positions": trunk.positions}
    stages = [
        [
            CircuitNode(name, (), places((table != table[0]).any(axis=0)))
            for name, table in tables.items()
            if table is not None
        ]
    ]
    for number, block in enumerate(trunk.blocks):
        stage = []
        for h in (head.number for head in layout.placed() if head.layer == number):
            own, start = slice(h * size, (h + 1) * size), h // layout.shared * size
            keys = values = np.arange(start, start + size)
            if layout.shared > 1:  # those that this head reads
                turning = np.asarray(block.query[own].any(axis=1))
                keys = keys[np.tile(turning[:half] | turning[half:], 2)]
                values = values[block.output[:, own].any(axis=0)]
            inputs = (
                ("q", places(block.query[own].any(axis=0))),
                ("k", places(block.key[keys].any(axis=0))),
                ("v", places(block.value[values].any(axis=0))),
            )
            writes = places(block.output[:, own].any(axis=1))
            stage.append(CircuitNode(f"L{number}.H{h}", inputs, writes))
        stages.append(stage)
        if any(clip.term is not None or clip.is_table for clip in block.clips):
            reads, writes = places(block.gate.any(axis=0)), places(block.down.any(axis=1))
            stages.append([CircuitNode(f"L{number}.MLP", (("", reads),), writes)])
    return stages


def _head_label(words: Spoken, placed: PlacedHead) -> HeadLabel:
    layout, signal_meanings, needed = words
    layer, number, head, places = placed
    named = [layout.program.labels[signal] for signal in head.signals]
    if head.kind == "Digit":
        named = [bit(head.digit)]
        hook, at = f"blocks.{layer}.attn.hook_z", [(places[0], 1.0)]
        about: dict[str, Any] = {"term": "i", "over": "1", "digit": head.digit}
        computes = [stated("position", None, hook, at, head=number, **about)]
    else:
        computes = [*value_meanings(layout, signal_meanings, head, places, layer, number)]
    return HeadLabel(
        layer=layer,
        head=number,
        kind=head.kind,
        label="; ".join(named),
        reads=head_reads(layout, head),
        writes=tuple(key_text(layout, target) for target in head.targets),
        computes=tuple(computes),
        distractor=bool(head.signals) and not needed.intersection(head.signals),
    )


class HeldVariable(NamedTuple):
    """What a variable is from a block on: weight·v + offset is the reading of its meaning."""

    since: int
    text: str
    role: str
    formula: Formula | None
    weight: float
    offset: float = 0.0
    number: Mapping[str, Any] = {}

    def meaning(self, coordinate: int, sign: float = 1.0) -> Meaning:
        # What a head wrote is read by its own block's feed-forward already.
        late = self.since > 0 and self.role in ("raw", "mean", "position")
        hook = f"blocks.{self.since - 1}.hook_resid_mid" if late else residual(self.since)
        direction = [(coordinate, sign * self.weight)]
        return stated(self.role, self.formula, hook, direction, self.offset, **self.number)


def key_text(layout: StockLayout, key: Key) -> str:
    """What a register or feature is, in words."""
    labels = layout.program.labels
    if isinstance(key, Register):
        return f"raw {labels[key.signal]}" if key.raw else labels[key.signal]
    for sign, count in layout.counts.items():
        if key == mean_of(sign):
            return f"{labels[count.average]} against {count.threshold}"
    return key


def clip_text(layout: StockLayout, clip: LoweredClip, layer: int) -> str:
    """A term of a gate, whose literals are read in this layer."""

    def spelled(literal: Literal) -> str:
        text = key_text(layout, read(layout.stored, literal.signal, layer))
        return text if literal.positive else f"!({text})"

    sign = "not " if clip.step < 0 else ""
    text = " & ".join(map(spelled, clip.term or ()))
    return f"{layout.program.labels[clip.target.signal]}: {sign}({text})"


def value_meanings(
    layout: StockLayout,
    signal_meanings: Meanings,
    head: StockHeadPlan,
    places: list[int],
    number: int,
    h: int,
) -> Iterator[Meaning]:
    """What stands in the value coordinates of a head: bits as they are, means divided by V."""
    hook, role = f"blocks.{number}.attn.hook_z", ROLES.get(head.kind, "lookup")
    for place, signal in zip(places, head.signals, strict=True):
        formula = signal_meanings.of[signal].formula
        if head.kind == "Average":
            count = layout.counts[signal]
            direction = [(place, 2 * count.scale)]
            yield stated(
                role, formula, hook, direction, head=h, **mean_fraction(signal_meanings, count)
            )
        else:
            yield stated(role, formula, hook, [(place, 1.0)], head=h)


def mean_fraction(signal_meanings: Meanings, count: PlannedCount) -> dict[str, Any]:
    """Twice the mean: Σ counts - c + 1/2 is no integer."""
    doubled = [(2 * a, source) for a, source in count.terms]
    return {"term": signal_meanings.total(doubled, 1 - 2 * count.threshold), "over": "i + 1"}


def feature_held(
    layout: StockLayout, signal_meanings: Meanings, key: str, digits: Mapping[str, tuple[str, int]]
) -> tuple[Any, ...]:
    """Role, formula, weight, offset and numbers of what is no register: a mean, a digit of the
    position (its term and number, by name), a sink or a constant."""
    for sign, count in layout.counts.items():
        if key == mean_of(sign):
            weight = 2 * count.scale / layout.mean_amplitude
            return (
                "mean",
                signal_meanings.of[sign].formula,
                weight,
                0.0,
                mean_fraction(signal_meanings, count),
            )
    if key in digits:
        term, digit = digits[key]
        return "position", None, 0.5, 0.5, {"term": term, "over": "1", "digit": digit}
    return ("sink", FALSE, 1.0) if key == BOS_PAIR else ("constant", TRUE, 1.0)


def head_reads(layout: StockLayout, head: StockHeadPlan) -> tuple[str, ...]:
    """What its scores and values depend on, in words."""
    program = layout.program
    texts: dict[str, None] = {}
    match head.kind:
        case "Latest":
            assert head.bad is not None
            texts["the position"] = None
            texts[program.label(head.bad)] = None
        case "Recall":
            texts["the position"] = None
            for literal in (head.bad, *head.queries, *head.keys):
                if literal is not None and literal.signal >= 0:
                    texts[program.labels[literal.signal]] = None
        case "Previous" | "Shift" | "Digit":
            texts["the position"] = None
        case "Sign":
            texts[key_text(layout, mean_of(head.signals[0]))] = None
    for signal in head.signals:
        if head.kind == "Average":
            for _, source in layout.counts[signal].terms:
                texts["true" if source < 0 else program.labels[source]] = None
    for value in head.values:
        texts[program.label(value)] = None
    return tuple(texts)


def _output_nodes(
    program: Program, readout: Mapping[str, NDArray[Any]], names: tuple[str, ...]
) -> list[CircuitNode]:
    """The outputs and what they read; of a classifier's two logits, that of `true`."""
    lm = "lm_head.weight" in readout
    (rows,) = (read for read in readout.values() if read.ndim == 2)
    outputs: list[str | None] = [*program.symbols, None, EOS] if lm else [*names]
    return [
        CircuitNode(f"output:{name}", (("", places(row)),), frozenset())
        for row, name in zip(rows[-len(outputs) :], outputs, strict=True)
        if name is not None
    ]
