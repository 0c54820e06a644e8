"""Labels of a GPT-2 export: its heads, neurons, residual coordinates and the circuit's edges."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from softhat.export.labels import CoordinateLabel, HeadLabel, Labels, NeuronLabel, Node, circuit
from softhat.lowering.gpt2.layout import Head, Key, Layout, mean_of
from softhat.lowering.gpt2.weights import GateTerm, Trunk
from softhat.program.heads import Latest, Previous
from softhat.program.literals import Literal
from softhat.program.registers import Register, read


def label(weights: Trunk, tensors: Mapping[str, NDArray[np.float32]]) -> Labels:
    """Names from the layout, edges from the weights."""
    layout = weights.layout
    heads = tuple(
        HeadLabel(
            layer=number,
            head=at,
            kind=head.kind,
            label=_head_label(layout, head),
            reads=_reads(layout, head),
            writes=tuple(_text(layout, head.target(signal)) for signal in head.signals),
        )
        for number, block in enumerate(layout.heads)
        for at, head in enumerate(block)
    )
    neurons = tuple(
        NeuronLabel(number, gate.units, _gate_label(layout, gate, number + 1))
        for number, block in enumerate(weights.blocks)
        for gate in block.gates
    )
    return Labels(
        model="gpt2",
        heads=heads,
        neurons=neurons,
        coordinates=_coordinates(layout),
        edges=_edges(weights, tensors),
    )


def _head_label(layout: Layout, head: Head) -> str:
    return "; ".join(layout.program.labels[signal] for signal in head.signals)


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


def _coordinates(layout: Layout) -> tuple[CoordinateLabel, ...]:
    first: dict[int, str] = {}
    holds: list[list[tuple[int, str]]] = [[] for _ in range(layout.d_model // 2)]
    born: dict[Key, int] = {Register(at, False): layer for at, layer in layout.stored.items()}
    for number, block in enumerate(layout.heads, start=1):
        for head in block:
            for signal in head.signals:
                born[head.target(signal)] = number
    for key, at in layout.pair.items():
        holds[at].append((born.get(key, 0), _text(layout, key)))
    for at in (*layout.pads, *layout.trims):
        first[at] = "pad: keeps the norm"
    named = set(layout.pair.values())
    rows = []
    for at in range(layout.d_model // 2):
        default = "scratch, unused" if at in layout.scratch else "constant"
        held = holds[at] if at in named else [(0, first.get(at, default))]
        rows.append(CoordinateLabel(2 * at, tuple(held)))
        rows.append(
            CoordinateLabel(2 * at + 1, tuple((since, f"minus: {text}") for since, text in held))
        )
    return tuple(rows)


def _edges(
    weights: Trunk, tensors: Mapping[str, NDArray[np.float32]]
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
        ((name, _),) = layout.program.outputs
        rows = _columns(tensors["classifier.weight"])
        outputs.append(Node(f"output:{name}", (("", rows),), frozenset()))
    else:
        matrix = tensors["lm_head.weight"]
        names = [*layout.program.symbols, None, layout.program.outputs[-1][0]]
        for row, output in zip(matrix, names, strict=True):
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
