"""What labels of stock exports say alike, whatever the architecture: heads, neurons, variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

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
from softhat.transformer.lowering.gpt2.weights import GateTerm
from softhat.transformer.lowering.stock.plan import (
    BOS_PAIR,
    Key,
    PlannedCount,
    StockHeadPlan,
    StockLayout,
    bit,
    mean_of,
)
from softhat.transformer.weights import EOS


class LabelledHead(NamedTuple):
    """A head of a block, and the value coordinates of its targets."""

    layer: int
    number: int
    plan: StockHeadPlan
    places: list[int]


L = TypeVar("L", bound=StockLayout)


class Spoken(NamedTuple, Generic[L]):
    """A layout whose signals have names, what they mean, and which of them the outputs need."""

    layout: L
    signal_meanings: Meanings
    needed: set[int]


def labels_of(
    laid: L,
    formulas: Mapping[str, Formula],
    family: str,
    heads: Iterable[LabelledHead],
    neurons: Callable[[Spoken[L]], Iterable[NeuronLabel]],
    coordinates: Callable[[Spoken[L]], tuple[CoordinateLabel, ...]],
    stages: list[list[CircuitNode]],
) -> Labels:
    """Names from the layout, edges from the weights, outputs as they were asked for."""
    signal_meanings = meanings(laid.program)
    layout = laid.speaking(spoken(laid.program, signal_meanings))
    words = Spoken(layout, signal_meanings, needed_by(layout.program, formulas))
    return Labels(
        model=family,
        heads=tuple(_head_label(words, head) for head in heads),
        neurons=tuple(neurons(words)),
        coordinates=coordinates(words),
        edges=circuit(stages),
        outputs=outputs_said(formulas),
        definitions=signal_meanings.definitions,
    )


def _head_label(words: Spoken[L], placed: LabelledHead) -> HeadLabel:
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


def gate_text(layout: StockLayout, gate: GateTerm, layer: int) -> str:
    """A term of a gate, whose literals are read in this layer."""

    def spelled(literal: Literal) -> str:
        text = key_text(layout, read(layout.stored, literal.signal, layer))
        return text if literal.positive else f"!({text})"

    sign = "not " if gate.complement else ""
    text = " & ".join(map(spelled, gate.term))
    return f"{layout.program.labels[gate.signal]}: {sign}({text})"


def unit_meaning(signal_meanings: Meanings, gate: GateTerm, number: int, gain: float) -> Meaning:
    """The two units' difference is G/2 where all literals of the term hold, else 0."""
    low, high = gate.units
    direction = [(low, 2 / gain), (high, -2 / gain)]
    formula = signal_meanings.conjunction(gate.term)
    return stated("term", formula, f"blocks.{number}.mlp.hook_post", direction)


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


def output_nodes(
    program: Program,
    tensors: Mapping[str, NDArray[np.float32]],
    classifier: str,
    names: tuple[str, ...],
) -> list[CircuitNode]:
    """The outputs and what they read; of a classifier's two logits, that of `true`."""
    lm = "lm_head.weight" in tensors
    rows = tensors["lm_head.weight" if lm else classifier]
    outputs: list[str | None] = [*program.symbols, None, EOS] if lm else [*names]
    return [
        CircuitNode(f"output:{name}", (("", places(row)),), frozenset())
        for row, name in zip(rows[-len(outputs) :], outputs, strict=True)
        if name is not None
    ]
