"""What the parts of a compiled model in softhat's own architecture compute, as `Meaning`s.

The program says what its signals mean and the lowering where they went. Both are made again from
the formulas and must give the names that the model has; a model that was made otherwise (or of a
RASP program, whose signals are no formulas) has no meanings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from softhat.export.labels import ROLES, Meaning, residual, spoken, stated
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, Formula
from softhat.numbers.positions import Holds, Mod, Named
from softhat.program.gates import Steps, Total
from softhat.program.heads import Average, Sign
from softhat.program.meanings import Meanings, meanings
from softhat.program.recalls import without_recalls
from softhat.program.registers import Register
from softhat.program.signals import Program
from softhat.transformer.lowering.lower import Lowered, lowered
from softhat.transformer.lowering.rows import Key, PositionUnits
from softhat.transformer.lowering.wiring import Wiring
from softhat.transformer.weights import Transformer

CLIP = 8.0
"""The two units of a gate's term differ by 1/8 where the term holds."""


@dataclass(frozen=True)
class NativeMeanings:
    """Of each head, of the hidden units of each layer, and of what each coordinate holds."""

    inputs: tuple[Meaning, ...]
    heads: tuple[tuple[tuple[Meaning, ...], ...], ...]
    neurons: tuple[tuple[Meaning, ...], ...]
    gates: tuple[tuple[Meaning, ...], ...]
    """The bits that each layer's feed-forward stores."""
    coordinates: tuple[tuple[Meaning, ...], ...]
    definitions: tuple[str, ...]
    named: Transformer
    """The model with texts that parse as the labels of its heads and coordinates."""


def native_meanings(t: Transformer, program: Program | None) -> NativeMeanings | None:
    """The meanings of a compiled model, if its program's are formulas and it has this layout."""
    if program is None or any(isinstance(s, Steps | Total) for s in program.signals):
        return None
    program = without_recalls(program)
    signal_meanings = meanings(program)
    if any(meaning.formula is None and meaning.term is None for meaning in signal_meanings.of):
        return None
    lowering = lowered(program, t.attention)
    if lowering.transformer.coordinates != t.coordinates:
        return None
    return _NativeReading(
        _named(t, program, signal_meanings), program, signal_meanings, lowering
    ).run()


def _named(t: Transformer, program: Program, signal_meanings: Meanings) -> Transformer:
    other = lowered(spoken(program, signal_meanings), t.attention).transformer
    layers = zip(t.layers, other.layers, strict=True)
    return replace(
        t,
        coordinates=other.coordinates,
        layers=tuple(replace(layer, labels=texts.labels) for layer, texts in layers),
    )


class _NativeReading:
    def __init__(
        self, t: Transformer, program: Program, signal_meanings: Meanings, lowering: Lowered
    ) -> None:
        self.t, self.program = t, program
        self.signal_meanings, self.lowering = signal_meanings, lowering
        self.wiring = Wiring(program, PositionUnits(scaled=t.attention == "temperature"))
        self.decides: dict[int, Formula | None] = {}
        """The comparison that a mean is for (the first, where there are several)."""
        for at, signal in enumerate(program.signals):
            if isinstance(signal, Sign):
                for average in signal.averages:
                    self.decides.setdefault(average, signal_meanings.of[at].formula)

    def run(self) -> NativeMeanings:
        numbers = range(len(self.t.layers))
        held = [
            tuple((since, self.held(c, since, key)) for since, key in row)
            for c, row in enumerate(self.lowering.contents)
        ]
        return NativeMeanings(
            inputs=tuple(m for row in held for _, m in row if m.role == "input"),
            heads=tuple(tuple(self.heads(number)) for number in numbers),
            neurons=tuple(tuple(self.units(number)) for number in numbers),
            gates=tuple(
                tuple(m for row in held for since, m in row if (since, m.role) == (k + 1, "gate"))
                for k in numbers
            ),
            coordinates=tuple(tuple(meaning for _, meaning in row) for row in held),
            definitions=self.signal_meanings.definitions,
            named=self.t,
        )

    def heads(self, number: int) -> Iterator[tuple[Meaning, ...]]:
        hook = f"blocks.{number}.attn.hook_z"
        layer = self.t.layers[number]
        for h, group in enumerate(self.lowering.plan.layers[number].heads):
            role = ROLES.get(layer.kinds[h], "lookup")
            yield tuple(self.value(role, at, hook, r, head=h) for r, at in enumerate(group.signals))

    def value(self, role: str, at: int, hook: str, index: int, **place: Any) -> Meaning:
        """A raw output: a bit, or a mean divided by its scale."""
        signal = self.program.signals[at]
        if not isinstance(signal, Average):
            return stated(role, self.signal_meanings.of[at].formula, hook, [(index, 1.0)], **place)
        mean: dict[str, Any] = {
            "term": self.signal_meanings.of[at].term,
            "over": self.signal_meanings.of[at].over,
        }
        weight = self.wiring.scale(signal.terms)
        return stated(role, self.decides.get(at), hook, [(index, weight)], **place, **mean)

    def units(self, number: int) -> Iterator[Meaning]:
        """In the order in which `softhat.transformer.lowering.gates` writes them."""
        hook = f"blocks.{number}.mlp.hook_post"
        gates = self.lowering.plan.layers[number].gates
        unit = 0
        for gate in gates:
            for term in gate.terms:
                direction = [(unit, CLIP), (unit + 1, -CLIP)]
                yield stated("term", self.signal_meanings.conjunction(term), hook, direction)
                unit += 2
        if any(gate.complement for gate in gates):
            yield stated("sink", FALSE, hook, [(unit, 1.0)])
            unit += 1
        for register in self.lowering.clears[number]:
            cleared = self.value("clear", register.signal, hook, unit)
            if isinstance(self.program.signals[register.signal], Average):  # of either sign
                ((_, weight),) = cleared.direction
                cleared = replace(cleared, direction=((unit, weight), (unit + 1, -weight)))
                unit += 1
            yield cleared
            unit += 1

    def held(self, c: int, since: int, key: Key) -> Meaning:
        if isinstance(key, Register) and key.raw:
            role = "mean" if isinstance(self.program.signals[key.signal], Average) else "raw"
            return self.value(role, key.signal, f"blocks.{since - 1}.hook_resid_mid", c)
        hook = residual(since)
        if isinstance(key, Register):
            role = "gate" if since else "input"
            return stated(role, self.signal_meanings.of[key.signal].formula, hook, [(c, 1.0)])
        match key:
            case Named("1" | "ordinary", False):
                return stated("constant", TRUE, hook, [(c, 1.0)])
            case Named("ordinary", True):
                return stated("position", None, hook, [(c, 1.0)], term="1", over="P")
            case Named("i", scaled):
                over = "P" if scaled else "1"
                return stated("position", None, hook, [(c, 1.0)], term="i", over=over)
            case Named("r", scaled):
                over = "P" if scaled else "1"
                return stated("position", None, hook, [(c, 1.0)], term="n + 1 - i", over=over)
            case Named("(-1)^i", False):
                return stated("position", nodes.Mod(2, 0), hook, [(c, 0.5)], 0.5)
            case Mod(modulus, remainder, _):
                return stated("position", nodes.Mod(modulus, remainder), hook, [(c, 1.0)])
            case Holds(predicate):
                return stated("position", nodes.At(predicate), hook, [(c, 1.0)])
            case _:
                return stated("position", None, hook, [(c, 1.0)])
