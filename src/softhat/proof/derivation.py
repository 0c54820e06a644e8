"""The walk of a transformer in what coordinates hold: how its weights say what they compute.

`numerics.walk` says which steps are taken, in which order. Here the numbers that they are taken in
are no numbers: a stream is a `Cell` for each coordinate, what is known of it at every position of
every word. `linear` leaves sums as they are written. `attend` recognises a head by its scores and
says what it returns, by the theorem of its kind. `add` says what the stream holds then; there
hidden units become gates. What fits no theorem voids the certificate. Heads and gates are noted in
a `Proof`, where number formats and lengths are looked for later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import isnan
from typing import Any

from softhat.io.errors import VoidError
from softhat.numbers.laws import ONE, Law
from softhat.numerics import walk
from softhat.numerics.formats import FORMATS, Format
from softhat.proof.atoms import Atoms
from softhat.proof.cells import Cell, Form, Groups, Rows, Zero, embedded
from softhat.proof.gates import stored
from softhat.proof.heads import recognise
from softhat.proof.heads.kind import Kind
from softhat.proof.heads.reading import HeadWeights
from softhat.proof.ledger import Ledger, Loaded
from softhat.proof.lengths import Proof, ProvedHead
from softhat.proof.void import reading
from softhat.transformer.weights import Transformer

Stream = list[Cell]


@dataclass(frozen=True, slots=True)
class Sums:
    """Weighted sums of numbers, and what is added to each."""

    of: Any
    rows: Rows
    bias: Form = field(default_factory=dict)

    def row(self, at: int) -> tuple[Form, float]:
        """The weights and the bias of one."""
        return self.rows.get(at, {}), self.bias.get(at, 0.0)


@dataclass(frozen=True, slots=True)
class ReluSums:
    """max(0, x) of sums of the stream."""

    inside: Sums


@dataclass(frozen=True, slots=True)
class Returned:
    """What the value rows of a head make it return; or what heads write, by coordinate."""

    cells: dict[int, Cell]


class Derivation(walk.Domain[Any]):
    """The walk's numbers: streams, sums and units of them, and what heads return."""

    def __init__(self, t: Transformer, atoms: Atoms, proof: Proof) -> None:
        self.t, self.atoms, self.proof = t, atoms, proof
        self.ledger = Ledger(t)
        self.layer = 0  # that is walked through

    # Transformers

    def embedding(self) -> Stream:
        """What coordinates hold before the first layer."""
        columns: Rows = {}
        for token, row in self.ledger.take("embedding").items():
            for at, weight in row.items():
                columns.setdefault(at, {})[token] = weight
        matrix = self.ledger.take("position_embedding")
        return walk.embedding(self, matrix, Sums(self.t.tokens, columns), self.t.positions)

    def through(self, layer: Loaded, stream: Stream) -> Stream:
        """What they hold after a layer."""
        self.layer = layer.layer
        stream = walk.attention(self, layer, stream)
        return walk.feed_forward(self, layer, stream) if layer.of.into_bias.size else stream

    def stream(self) -> Stream:
        """What they hold after all layers."""
        stream = self.embedding()
        for layer in self.ledger.layers:
            stream = self.through(layer, stream)
        return stream

    def margins(self, stream: Stream) -> dict[str, tuple[Form, float]]:
        """The weights and the bias of each output. Then all weights are accounted for."""
        matrix, bias = self.ledger.take("readout"), self.ledger.take("readout_bias")
        margins: Sums = walk.read_out(self, matrix, bias, stream)
        self.ledger.close()
        return {output: margins.row(at) for at, output in enumerate(self.t.outputs)}

    # Steps

    def linear(self, x: Any, matrix: Rows) -> Sums:
        return Sums(x, matrix)

    def shift(self, x: Sums, bias: Form) -> Sums:
        return replace(x, bias=bias)

    def relu(self, x: Sums) -> ReluSums:
        return ReluSums(x)

    def store(self, x: Any) -> Any:
        """What storing rounds is counted by the bounds of heads and gates."""
        return x

    def attend(self, query: Sums, key: Sums, value: Sums, head: Loaded) -> Returned:
        """What a head of a known kind returns. It is read as it is, and as each format stores it if
        its bound does not count the rounding of weights."""
        number = len(self.proof.heads)
        products = sorted(query.rows.keys() | key.rows.keys())
        weights = HeadWeights(
            self.t.attention,
            len(self.t.sinks),
            head.of.masks[head.head],
            head.of.sharpness[head.head],
            tuple(query.rows.get(row, {}) for row in products),
            tuple(key.rows.get(row, {}) for row in products),
            tuple(value.rows[row] for row in sorted(value.rows)),
        )
        recognised = partial(self.recognised, cells=query.of, number=number)
        with reading(head):
            weights = self.tempered(weights, query.of, head.of.laws[head.head])
            kind, returned = recognised(weights, level=(1 << 50) + (number << 20))

        def as_stored(form: Format) -> Kind | str:
            """The head with its weights as a format stores them, or why that proves nothing."""
            rows = [
                tuple({at: form.stored(w) for at, w in row.items()} for row in side)
                for side in (weights.query, weights.key)
            ]
            if rows == [weights.query, weights.key]:
                return kind
            loaded = replace(weights, query=rows[0], key=rows[1])
            try:
                again, the_same = recognised(loaded, level=1 << 60)
            except (VoidError, OverflowError, ValueError):
                return "its weights are not representable"
            return again if the_same == returned else "its weights are not representable"

        by_format = {
            form.name: kind if kind.bounds_weights else as_stored(form) for form in FORMATS.values()
        }
        label = head.of.labels[head.head]
        self.proof.heads.append(ProvedHead(head.layer, head.head, label, kind, by_format))
        return Returned(dict(zip(sorted(value.rows), returned, strict=True)))

    def tempered(self, weights: HeadWeights, cells: Stream, law: Law) -> HeadWeights:
        """A head at the inverse temperature of its law, which must be the one of compiled heads."""
        scaled = weights.attention == "temperature"
        if isnan(weights.sharpness) if scaled else law != ONE:
            expected = "C·P" if scaled else "1"
            raise VoidError(f"it has the inverse temperature {law.text}, not {expected}")
        return weights

    def recognised(
        self, weights: HeadWeights, cells: Stream, number: int, level: int
    ) -> tuple[Kind, list[Cell]]:
        """The kind of a head, and what each of its value rows makes it return."""
        return recognise(weights, cells, number, self.atoms, level)

    def gather(self, reads: Sequence[Returned], layer: Loaded) -> Returned:
        """Each value is written, as it is, to a coordinate of its own."""
        written: dict[int, Cell] = {}
        for head, returned in zip(layer.heads, reads, strict=True):
            output: Rows = head.output
            values = [value for row in output.values() for value in row]
            if any(weight != 1.0 for row in output.values() for weight in row.values()):
                raise VoidError(f"{head} scales what it writes")
            alone = len(output) == len(values) and not output.keys() & written.keys()
            if sorted(values) != sorted(returned.cells) or not alone:
                raise VoidError(f"{head} does not write each value to a coordinate of its own")
            written |= {at: returned.cells[value] for at, (value,) in output.items()}
        return Returned(written)

    def add(self, x: Any, y: Sums | Returned) -> Stream:
        match y:
            case Returned(written):
                if in_use := [at for at in written if not isinstance(x[at], Zero)]:
                    raise VoidError(
                        f"layer {self.layer} writes coordinate {in_use[0]}, which is in use"
                    )
                return [written.get(at, cell) for at, cell in enumerate(x)]
            case Sums(ReluSums(inside)):
                return self._stored(x, inside, y)
        return embedded(self.t, x.rows, y.rows, self.atoms)

    def _stored(self, cells: Stream, units: Sums, written: Sums) -> Stream:
        """Hidden units are gates: what they store in each coordinate that they write."""
        unread = units.rows.keys() | units.bias.keys()
        unread -= {unit for row in written.rows.values() for unit in row}
        if unread:
            raise VoidError(f"layer {self.layer}: hidden unit {min(unread)} writes nothing")
        reads = {unit: frozenset(row.items()) for unit, row in units.rows.items()}
        after = list(cells)
        for at in sorted(written.rows.keys() | written.bias.keys()):
            row, bias = written.row(at)
            groups: Groups = {}
            for unit, weight in row.items():
                group = groups.setdefault(reads.get(unit, frozenset()), [])
                group.append((units.bias.get(unit, 0.0), weight))
            with reading(f"layer {self.layer}: coordinate {at}"):
                after[at], clips = stored(at, groups, bias, cells, self.atoms, self.decoded)
            for clip in clips:
                self.proof.clips.setdefault((self.layer + 1, clip), f"a gate of layer {self.layer}")
        return after

    def decoded(self, units: Groups, cells: Stream) -> Cell:
        """What steps of numbers add up to: there are none in formulas."""
        raise VoidError("it reads a number")
