"""Where soft and hard attention part: the first part of a model that makes an answer wrong.

A model is a row of *stages*: the embedding, then for each layer its attention and its
feed-forward layer, then the read-out. On a word with a wrong answer, the model's own stages are
run up to some stage and the rest is run by what the formulas compile to (in float64). The first
stage after which that no longer gives the right answer is at fault: everything before it could
still be read correctly. The same transplant, of single heads or single coordinates, then says
which head or gate it is: a part is at fault if it alone makes the answer wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.models.model import Model
from softhat.models.verification.job import Job
from softhat.models.verification.measure import pristine
from softhat.models.verification.words import Tokens, truth_of
from softhat.numbers.positions import text
from softhat.numerics.formats import format_of
from softhat.runtime.dense import Ready, ReadyLayer
from softhat.transformer.weights import Layer, Sparse, Transformer

Array = NDArray[Any]
Part = Literal["embedding", "position", "head", "gate", "readout"]
CLEARLY = 1 / 4
"""An answer counts as right if its margin keeps half of what it has in a sound model: a fault
that leaves the answer on the threshold is not saved by luck."""
MOST = 64
"""Coordinates tried one by one, those furthest off first."""


@dataclass(frozen=True)
class Place:
    """The part at fault. Layers and heads are counted from 0."""

    part: Part
    layer: int | None
    head: int | None
    name: str
    """The head's label, or what the coordinate holds."""
    position: int
    """Of the rows of the word with its sinks, the one where it is furthest off."""
    value: float
    """What the part gives there."""
    expected: float
    """What it should give."""

    def __str__(self) -> str:
        match self.part:
            case "head":
                where = f"layer {self.layer}, head {self.head} ({self.name})"
            case "gate":
                where = f"layer {self.layer}, the gate that stores {self.name}"
            case "readout":
                where = f"the read-out of {self.name}"
            case "position":
                where = f"the position feature {self.name}"
            case _:
                where = f"the embedding, coordinate {self.name}"
        return f"{where}: {self.value:.4g} instead of {self.expected:.4g} at row {self.position}"


def locate(job: Job, tokens: Tokens, output: str, position: int) -> Place | None:
    """The part of the model that makes `output` wrong at `position` of a word; None if the
    model is built differently from what its formulas compile to, or if that is wrong itself."""
    reference = pristine(job.model, job.model.transformer.attention)
    if reference is None:
        return None
    search = _FaultSearch(job.model, reference, job.settings.dtype, tokens, output, position)
    return search.run() if search.reference_is_right() else None


