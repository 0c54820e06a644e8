"""The passes over a word that a model takes: which way each goes, and what it computes.

A head that looks back carries its state from the first position to the last, one that looks ahead
from the last to the first, and one that sees the whole word must have seen it before it answers.
A pass goes one way, a piece of the word at a time, through all layers as far as it can: up to the
first layer with a head whose state is neither carried along nor known. Of the heads that it does
carry it leaves a *mark* at the start of each piece, the state there, and a later pass that goes the
other way starts them from their marks. So what lies between the layers is computed again in each
pass and never kept, and memory is a piece of the word and the marks. Where passes take many turns
that would be quadratic in the layers, so there a pass may *keep* what later ones read: a bit a
position for each stored bit.

A pass computes only what it needs: the columns that are read later in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from softhat.runtime.linear.layers import LinearFeedForward, LinearLayer, reads
from softhat.transformer.rows import Row
from softhat.transformer.shapes import HeadForm, Ramp

Way = Literal["onward", "back"]
FEW = 2
"""A pass through so many layers or more stores columns; fewer layers are computed again."""
WAYS: tuple[Way, Way] = ("onward", "back")
How = Literal["carried", "marked", "gathered", "whole"]
"""What becomes of a head in a pass: its state is carried along; started from marks; gathered from
every position, to be read in later passes; or read, having been gathered."""


@dataclass(frozen=True, slots=True)
class HeadRun:
    """A head in a pass, and where its values go as far as something reads them there."""

    number: int
    how: How
    targets: tuple[Row, ...]

    @property
    def answers(self) -> bool:
        """Whether the pass needs its values."""
        return any(self.targets)


@dataclass(frozen=True, slots=True)
class LayerRun:
    """A layer in a pass."""

    number: int
    heads: tuple[HeadRun, ...]
    feed_forward: LinearFeedForward | None


@dataclass(frozen=True, slots=True)
class Pass:
    """One way through the word."""

    way: Way
    columns: frozenset[int]
    """What is read of the embedding."""
    layers: tuple[LayerRun, ...]
    final: bool
    """It reaches the read-out."""
    keeps: frozenset[int] = frozenset()
    """The columns at its last layer that later passes begin with."""


def way_of(head: HeadForm) -> Way | None:
    """The way in which a head's state is carried; None where it sees the whole word."""
    if head.mask == "none":
        return None
    return "onward" if head.mask in ("<=", "<") else "back"


def passes(
    layers: Sequence[LinearLayer], needed: set[int], ends: Way | None, keeping: bool
) -> tuple[Pass, ...]:
    """As few passes as compute the columns `needed` after the last layer; the last one goes the
    way `ends`, if that is given; `keeping`: what takes long is stored, not computed again."""
    planned = [_Planner(layers, needed, ends, keeping).turns(first) for first in WAYS]
    return min(planned, key=len)


class _Planner:
    def __init__(
        self, layers: Sequence[LinearLayer], needed: set[int], ends: Way | None, keeping: bool
    ) -> None:
        self.layers, self.ends, self.keeping = layers, ends, keeping
        self.live: list[set[int]] = [set() for _ in layers]
        """The heads of each layer whose values are read at all."""
        self.needed = [needed for _ in (*layers, None)]
        """The columns that are read from each layer on."""
        for number in reversed(range(len(layers))):
            layer = layers[number]
            if layer.feed_forward is not None:
                needed = needed | layer.feed_forward.restricted(needed).reads()
            self.live[number] = {
                h
                for h, head in enumerate(layer.heads)
                if any(c in needed for row in head.targets for c, _ in row)
            }
            needed = needed.union(*(reads(layer.heads[h]) for h in self.live[number]))
            self.needed[number] = needed

    def turns(self, way: Way) -> tuple[Pass, ...]:
        """The passes that begin in one way and take turns."""
        known: set[tuple[int, int]] = set()
        plan: list[Pass] = []
        first = 0
        while not plan or not plan[-1].final:
            step = self._pass(way, first, known)
            plan.append(step)
            known |= {
                (layer.number, run.number)
                for layer in step.layers
                for run in layer.heads
                if run.how in ("carried", "gathered")
            }
            if step.keeps:
                first = step.layers[-1].number
            way = WAYS[way == "onward"]
        return tuple(plan)

    def _pass(self, way: Way, first: int, known: set[tuple[int, int]]) -> Pass:
        hows: list[dict[int, How]] = []
        final = self.ends in (None, way)
        for number in range(first, len(self.layers)):
            layer, live = self.layers[number], self.live[number]
            hows.append({})
            for h in sorted(live):
                hows[-1].update(_how(layer.heads[h], h, way, (number, h) in known))
            if len(hows[-1]) < len(live) or "gathered" in hows[-1].values():
                final = False
                break
        return self._restricted(way, first, hows, final)

    def _restricted(self, way: Way, first: int, hows: list[dict[int, How]], final: bool) -> Pass:
        """What the pass computes, layer by layer from the last one down."""
        stop = first + len(hows)
        complete = stop if final else stop - 1
        keeps = self.keeping and not final and complete - first >= FEW
        columns = set(self.needed[complete]) if final or keeps else set()
        stored = frozenset(columns if keeps else ())
        runs: list[LayerRun] = []
        for number in reversed(range(first, stop)):
            layer = self.layers[number]
            feed_forward = None
            if number < complete and layer.feed_forward is not None:
                feed_forward = layer.feed_forward.restricted(columns)
                columns |= feed_forward.reads()
            heads = []
            for h, how in hows[number - first].items():
                targets = tuple(
                    tuple(x for x in row if x[0] in columns) if number < complete else ()
                    for row in layer.heads[h].targets
                )
                heads.append(HeadRun(h, how, targets))
            run = tuple(x for x in heads if x.answers or x.how in ("carried", "gathered"))
            columns = columns.union(*(reads(layer.heads[x.number]) for x in run))
            runs.insert(0, LayerRun(number, run, feed_forward))
        return Pass(way, frozenset(columns), tuple(runs), final, stored)


def _how(head: HeadForm, h: int, way: Way, known: bool) -> dict[int, How]:
    """What becomes of a head; nothing, if it has to wait."""
    its_way = way_of(head)
    if its_way is None:
        return {h: "whole" if known else "gathered"}
    if its_way == way or isinstance(head.shape, Ramp):  # a ramp carries nothing
        return {h: "carried"}
    return {h: "marked"} if known else {}
