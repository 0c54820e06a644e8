"""What coordinates are said to hold, they hold: beside the runtime, on words, by definition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.io.errors import SofthatError, VoidError
from softhat.logic.random import random_formula
from softhat.numerics.formats import format_of
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.cells import Bit, Cell, Feature, Raw, Zero
from softhat.proof.check import certify
from softhat.proof.derivation import Derivation
from softhat.proof.ledger import Loaded
from softhat.proof.lengths import Proof
from softhat.runtime.dense import Ready
from softhat.runtime.trace import trace
from softhat.transformer.weights import Sparse, Transformer, law_of_sharpness
from tests.proof.planting import with_unit
from tests.slices import every


class Layers(Derivation):
    """What coordinates hold before the first layer, and after each."""

    def __init__(self, t: Transformer) -> None:
        super().__init__(t, Atoms(Space(t.symbols, t.propositional)), Proof())
        self.streams: list[list[Cell]] = []
        self.streams.append(self.embedding())
        for layer in self.ledger.layers:
            self.streams.append(self.through(layer, self.streams[-1]))


def holds(space: Space, function: int, word: str, i: int) -> bool:
    """A function at position i, from 1, its atoms by their definition."""
    n, values = len(word), dict[Any, Any]()
    for key in space.atoms_in(function):
        match key:
            case ("first",):
                value = i == 1
            case ("last",):
                value = i == n
            case ("mod", modulus, remainder):
                value = i % modulus == remainder
            case ("previous", direction, inner):
                j = i - 1 if direction == "past" else i + 1
                value = 1 <= j <= n and holds(space, inner, word, j)
            case ("since", direction, bad, inner):
                value = False
                for j in range(i, 0, -1) if direction == "past" else range(i, n + 1):
                    if holds(space, inner, word, j):
                        value = True
                    if value or not holds(space, bad, word, j):
                        break
            case ("at least", counts, position, length, threshold):
                ranges = {"past": (1, i), "future": (i, n), "total": (1, n)}
                total = position * i + length * n
                for (over, counted), a in counts:
                    start, end = ranges[over]
                    total += a * sum(holds(space, counted, word, j) for j in range(start, end + 1))
                value = total >= threshold
        values[key] = np.array([value])
    return bool(space.values(function, np.array([space.rank[word[i - 1]]]), values)[0])


def check_streams(t: Transformer, words: list[str]) -> None:
    """Cells beside the residual stream of the runtime, layer by layer."""
    derived = Layers(t)
    space, ready = derived.atoms.space, Ready(t, format_of("float64"))
    for word in words:
        seen = trace(ready, np.array([t.symbols.index(c) for c in word]))
        for cells, stream in zip(derived.streams, seen.residual, strict=True):
            own = stream[t.own(len(word))]
            for at, cell in enumerate(cells):
                match cell:
                    case Zero():
                        assert not stream[:, at].any()
                    case Feature("1", 0):
                        assert (stream[:, at] == 1).all()
                    case Bit(function) | Raw(function):
                        wanted = [holds(space, function, word, i + 1) for i in range(len(word))]
                        off = 0.0 if isinstance(cell, Bit) else 0.25
                        assert np.abs(own[:, at] - wanted).max() <= off, (at, word)


@pytest.mark.parametrize("seed", every(12, range(300)))
def test_what_coordinates_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    family = ("two-way", "counting", "past-counting")[seed % 3]
    formula = random_formula(rng, 4 + seed % 9, "ab", family)
    attention = ("unbounded", "temperature", "hard")[seed // 3 % 3]
    try:
        t = softhat.compile(formula, alphabet="ab", attention=attention).transformer
    except SofthatError:
        return  # hard attention has no mean
    check_streams(t, ["a", "b", "ab", "ba", "aab", "".join(rng.choice(["a", "b"], 7))])


def model_with_gates() -> Transformer:
    return softhat.compile("Y ((Y a | O b) & (Y b | O a))", alphabet="ab").transformer


def changed(t: Transformer, number: int, name: str, array: np.ndarray) -> Transformer:
    layer = replace(t.layers[number], **{name: Sparse.from_dense(array)})
    return replace(t, layers=(*t.layers[:number], layer, *t.layers[number + 1 :]))


def test_what_heads_write() -> None:
    """Each value as it is, and alone."""
    t = model_with_gates()
    streams = Layers(t).streams
    output = t.layers[0].output.dense()
    (h, at, row), (other_head, another, other_row) = np.argwhere(output)[:2].tolist()
    used = next(c for c, cell in enumerate(streams[0]) if isinstance(cell, Feature))
    wanted: list[tuple[float, list[int], str]] = [
        (0.0, [], "each value to a coordinate of its own")
    ]
    wanted += [(2.0, [], "scales what it writes")]
    wanted += [(0.0, [used], f"writes coordinate {used}, which is in use")]
    wanted += [(1.0, [another], "each value to a coordinate of its own")]
    for weight, others, reason in wanted:
        written = output.copy()
        written[h, at, row] = weight
        written[h, others, row] = 1.0
        with pytest.raises(VoidError, match=reason):
            Layers(changed(t, 0, "output", written))
    together = output.copy()  # two values of one head go to one coordinate
    assert other_head == h
    together[h, another, other_row], together[h, at, other_row] = 0.0, 1.0
    with pytest.raises(VoidError, match="each value to a coordinate of its own"):
        Layers(changed(t, 0, "output", together))


def test_a_unit_that_writes_nothing() -> None:
    t = model_with_gates()
    with pytest.raises(VoidError, match="writes nothing"):
        Layers(with_unit(t, 0, {0: 1.0}, -0.5, {}))


def test_what_is_added_where_there_are_no_units() -> None:
    """The walk passes over such a feed-forward, and the ledger does not."""
    model = softhat.compile("Y a", alphabet="ab")
    t = model.transformer
    number = next(k for k, layer in enumerate(t.layers) if not len(layer.into_bias))
    bias = np.zeros(t.d_model)
    bias[-1] = 1.0
    layer = replace(t.layers[number], out_bias=bias)
    planted = replace(t, layers=(*t.layers[:number], layer, *t.layers[number + 1 :]))
    derived = Layers(planted)
    with pytest.raises(VoidError, match=f"layer {number}: out_bias is accounted for by nothing"):
        derived.margins(derived.streams[-1])


def test_a_step_takes_its_weights_once() -> None:
    derived = Layers(model_with_gates())
    again: Loaded = derived.ledger.layers[0]
    with pytest.raises(VoidError, match="is accounted for twice"):
        derived.through(again, derived.streams[0])


def test_a_head_that_is_another_where_its_weights_underflow() -> None:
    """The row that rules keys out is tiny in its queries and large in its keys: the same in the
    reals. In float16 it is 0, and nothing is ruled out."""
    model = softhat.compile("!b S a", alphabet="abc", attention="temperature")
    t = model.transformer
    layer = t.layers[0]
    query, key = layer.query.dense(), layer.key.dense()
    bits = [at for at, cell in enumerate(Layers(t).streams[0]) if isinstance(cell, Bit)]
    (ruling,) = {int(row) for _, row, at in np.argwhere(key) if at in bits}
    query *= 2.0**-15
    key *= 2.0**-15
    query[:, ruling] *= 2.0**-17
    key[:, ruling] *= 2.0**17
    law = law_of_sharpness(layer.sharpness[0] * 2.0**30, "temperature")
    tiny = changed(changed(t, 0, "query", query), 0, "key", key)
    tiny = replace(tiny, layers=(replace(tiny.layers[0], laws=(law,)), *tiny.layers[1:]))
    (head,) = Layers(tiny).proof.heads
    assert head.by_format["float16"] == "its weights are not representable"
    assert head.by_format["float64"] == head.kind
    certificate = certify(tiny, model.formulas)
    assert not certificate.void and certificate.max_length["float64"] > 100
    assert certificate.max_length["float16"] == 0