class _FaultSearch:
    def __init__(
        self,
        model: Model,
        reference: Transformer,
        dtype: str,
        tokens: Tokens,
        output: str,
        position: int,
    ) -> None:
        self.t, self.reference = model.transformer, reference
        self.model = model.ready(dtype)
        self.right = Ready(reference, format_of("float64"))
        self.tokens = tokens[None]
        self.at, self.output = position, self.t.outputs.index(output)
        self.name = output
        self.truth = bool(truth_of(model, self.tokens)[0, position, self.output])

    def reference_is_right(self) -> bool:
        """Whether what the formulas compile to answers this word as they do: else the fault is
        in no part of the weights, but in the compiler."""
        return self._saves(self.right.embed(self.tokens), 0)

    def run(self) -> Place:
        x = self.model.embed(self.tokens)
        good = self.right.embed(self.tokens)
        if not self._saves(x, 0):
            return self._embedding(x, good)
        for k, (own, ref) in enumerate(zip(self.t.layers, self.reference.layers, strict=True)):
            parts = (attention_of(own), attention_of(ref)), (gates_of(own), gates_of(ref))
            for second, (own_part, ref_part) in enumerate(parts):
                after = self._step(self.model, own_part, x)
                should = self._step(self.right, ref_part, x)
                if not self._saves(after, 2 * k + 1 + second):
                    if second:
                        return self._gate(k, after, should)
                    return self._head(k, x, should)
                x = after
        margin, right = self.model.margins(x)[0], self.right.margins(_wide(x))[0]
        return Place(
            part="readout",
            layer=None,
            head=None,
            name=self.name,
            position=self.at + 1,
            value=float(margin[self.at, self.output]),
            expected=float(right[self.at, self.output]),
        )

    def _step(self, ready: Ready, part: Layer, x: Array) -> Array:
        """One stage, by the model in its format or by the reference in float64."""
        if ready is self.right:
            x = _wide(x)
        return ready.step(ReadyLayer(part, ready.form), x, keep=False)[0]

    def _saves(self, x: Array, stages: int) -> bool:
        """Whether the reference, given the residual after some stages, still answers right."""
        return bool(self._saved(x, stages)[0])

    def _saved(self, x: Array, stages: int) -> NDArray[np.bool_]:
        x = _wide(x)
        first = stages // 2
        if stages % 2:
            x = self._step(self.right, gates_of(self.reference.layers[first]), x)
            first += 1
        for layer in self.right.layers[first:]:
            x, _ = self.right.step(layer, x, keep=False)
        margins = self.right.margins(x)[:, self.at, self.output]
        return np.asarray((margins if self.truth else -margins) > CLEARLY)

    def _embedding(self, x: Array, good: Array) -> Place:
        c = self._coordinate(x, good, 0)
        own = self.t.position_embedding.dense()[c]
        moved = np.flatnonzero(own != self.reference.position_embedding.dense()[c])
        if len(moved):
            name = text(self.t.positions[int(moved[0])])
            return self._place("position", None, None, name, x, good, c)
        return self._place("embedding", None, None, self._label(c, 0), x, good, c)

    def _gate(self, k: int, after: Array, should: Array) -> Place:
        c = self._coordinate(after, should, 2 * k + 2)
        return self._place("gate", k, None, self._label(c, k + 1), after, should, c)

    def _coordinate(self, x: Array, good: Array, stages: int) -> int:
        """The coordinate that alone makes the answer wrong; else the one furthest off."""
        off = np.nan_to_num(np.abs(_wide(x) - good), nan=np.inf)[0].max(axis=0)
        order = np.argsort(-off, kind="stable")[:MOST]
        order = order[off[order] > 0]
        if not len(order):  # the same everywhere
            return int(off.argmax())
        variants = np.repeat(good, len(order), axis=0)
        for v, c in enumerate(order):
            variants[v, :, c] = x[0, :, c]
        guilty = np.flatnonzero(~self._saved(variants, stages))
        return int(order[guilty[0]] if len(guilty) else off.argmax())

    def _head(self, k: int, x: Array, should: Array) -> Place:
        """The head that, put among the right ones, makes the answer wrong; else the one whose
        contribution is furthest off."""
        own, ref = self.t.layers[k], self.reference.layers[k]
        wide = _wide(x)
        wrong, worst = list[tuple[float, int]](), list[tuple[float, int]]()
        moves = []
        for h in range(len(own.labels)):
            moved = _wide(self._step(self.model, only(own, h), x)) - wide
            right = self._step(self.right, only(ref, h), x) - wide
            moves.append((moved, right))
            off = float(np.nan_to_num(np.abs(moved - right), nan=np.inf).max())
            worst.append((-off, h))
            if not self._saves(should - right + moved, 2 * k + 1):
                wrong.append((-off, h))
        _, h = min(wrong or worst)
        moved, right = moves[h]
        c = int(np.nan_to_num(np.abs(moved - right), nan=np.inf)[0].max(axis=0).argmax())
        return self._place("head", k, h, own.labels[h], moved, right, c)

    def _place(
        self,
        part: Part,
        layer: int | None,
        head: int | None,
        name: str,
        x: Array,
        good: Array,
        c: int,
    ) -> Place:
        off = np.nan_to_num(np.abs(_wide(x) - good), nan=np.inf)[0, :, c]
        row = int(off.argmax())
        return Place(part, layer, head, name, row, float(x[0, row, c]), float(good[0, row, c]))

    def _label(self, c: int, layer: int) -> str:
        return self.t.coordinates[c].label(layer) or f"number {c}"


def _wide(x: Array) -> Array:
    return np.asarray(x, np.float64)


def attention_of(layer: Layer) -> Layer:
    """A layer without its feed-forward part."""
    d = layer.query.shape[2]
    none = np.zeros(0)
    return replace(
        layer,
        into=Sparse.of((0, d), ()),
        into_bias=none,
        out=Sparse.of((d, 0), ()),
        out_bias=np.zeros(d),
    )


def gates_of(layer: Layer) -> Layer:
    """A layer without its heads."""
    d = layer.query.shape[2]
    return replace(
        layer,
        labels=(),
        kinds=(),
        masks=(),
        laws=(),
        query=Sparse.of((0, 0, d), ()),
        key=Sparse.of((0, 0, d), ()),
        value=Sparse.of((0, 0, d), ()),
        output=Sparse.of((0, d, 0), ()),
    )


def only(layer: Layer, h: int) -> Layer:
    """The attention of one head of a layer."""

    def of_head(tensor: Sparse) -> Sparse:
        return Sparse.from_dense(tensor.dense()[h : h + 1])

    return replace(
        attention_of(layer),
        labels=layer.labels[h : h + 1],
        kinds=layer.kinds[h : h + 1],
        masks=layer.masks[h : h + 1],
        laws=layer.laws[h : h + 1],
        query=of_head(layer.query),
        key=of_head(layer.key),
        value=of_head(layer.value),
        output=of_head(layer.output),
    )
