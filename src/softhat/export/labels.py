"""`labels.json`: what every head, neuron and residual coordinate of an export computes.

The circuit of a compiled model is known, so circuit-discovery methods can be scored against it.
The same format serves every export. Layers, heads, units and coordinates count from 0.

A *meaning* is for machines: where TransformerLens shows the activation, along which direction, and
which formula it is then the truth of. `label` and `what` say the same for people.

Nodes of the circuit are named `embed` (tokens), `positions`, `L0.H2` (head 2 of block 0; as the
end of an edge `L0.H2.q`, `.k` or `.v`, the input that reads), `L0.MLP` and `output:NAME`. An edge
[from, to] says that `to` reads, with a weight other than 0, a coordinate into which `from` wrote
something that varies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any

from softhat.io.errors import SofthatError
from softhat.logic.syntax import nodes
from softhat.logic.syntax.parse import parse
from softhat.program.meanings import Meanings
from softhat.program.signals import Program
from softhat.transformer.edges import Stages, edges_of

FORMAT = "softhat-labels/1"
ROLES = {"Average": "mean", "Sign": "comparison"}
"""Of heads; all other kinds look something up."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a part computes, as something to evaluate and to compare with an activation.

    With x the activation at `hook` (of head `head`, where the hook shows several), the *reading*
    Σ w·x[k] over (k, w) in `direction`, plus `offset`, is at each symbol of a word, up to the leak
    of softmax: where there is a `term`, the counting term divided by `over` (a term, or P, the
    least power of two from n + 2 on, for models with temperature scaling), of which a `digit` is
    binary digit number `digit` (0 where it is negative); else 1 where `formula` holds and 0
    elsewhere, the other way round where `sign` is -1. The formula of a mean is the comparison that
    it decides.
    """

    role: str
    formula: str | None
    sign: int = 1
    hook: str | None = None
    direction: tuple[tuple[int, float], ...] = ()
    offset: float = 0.0
    head: int | None = None
    term: str | None = None
    over: str | None = None
    digit: int | None = None
    output: str | None = None
    """The output that this is, where it is one."""

    def to_json(self) -> dict[str, Any]:
        """What is always there, and of the rest what there is."""
        always = {"role": self.role, "formula": self.formula, "sign": self.sign}
        place = {
            "hook": self.hook,
            "direction": [list(entry) for entry in self.direction],
            "offset": self.offset,
        }
        optional = ("head", "term", "over", "digit", "output")
        rest = {name: getattr(self, name) for name in optional}
        return {
            **always,
            **(place if self.hook else {}),
            **{name: value for name, value in rest.items() if value is not None},
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Meaning:
        direction = tuple((int(k), float(w)) for k, w in data.get("direction", ()))
        return Meaning(**{**data, "direction": direction})


def stated(
    role: str,
    formula: nodes.Formula | None,
    hook: str,
    direction: Iterable[tuple[int, float]],
    offset: float = 0.0,
    head: int | None = None,
    **number: Any,
) -> Meaning:
    """A meaning; an outermost negation becomes its sign."""
    sign = 1
    if isinstance(formula, nodes.Not):
        formula, sign = formula.operand, -1
    text = None if formula is None else str(formula)
    number_texts = {name: str(value) for name, value in number.items() if name != "digit"}
    digit = number.get("digit")
    return Meaning(
        role, text, sign, hook, tuple(direction), offset, head, digit=digit, **number_texts
    )


def outputs_said(formulas: Mapping[str, nodes.Formula]) -> tuple[Meaning, ...]:
    """What each output decides."""
    return tuple(Meaning("output", str(f), output=name) for name, f in formulas.items())


def spoken(program: Program, signal_meanings: Meanings) -> Program:
    """With a label for each signal that parses: as the user wrote it where the program knows."""
    known = {"propositions" if program.propositional else "alphabet": program.symbols}
    texts = []
    for label, meaning in zip(program.labels, signal_meanings.of, strict=True):
        if meaning.formula is None:
            texts.append(label if meaning.term is None else f"({meaning.term})/({meaning.over})")
            continue
        try:
            parse(label, **known)
            texts.append(label)
        except SofthatError:
            texts.append(str(meaning.formula))
    return replace(program, labels=tuple(texts))


def residual(layer: int) -> str:
    """The hook that shows the residual stream after `layer` blocks."""
    return f"blocks.{layer - 1}.hook_resid_post" if layer else "blocks.0.hook_resid_pre"


@dataclass(frozen=True, slots=True)
class HeadLabel:
    """One attention head: its kind (Latest, Previous, …), formula, and what it reads and writes."""

    layer: int
    head: int
    kind: str
    """Of `softhat.program.heads`: `Latest`, `Average`, …"""
    label: str
    """What it computes, for people."""
    reads: tuple[str, ...]
    """What the coordinates hold that it reads."""
    writes: tuple[str, ...]
    computes: tuple[Meaning, ...] = ()
    distractor: bool = False
    """No output needs it."""


@dataclass(frozen=True, slots=True)
class NeuronLabel:
    """Hidden units that together compute (a term of) one gate."""

    layer: int
    units: tuple[int, ...]
    label: str
    computes: tuple[Meaning, ...] = ()
    distractor: bool = False


@dataclass(frozen=True, slots=True)
class CoordinateLabel:
    """What a residual coordinate holds: (0, …) from the embedding, (k, …) from block k-1 on."""

    index: int
    holds: tuple[tuple[int, str], ...]
    computes: tuple[Meaning, ...] = ()
    """One for each of `holds`, where formulas say it."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Everything that `labels.json` says."""

    model: str
    heads: tuple[HeadLabel, ...]
    neurons: tuple[NeuronLabel, ...]
    coordinates: tuple[CoordinateLabel, ...]
    edges: tuple[tuple[str, str], ...]
    outputs: tuple[Meaning, ...] = ()
    definitions: tuple[str, ...] = ()
    """`x1 := a S b`: what the names in formulas stand for, where formulas are long."""
    disguised: bool = False
    """No coordinate is a variable's own: `coordinates` count the rows of `residual` in
    `directions.safetensors`, and the JSON calls them `directions`."""

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "model": self.model,
            "definitions": list(self.definitions),
            "heads": [_part(head) for head in self.heads],
            "neurons": [_part(neuron) for neuron in self.neurons],
            "coordinates": [],
            "directions" if self.disguised else "coordinates": [
                {"index": coordinate.index, "holds": _held(coordinate)}
                for coordinate in self.coordinates
            ],
            "outputs": [meaning.to_json() for meaning in self.outputs],
            "edges": [list(edge) for edge in self.edges],
        }


def _part(label: HeadLabel | NeuronLabel) -> dict[str, Any]:
    """The fields of a label; that it is a distractor is said of those that are."""
    document = {field.name: getattr(label, field.name) for field in fields(label)}
    document["computes"] = [meaning.to_json() for meaning in label.computes]
    if not label.distractor:
        del document["distractor"]
    return {name: list(x) if isinstance(x, tuple) else x for name, x in document.items()}


def _held(coordinate: CoordinateLabel) -> list[dict[str, Any]]:
    documents = [meaning.to_json() for meaning in coordinate.computes]
    documents += [{} for _ in coordinate.holds[len(documents) :]]
    return [
        {"from": since, "what": text, **meaning}
        for (since, text), meaning in zip(coordinate.holds, documents, strict=True)
    ]


def circuit(stages: Stages, replaced: bool = False) -> tuple[tuple[str, str], ...]:
    """The edges between nodes, as labels have them: the sources of an input by name."""
    inputs = groupby(edges_of(stages, replaced), key=lambda edge: edge[1:])
    return tuple(
        (source, f"{target}.{slot}" if slot else target)
        for (target, slot), edges in inputs
        for source in sorted(source for source, _, _ in edges)
    )
