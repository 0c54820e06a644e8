"""The walk through the layers: what is claimed of residual streams and gaps, step by step.

Of each layer the evidence says on which grids the coordinates lie and how far they reach, and of
each head that is not uniform its least gap and how crowded its maximum is. Each claim is accepted
only if it follows from the weights and from what was accepted before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from softhat.numbers.grids import common
from softhat.numbers.growth import Polynomial, point
from softhat.numbers.laws import Law, as_law
from softhat.proof.simulations.argmax import agreeing, averaging
from softhat.proof.simulations.embedding import embedded
from softhat.proof.simulations.errors import require
from softhat.proof.simulations.evidence import ClaimedCoordinate, GapClaim
from softhat.proof.simulations.residual import ResidualStream, Sight, sight
from softhat.proof.simulations.scores import at_most, pairs
from softhat.proof.simulations.single import crowded, decided, one_maximum
from softhat.proof.simulations.source import (
    SourceHead,
    SourceLayer,
    SourceModel,
    Vector,
    columns,
    support,
)
from softhat.proof.simulations.steps import attended, fed_forward, forgotten, read_after


@dataclass(frozen=True, slots=True)
class GapFact:
    """What is proved of a head: its least gap, how crowded its maximum is (None: any number of keys
    may be near), whether every row has one maximum, and whether the keys that share it agree."""

    gap: Law
    crowd: int | None
    single: bool
    agreed: bool


@dataclass(frozen=True, slots=True)
class Stage:
    """One layer: the stream before it, what its heads read, what is proved of them (None: nothing
    is claimed of a head that is uniform), and which are uniform in every row."""

    layer: SourceLayer
    stream: ResidualStream
    sights: list[Sight]
    facts: list[GapFact | None]
    uniform: list[bool]

    @property
    def single(self) -> list[bool]:
        return [fact is not None and fact.single for fact in self.facts]

    @property
    def agreed(self) -> list[bool]:
        return [fact is not None and fact.agreed for fact in self.facts]


def walked(
    source: SourceModel,
    streams: Sequence[Sequence[ClaimedCoordinate]],
    claims: Sequence[Sequence[GapClaim | None]],
    top: int | None = None,
) -> tuple[list[Stage], ResidualStream]:
    """All layers, and the stream after the last. `top`: the greatest length that is asked for."""
    require(len(streams) == len(source.layers), "the evidence has other layers")
    stream, stages = embedded(source), list[Stage]()
    even = {c for c in range(source.width) if stream.steady(stream.read(_unit(source, c)))}
    later = read_after(source)
    for l, layer in enumerate(source.layers):
        _coordinates(l, source, streams[l], stream)
        require(len(claims[l]) == len(layer.heads), f"layer {l}: the evidence has other heads")
        sights = [averaging(sight(head, stream)) for head in layer.heads]
        heads = [seen.head for seen in sights]
        uniform = [head.ties == "average" and _asked(head) <= even for head in heads]
        facts = [
            _gap(source, f"layer {l}, head {h}", seen, claim, uniform[h], top)
            for h, (seen, claim) in enumerate(zip(sights, claims[l], strict=True))
        ]
        stage = Stage(layer, stream, sights, facts, uniform)
        stages.append(stage)
        for h, seen in enumerate(sights):
            label = f"{l}.{h}"
            stream = attended(stream, seen, uniform[h], stage.single[h], source.sinks, label)
        if layer.forward is not None:
            stream = fed_forward(stream, layer.forward, str(l))
        even = _still_even(layer, even, uniform)
        stream = forgotten(stream, later[l])
    return stages, stream


def _coordinates(
    l: int, source: SourceModel, claims: Sequence[ClaimedCoordinate], stream: ResidualStream
) -> None:
    """Denominators and ranges before the layer."""
    require(len(claims) == source.width, f"layer {l}: the evidence has other widths")
    for c, told in enumerate(claims):
        x = stream.read(_unit(source, c))
        grid, reach = stream.whole(x), stream.range(x)
        fine = (
            not grid.unit
            if told.least is None
            else (not grid.unit or at_most(told.least, grid.least))
        )
        require(fine, f"layer {l}: the denominators of coordinate {c}")
        inside = _no_less(reach.low, told.low) and _no_less(told.high, reach.high)
        require(inside, f"layer {l}: the range of coordinate {c}")


def _gap(
    source: SourceModel,
    where: str,
    seen: Sight,
    claim: GapClaim | None,
    uniform: bool,
    top: int | None,
) -> GapFact | None:
    """One head: its gap, its ties, its crowd."""
    if claim is None:
        require(uniform, f"{where}: not all its rows are uniform")
        return None
    differences = list(pairs(seen))
    require(all(pair.at_least(claim.gap) for pair in differences), f"{where}: its gap")
    single = not uniform and one_maximum(seen, differences)
    if seen.head.ties != "average" and not single:
        _decided(source, where, seen, claim, top)
        single = True
    if claim.crowd is not None:
        known = crowded(seen, differences, claim.gap)
        require(known is not None and known <= claim.crowd, f"{where}: its crowd")
    return GapFact(claim.gap, claim.crowd, single, single or agreeing(seen))


def _decided(
    source: SourceModel, where: str, seen: Sight, claim: GapClaim, top: int | None
) -> None:
    """A unique-hard head whose last row breaks ties: the others' differences are at least what the
    evidence says, and the term is finer."""
    head = seen.head
    shorter = SourceHead(
        head.mask, head.ties, head.query[:-1], head.key[:-1], head.value, head.output
    )
    rest = list(pairs(sight(shorter, seen.stream)))
    if claim.others is None:
        require(not any(pair.whole.unit for pair in rest), f"{where}: its ties")
    else:
        others = claim.others
        require(all(pair.at_least(others) for pair in rest), f"{where}: its ties")
    require(
        decided(source, head, claim.others, top),
        f"{where}: it takes the {head.ties} of its maximal keys, and nothing in its scores "
        "breaks their ties",
    )


def check_margin(source: SourceModel, stream: ResidualStream, margin: Law) -> None:
    """|value| is at least the margin at every position of every word. `stream`: after all layers"""
    value = stream.read(source.weights, source.bias)
    rest = common(stream.atoms[a].whole.scaled(w) for a, w in value.form.items())
    for x, kind in zip(value.content, stream.classes, strict=True):
        if kind.sink is not None:
            continue  # nobody asks for the value there
        reach = point(x)
        for a, w in value.form.items():
            reach = reach + stream.atoms[a].range * w
        least = max(reach.low.least, (reach * Fraction(-1)).low.least)
        if least > 0 and at_most(margin, as_law(Fraction(least))):
            continue
        require(not rest.degrees, "the margin of its decisions")
        part = abs(x) if not rest.unit else x % rest.unit
        nearest = part if not rest.unit else min(part, rest.unit - part)
        held = nearest > 0 and at_most(margin, as_law(nearest))
        require(held, "the margin of its decisions")


def _unit(source: SourceModel, c: int) -> Vector:
    return tuple(Fraction(int(k == c)) for k in range(source.width))


def _asked(head: SourceHead) -> set[int]:
    """The coordinates that scores can depend on: keys in rows whose query is not 0."""
    return columns(tuple(k for q, k in zip(head.query, head.key, strict=True) if any(q)))


def _still_even(layer: SourceLayer, even: set[int], uniform: list[bool]) -> set[int]:
    """The coordinates that are equal at all positions of a word, under hard and soft attention."""
    for head, same in zip(layer.heads, uniform, strict=True):
        if not (same and head.mask == "none"):
            even = even - {c for c, row in enumerate(head.output) if any(row)}
    if layer.forward is not None:
        ff = layer.forward
        varied = {u for u, row in enumerate(ff.into) if not support(row) <= even}
        even = even - {c for c, row in enumerate(ff.out) if support(row) & varied}
    return even


def _no_less(x: Polynomial, y: Polynomial) -> bool:
    """x ≥ y at every n ≥ 1, where that can be read off."""
    apart = x + y * Fraction(-1)
    return not apart.terms or apart.least >= 0 or apart.above_zero
