"""Labels of a GPT-2 export: its heads, neurons, residual coordinates and the circuit's edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
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
    Node,
    circuit,
    outputs_said,
    residual,
    spoken,
    stated,
)
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula
from softhat.lowering.gpt2.layout import (
    BOS_PAIR,
    Count,
    Head,
    Key,
    Layout,
    bit,
    mean_of,
    previous_bit,
)
from softhat.lowering.gpt2.weights import GAIN, GateTerm, Trunk
from softhat.program.heads import Latest, Previous
from softhat.program.literals import Literal
from softhat.program.meanings import Meanings, meanings
from softhat.program.registers import Register, read
from softhat.program.signals import needed_by
from softhat.transformer.weights import EOS


def label(
    weights: Trunk, tensors: Mapping[str, NDArray[np.float32]], formulas: Mapping[str, Formula]
) -> Labels:
    """Names from the layout, edges from the weights, outputs as they were asked for."""
    layout = weights.layout
    said = meanings(layout.program)
    layout = replace(layout, program=replace(layout.program, labels=spoken(layout.program, said)))
    needed = needed_by(layout.program, formulas)
    heads = tuple(
        HeadLabel(
            layer=number,
            head=at,
            kind=head.kind,
            label="; ".join(layout.program.labels[signal] for signal in head.signals),
            reads=_reads(layout, head),
            writes=tuple(_text(layout, head.target(signal)) for signal in head.signals),
            computes=tuple(_computed(layout, said, number, at)),
            distractor=not needed.intersection(head.signals),
        )
        for number, block in enumerate(layout.heads)
        for at, head in enumerate(block)
    )
    neurons = tuple(
        NeuronLabel(
            number,
            gate.units,
            _gate_label(layout, gate, number + 1),
            (_unit(said, gate, number, GAIN[weights.activation]),),
            gate.signal not in needed,
        )
        for number, block in enumerate(weights.blocks)
        for gate in block.gates
    )
    return Labels(
        model="gpt2",
        heads=heads,
        neurons=neurons,
        coordinates=_coordinates(layout, said),
        edges=_edges(weights, tensors, tuple(formulas)),
        outputs=outputs_said(formulas),
        definitions=said.definitions,
    )


def _computed(layout: Layout, said: Meanings, number: int, at: int) -> Iterator[Meaning]:
    """What stands in the value coordinates of a head: bits as they are, means divided by V."""
    head = layout.heads[number][at]
    hook = f"blocks.{number}.attn.hook_z"
    for r, signal in enumerate(head.signals):
        formula = said.of[signal].formula
        if head.kind == "Average":
            count = layout.counts[signal]
            direction, number_said = [(r, 2 * count.scale)], _mean(said, count)
            yield stated(
                ROLES.get(head.kind, "lookup"), formula, hook, direction, head=at, **number_said
            )
        else:
            yield stated(ROLES.get(head.kind, "lookup"), formula, hook, [(r, 1.0)], head=at)


def _mean(said: Meanings, count: Count) -> dict[str, Any]:
    """Twice the mean: Σ counts - c + 1/2 is no integer."""
    doubled = [(2 * a, source) for a, source in count.terms]
    return {"term": said.total(doubled, 1 - 2 * count.threshold), "over": "i + 1"}


def _unit(said: Meanings, gate: GateTerm, number: int, gain: float) -> Meaning:
    """The two units' difference is G/2 where all literals of the term hold, else 0."""
    low, high = gate.units
    direction = [(low, 2 / gain), (high, -2 / gain)]
    formula = said.conjunction(gate.term)
    return stated("term", formula, f"blocks.{number}.mlp.hook_post", direction)


def _gate_label(layout: Layout, gate: GateTerm, layer: int) -> str:
    text = " & ".join(_literal(layout, literal, layer) for literal in gate.term)
    sign = "not " if gate.complement else ""
    return f"{layout.program.labels[gate.signal]}: {sign}({text})"


def _text(layout: Layout, key: Key) -> str:
    labels = layout.program.labels
    if isinstance(key, Register):
        return f"raw {labels[key.signal]}" if key.raw else labels[key.signal]
    for sign, count in layout.counts.items():
        if key == mean_of(sign):
            return f"{labels[count.average]} against {count.threshold}"
    return key


def _literal(layout: Layout, literal: Literal, layer: int) -> str:
    text = _text(layout, read(layout.stored, literal.signal, layer))
    return text if literal.positive else f"!({text})"


def _reads(layout: Layout, head: Head) -> tuple[str, ...]:
    """What its scores and values depend on, in words."""
    program = layout.program
    found: dict[str, None] = {}
    match head.kind:
        case "Latest":
            assert head.bad is not None
            found["the position"] = None
            found[program.label(head.bad)] = None
        case "Previous":
            found["the position"] = None
        case "Sign":
            found[_text(layout, mean_of(head.signals[0]))] = None
    for signal in head.signals:
        if head.kind == "Average":
            for _, source in layout.counts[signal].terms:
                found["true" if source < 0 else program.labels[source]] = None
        match program.signals[signal]:
            case Latest(_, value, _) | Previous(value, _):
                found[program.label(value)] = None
    return tuple(found)


