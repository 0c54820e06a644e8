"""Heads as the proof reads them from a model's weights, beside what the weights then compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.numbers.positions import Feature
from softhat.numerics.formats import FORMATS, format_of
from softhat.program.draft import Draft
from softhat.program.evaluate import evaluate
from softhat.program.heads import Head
from softhat.program.schedule import schedule
from softhat.program.signals import Program
from softhat.proof.boolean import Space
from softhat.proof.cells import Cell
from softhat.proof.derivation import Returned, Sums
from softhat.proof.heads.kind import Kind
from softhat.proof.lengths import Proof
from softhat.proof.program_atoms import ProgramAtoms
from softhat.proof.softmax import Bound
from softhat.proof.values import ProgramDerivation
from softhat.runtime.dense import Ready
from softhat.runtime.trace import trace
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention, Sparse, Transformer

ATTENTIONS: tuple[Attention, ...] = ("unbounded", "temperature")


def one_head(made: Callable[..., Head], alphabet: str = "abc") -> Program:
    """The program of one head, made from the bits of the symbols."""
    draft = Draft(alphabet)
    head = made(*[draft.token([symbol]) for symbol in alphabet])
    return draft.finish({"out": draft.add(head, "head")})


def decided_far_away(seed: int) -> list[NDArray[np.int64]]:
    """Words for `a S b`: random ones, and the worst, b far away behind a's, which are ruled out."""
    n = 40
    far = np.array([1, *[0] * (n - 2), 2])
    some = np.random.default_rng(seed).integers(0, 3, n)
    return [some, np.ones(n, np.int64), far, far[::-1].copy()]


class _Attended(ProgramDerivation):
    """What coordinates held after the attention of the last layer that has some."""

    attended: list[Cell]

    def add(self, x: Any, y: Sums | Returned) -> list[Cell]:
        after = super().add(x, y)
        if isinstance(y, Returned):
            self.attended = after
        return after


class Derived:
    """What the proof derives from weights, layer by layer."""

    def __init__(self, t: Transformer) -> None:
        self.atoms = ProgramAtoms(Space(t.symbols, t.propositional))
        self.proof = Proof()
        walked = _Attended(t, self.atoms, self.proof)
        self.cells = walked.stream()
        self.attended = walked.attended

    def kind(self, name: str) -> Kind:
        """The one kind of this name."""
        found = {head.kind for head in self.proof.heads if head.kind.name == name}
        (kind,) = found
        return kind


def outputs_within_bounds(
    program: Program, attention: Attention, words: list[NDArray[np.int64]], dtype: str
) -> list[float]:
    """That every output of a head that is a bit is as near to it as the proof says, for words of
    this length; how large a share of the bound was reached."""
    t = lower(program, attention)
    heads = {(head.layer, head.head): head for head in Derived(t).proof.heads}
    ready = Ready(t, format_of(dtype))
    reached = []
    for word in words:
        exact = evaluate(program, word)
        seen = trace(ready, word)
        own = slice(1, len(word) + 1)
        for number, layer in enumerate(schedule(program).layers):
            for h, group in enumerate(layer.heads):
                kind = heads[number, h].by_format[dtype]
                assert isinstance(kind, Kind)
                bound = kind.bound(len(word), FORMATS[dtype])
                assert isinstance(bound, Bound), bound
                for column, at in enumerate(group.signals):
                    if exact[at].dtype != np.bool_:
                        continue
                    out = seen.head_outputs[number][h, own, column].astype(np.float64)
                    for value, bit in zip(out.tolist(), exact[at].tolist(), strict=True):
                        if bit:
                            assert 1 - bound.low <= value <= 1 + bound.over
                            reached.append((1 - value) / bound.low if bound.low else 0.0)
                        else:
                            assert 0 <= value <= bound.high
                            reached.append(value / bound.high if bound.high else 0.0)
    return reached


def scaled(
    t: Transformer,
    side: str,
    row: int,
    factor: float,
    layer: int = 0,
    feature: Feature | None = None,
) -> Transformer:
    """With one row of the query or key matrices of a layer multiplied, or its entry of one
    position feature."""
    old = t.layers[layer]
    matrix: Sparse = getattr(old, side)
    hit = matrix.where[1] == row
    if feature is not None:
        places = zip(*t.position_embedding.where, strict=True)
        (coordinate,) = (c for c, at in places if t.positions[at] == feature)
        hit &= matrix.where[2] == coordinate
    assert hit.any()
    values = np.where(hit, matrix.values * factor, matrix.values)
    changed = replace(old, **{side: Sparse(matrix.shape, matrix.where, values)})
    return replace(t, layers=(*t.layers[:layer], changed, *t.layers[layer + 1 :]))