def _coordinates(layout: Layout, said: Meanings) -> tuple[CoordinateLabel, ...]:
    holds: list[list[_Held]] = [[] for _ in range(layout.d_model // 2)]
    born: dict[Key, int] = {Register(at, False): layer for at, layer in layout.stored.items()}
    for number, block in enumerate(layout.heads, start=1):
        for head in block:
            for signal in head.signals:
                born[head.target(signal)] = number
    for key, at in layout.pair.items():
        since = born.get(key, 0)
        holds[at].append(_Held(since, _text(layout, key), *_held(layout, said, key, since)))
    for at, rows in enumerate(holds):
        if at in layout.pads or at in layout.trims:
            amplitude = 2.0 if at in layout.pads else layout.trim
            rows.append(_Held(0, "pad: keeps the norm", "pad", TRUE, 1 / amplitude))
        elif not rows and at in layout.scratch:
            rows.append(_Held(0, "scratch, unused", "empty", FALSE, 1.0))
        elif not rows:
            rows.append(_Held(0, "constant", "pad", TRUE, 1.0))
    return tuple(
        CoordinateLabel(
            2 * at + half,
            tuple((row.since, row.text if sign > 0 else f"minus: {row.text}") for row in rows),
            tuple(row.meaning(2 * at + half, sign) for row in rows),
        )
        for at, rows in enumerate(holds)
        for half, sign in ((0, 1.0), (1, -1.0))
    )


class _Held(NamedTuple):
    """What a pair holds: weight·v + offset, v its value, is the reading of its meaning."""

    since: int
    text: str
    role: str
    formula: Formula | None
    weight: float
    offset: float = 0.0
    number: Mapping[str, Any] = {}

    def meaning(self, coordinate: int, sign: float) -> Meaning:
        head = self.role in ("raw", "mean")  # which the feed-forward of its block reads already
        hook = f"blocks.{self.since - 1}.hook_resid_mid" if head else residual(self.since)
        direction = [(coordinate, sign * self.weight)]
        return stated(self.role, self.formula, hook, direction, self.offset, **self.number)


def _held(layout: Layout, said: Meanings, key: Key, since: int) -> tuple[Any, ...]:
    """Role, formula, weight, offset and numbers of what a pair holds."""
    if isinstance(key, Register):
        formula = said.of[key.signal].formula
        if key.raw:
            return "raw", formula, 0.5 / layout.amplitude, 0.5
        return "gate" if since else "input", formula, 0.5, 0.5
    for sign, count in layout.counts.items():
        if key == mean_of(sign):
            weight = 2 * count.scale / layout.mean_amplitude
            return "mean", said.of[sign].formula, weight, 0.0, _mean(said, count)
    for b in range(layout.bits):
        for name, term in ((bit(b), "i"), (previous_bit(b), "i - 1")):
            if key == name:
                return "position", None, 0.5, 0.5, {"term": term, "over": "1", "digit": b}
    sink = key == BOS_PAIR
    return "sink" if sink else "constant", FALSE if sink else TRUE, 1.0


def _edges(
    weights: Trunk, tensors: Mapping[str, NDArray[np.float32]], names: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    layout = weights.layout
    d, width = layout.d_model, layout.d_head
    stages: list[list[Node]] = [
        [
            Node("embed", (), _varying(weights.wte)),
            Node("positions", (), _varying(weights.wpe)),
        ]
    ]
    for number, block in enumerate(weights.blocks):
        heads = layout.heads[number] if number < len(layout.heads) else ()
        stage = []
        for h in range(len(heads)):
            inputs = tuple(
                (suffix, _rows(block.c_attn[:, part * d + h * width : part * d + (h + 1) * width]))
                for part, suffix in enumerate((".q", ".k", ".v"))
            )
            writes = _columns(block.attn_proj[h * width : (h + 1) * width])
            stage.append(Node(f"L{number}.H{h}", inputs, writes))
        stages.append(stage)
        if block.gates:
            mlp = Node(f"L{number}.MLP", (("", _rows(block.c_fc)),), _columns(block.mlp_proj))
            stages.append([mlp])
    outputs = []
    if "classifier.weight" in tensors:
        for row, name in zip(tensors["classifier.weight"][-len(names) :], names, strict=True):
            reads = frozenset(map(int, np.flatnonzero(row)))
            outputs.append(Node(f"output:{name}", (("", reads),), frozenset()))
    else:
        matrix = tensors["lm_head.weight"]
        tokens = [*layout.program.symbols, None, EOS]
        for row, output in zip(matrix, tokens, strict=True):
            if output is not None:
                reads = frozenset(map(int, np.flatnonzero(row)))
                outputs.append(Node(f"output:{output}", (("", reads),), frozenset()))
    return circuit([*stages, outputs])


def _rows(matrix: NDArray[np.float32]) -> frozenset[int]:
    return frozenset(map(int, np.flatnonzero(matrix.any(axis=1))))


def _columns(matrix: NDArray[np.float32]) -> frozenset[int]:
    return frozenset(map(int, np.flatnonzero(matrix.any(axis=0))))


def _varying(table: NDArray[np.float32]) -> frozenset[int]:
    return frozenset(map(int, np.flatnonzero((table != table[0]).any(axis=0))))
