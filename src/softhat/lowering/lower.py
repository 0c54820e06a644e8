"""Scheduled program to weights.

Heads come from `heads`; here are the gates, the embeddings and the read-out, and the step from
named coordinates to matrices.
"""

from __future__ import annotations

import numpy as np

from softhat.lowering import heads as kinds
from softhat.lowering.heads import ORDINARY, Key, Row, SignTerms, Units
from softhat.positions import Feature, Mod, Named, text
from softhat.program.heads import Average, Latest, Previous, Sign
from softhat.program.inputs import FirstPosition, LastPosition, PositionMod, TokenIn
from softhat.program.literals import Literal
from softhat.program.registers import Allocation, Register, read, stored_layers
from softhat.program.schedule import AT_THE_END, Cover, HeadGroup, Schedule, Term
from softhat.program.signals import Program
from softhat.transformer.weights import (
    BOS,
    EOS,
    Attention,
    Coordinate,
    Layer,
    Mask,
    Sparse,
    Transformer,
)

SHARPNESS = 4.0
"""C: leak e^-4 = 0.0183 for Latest, and C' = 4C for Sign. A power of two keeps scores exact."""
LOW, HIGH = 1 / 4, 3 / 8
"""A clip is 8(ReLU(s - 1/4) - ReLU(s - 3/8)): 0 up to 1/4, 1 from 3/8 on. For s within 1/8
below and 1/4 above an integer >= 1 both units lie in one binade, so that rounding moves them
alike and their difference is exactly 1/8: stored bits are exactly 0 or 1 in every format."""

FIXED = {
    text(feature): feature
    for feature in (
        *(Named(name) for name in ("1", "ordinary", "i", "r")),
        *(Named(name, scaled=True) for name in ("i", "r", "ordinary")),
        Named("(-1)^i"),
        Named("(-1)^i", scaled=True),
    )
}


def lower(
    program: Program, schedule: Schedule, allocation: Allocation, attention: Attention
) -> Transformer:
    """The transformer of a scheduled program for one target."""
    return _Lowering(program, schedule, allocation, attention).run()


class _Lowering:
    def __init__(
        self, program: Program, schedule: Schedule, allocation: Allocation, attention: Attention
    ) -> None:
        self.program = program
        self.schedule = schedule
        self.allocation = allocation
        self.attention: Attention = attention
        self.units = Units(scaled=attention == "temperature")
        self.stored = stored_layers(program, schedule)
        self.scales: dict[int, float] = {}  # Average signal -> power of two it is divided by

    def run(self) -> Transformer:
        layers = [self._layer(number) for number in range(1, len(self.schedule.layers) + 1)]
        outputs = [self._readout(cover) for _, cover in self.schedule.outputs]
        used = {key for layer in layers for key in layer.read()}
        used |= {key for row, _ in outputs for key in row}
        fixed = [name for name in FIXED if name in used]
        self.place: dict[Key, int] = {name: at for at, name in enumerate(fixed)}
        for register, at in self.allocation.coordinate.items():
            self.place[register] = len(fixed) + at
        d_model = len(fixed) + self.allocation.count
        positions, position_embedding = self._positions(fixed, d_model)
        return Transformer(
            attention=self.attention,
            symbols=self.program.symbols,
            propositional=self.program.propositional,
            sinks=(BOS, EOS) if self._needs_eos() else (BOS,),
            positions=positions,
            embedding=self._embedding(d_model),
            position_embedding=position_embedding,
            layers=tuple(layer.build(self.place, d_model) for layer in layers),
            outputs=tuple(name for name, _ in self.schedule.outputs),
            readout=_matrix([row for row, _ in outputs], self.place, d_model),
            readout_bias=np.array([bias for _, bias in outputs]),
            coordinates=self._coordinates(fixed, d_model),
        )

    def _needs_eos(self) -> bool:
        for signal in self.program.signals:
            match signal:
                case Latest(_, _, "future") | Previous(_, "future"):
                    return True
                case Average(_, over) if over != "past":
                    return True
        return False

    # Layers

    def _layer(self, number: int) -> _Rows:
        scheduled = self.schedule.layers[number - 1]
        rows = _Rows()
        for group in scheduled.heads:
            self._head(group, rows)
        complement = False
        for gate in scheduled.gates:
            target = Register(gate.signal, False)
            for term in gate.cover.terms:
                row = self._sum(term, number)
                weight = -8.0 if gate.cover.complement else 8.0
                rows.hidden(row, -LOW, {target: weight})
                rows.hidden(row, -HIGH, {target: -weight})
            if gate.cover.complement:
                rows.out_bias[target] = 1.0
                complement = True
        if complement:  # one minus a sum is 1 at the sinks: take it off there
            off: Row = {
                Register(gate.signal, False): -1.0
                for gate in scheduled.gates
                if gate.cover.complement
            }
            rows.hidden({"ordinary": -1.0}, 1.0, off)
        for register in self.allocation.clears[number - 1]:
            rows.hidden({register: 1.0}, 0.0, {register: -1.0})
            if register.raw and isinstance(self.program.signals[register.signal], Average):
                rows.hidden({register: -1.0}, 0.0, {register: 1.0})
        return rows

    def _sum(self, term: Term, layer: int) -> Row:
        """ordinary + Σ (x - 1 for a positive literal x) - Σ (x for a negated one).

        1 if all literals hold, at most 0 if one fails and, since everything read lies in
        [0, 1], at the sinks. The integer constant is a weight on `1`, not part of the bias, so
        that both are short numbers in every format.
        """
        row: Row = {"ordinary": 1.0}
        positive = sum(literal.positive for literal in term)
        if positive:
            row["1"] = -float(positive)
        for literal in term:
            register = read(self.stored, literal.signal, layer)
            row[register] = 1.0 if literal.positive else -1.0
        return row

    def _readout(self, cover: Cover) -> tuple[Row, float]:
        """The And of the literals minus 1/2; the negation of that for a complement."""
        (term,) = cover.terms
        row: Row = {}
        bias = 0.5 - len(term)  # 1 - k for the And, minus 1/2
        for literal in term:
            row[read(self.stored, literal.signal, AT_THE_END)] = 1.0 if literal.positive else -1.0
            bias += 0.0 if literal.positive else 1.0
        if cover.complement:
            return {key: -w for key, w in row.items()}, -bias
        return row, bias

    # Heads

    def _head(self, group: HeadGroup, rows: _Rows) -> None:
        sharpness = SHARPNESS * (2 if group.wide else 1)
        leader = self.program.signals[group.signals[0]]
        mask: Mask = "<="
        match leader:
            case Latest(bad, _, direction):
                query, key = kinds.latest(self._bit(bad), direction, sharpness, self.units)
                mask = "<=" if direction == "past" else ">="
                name = "Latest" if direction == "past" else "Earliest"
            case Previous(_, direction):
                query, key = kinds.previous(direction, sharpness, self.units)
                mask = "<=" if direction == "past" else ">="
                name = "Previous" if direction == "past" else "Next"
            case Average(_, over):
                query, key = [], []
                mask = "<=" if over == "past" else ">=" if over == "future" else "none"
                name = "Average"
            case Sign():
                future_only = leader.averages == (leader.future,)
                direction = "future" if future_only else "past"
                query, key = kinds.sign(self._compared(leader), direction, sharpness, self.units)
                mask = ">=" if future_only else "<="
                name = "Sign"
            case _:
                raise TypeError(f"not a head: {leader!r}")
        values = [self._value(at) for at in group.signals]
        targets = [Register(at, True) for at in group.signals]
        labels = "; ".join(self.program.labels[at] for at in group.signals)
        rows.heads.append((f"{name}: {labels}", name, mask, sharpness, query, key, values, targets))

    def _bit(self, literal: Literal) -> Row:
        """A stored bit or its negation, 0 at the sinks."""
        register = Register(literal.signal, False)
        if literal.signal < 0:
            return dict(ORDINARY) if literal.positive else {}
        return {register: 1.0} if literal.positive else {register: -1.0, **ORDINARY}

    def _value(self, at: int) -> Row:
        signal = self.program.signals[at]
        match signal:
            case Latest(_, value, _) | Previous(value, _):
                return self._bit(value)
            case Average(terms, _):
                scale = self._average_scale(at)
                return {_source(read): a / scale for a, read in terms}
            case _:
                return dict(ORDINARY)

    def _compared(self, sign: Sign) -> SignTerms:
        def row(average: int | None) -> Row | None:
            return None if average is None else {Register(average, True): self.scales[average]}

        for average in sign.averages:
            self._average_scale(average)
        falling = sign.future if sign.averages == (sign.future,) else sign.past
        opposed = 0.0 if falling is None else max(0.0, -self._range(falling)[0])
        if sign.future is not None and sign.future != falling:
            opposed += max(0.0, self._range(sign.future)[1])
        return SignTerms(
            past=row(sign.past),
            future=row(sign.future),
            total=row(sign.total),
            position=sign.position,
            length=sign.length,
            threshold=sign.threshold,
            opposed=opposed,
        )

    def _average_scale(self, at: int) -> float:
        """The power of two >= max |value|, so that averages lie in [-1, 1]."""
        if at not in self.scales:
            scale = 1.0
            low, high = self._range(at)
            while scale < max(high, -low):
                scale *= 2
            self.scales[at] = scale
        return self.scales[at]

    def _range(self, at: int) -> tuple[float, float]:
        """Bounds of Σ a·signal at a position: exact for token bits, safe for the others."""
        signal = self.program.signals[at]
        assert isinstance(signal, Average)
        by_symbol = dict.fromkeys(self.program.symbols, 0)
        high = low = constant = 0
        for a, source in signal.terms:
            origin = self.program.signals[source] if source >= 0 else None
            if origin is None:
                constant = a
            elif isinstance(origin, TokenIn) and not self.program.propositional:
                for symbol in origin.symbols:
                    by_symbol[symbol] += a
            else:
                high += max(a, 0)
                low += min(a, 0)
        high += constant + max(by_symbol.values(), default=0)
        low += constant + min(by_symbol.values(), default=0)
        return float(low), float(high)

    # Embeddings and names

    def _embedding(self, d_model: int) -> Sparse:
        rank = {symbol: at for at, symbol in enumerate(self.program.symbols)}
        entries = []
        for at, signal in enumerate(self.program.signals):
            register = Register(at, False)
            if isinstance(signal, TokenIn) and register in self.place:
                entries += [((rank[s], self.place[register]), 1.0) for s in signal.symbols]
        rows = len(rank) + (2 if self._needs_eos() else 1)
        return Sparse.of((rows, d_model), entries)

    def _positions(self, fixed: list[str], d_model: int) -> tuple[tuple[Feature, ...], Sparse]:
        features: list[Feature] = [FIXED[name] for name in fixed]
        entries = [((at, at), 1.0) for at in range(len(fixed))]
        for at, signal in enumerate(self.program.signals):
            register = Register(at, False)
            if register not in self.place:
                continue
            feature: Feature
            match signal:
                case FirstPosition():
                    feature = Named("first")
                case LastPosition():
                    feature = Named("last")
                case PositionMod(modulus, remainder):
                    feature = Mod(modulus, remainder, sinks=False)
                case _:
                    continue
            entries.append(((self.place[register], len(features)), 1.0))
            features.append(feature)
        return tuple(features), Sparse.of((d_model, len(features)), entries)

    def _coordinates(self, fixed: list[str], d_model: int) -> tuple[Coordinate, ...]:
        holds: list[list[tuple[int, str]]] = [[(0, name)] for name in fixed]
        holds += [[] for _ in range(d_model - len(fixed))]
        for number, layer in enumerate(self.schedule.layers, start=1):
            for group in layer.heads:
                for at in group.signals:
                    text = f"raw {self.program.labels[at]}"
                    holds[self.place[Register(at, True)]].append((number, text))
            for gate in layer.gates:
                text = self.program.labels[gate.signal]
                holds[self.place[Register(gate.signal, False)]].append((number, text))
        for at in range(len(self.program.signals)):
            register = Register(at, False)
            if self.stored.get(at) == 0 and register in self.place:
                holds[self.place[register]].insert(0, (0, self.program.labels[at]))
        return tuple(Coordinate(tuple(rows)) for rows in holds)


class _Rows:
    """A layer while its coordinates still have names."""

    def __init__(self) -> None:
        self.heads: list[
            tuple[str, str, Mask, float, list[Row], list[Row], list[Row], list[Register]]
        ] = []
        self.into: list[Row] = []
        self.into_bias: list[float] = []
        self.out: list[Row] = []
        self.out_bias: dict[Key, float] = {}

    def hidden(self, row: Row, bias: float, out: Row) -> None:
        self.into.append(row)
        self.into_bias.append(bias)
        self.out.append(out)

    def read(self) -> set[Key]:
        """The coordinates that this layer reads or writes."""
        rows = [*self.into, *self.out]
        for _, _, _, _, query, key, value, _ in self.heads:
            rows += [*query, *key, *value]
        return {key for row in rows for key in row}

    def build(self, place: dict[Key, int], d_model: int) -> Layer:
        d_k = max((len(head[4]) for head in self.heads), default=0)
        d_v = max((len(head[6]) for head in self.heads), default=0)
        count = len(self.heads)
        query: list[tuple[tuple[int, ...], float]] = []
        key: list[tuple[tuple[int, ...], float]] = []
        value: list[tuple[tuple[int, ...], float]] = []
        output: list[tuple[tuple[int, ...], float]] = []
        for h, (_, _, _, _, q_rows, k_rows, v_rows, targets) in enumerate(self.heads):
            for rows, entries in ((q_rows, query), (k_rows, key), (v_rows, value)):
                for r, row in enumerate(rows):
                    entries += [((h, r, place[at]), w) for at, w in row.items()]
            output += [((h, place[target], r), 1.0) for r, target in enumerate(targets)]
        out_bias = np.zeros(d_model)
        for at, bias in self.out_bias.items():
            out_bias[place[at]] = bias
        out = [((place[at], u), w) for u, row in enumerate(self.out) for at, w in row.items()]
        return Layer(
            labels=tuple(head[0] for head in self.heads),
            kinds=tuple(head[1] for head in self.heads),
            masks=tuple(head[2] for head in self.heads),
            sharpness=tuple(head[3] for head in self.heads),
            query=Sparse.of((count, d_k, d_model), query),
            key=Sparse.of((count, d_k, d_model), key),
            value=Sparse.of((count, d_v, d_model), value),
            output=Sparse.of((count, d_model, d_v), output),
            into=_matrix(self.into, place, d_model),
            into_bias=np.array(self.into_bias),
            out=Sparse.of((d_model, len(self.out)), out),
            out_bias=out_bias,
        )


def _source(signal: int) -> Key:
    """The coordinate of a stored bit; the constant true is 1 on ordinary positions."""
    return "ordinary" if signal < 0 else Register(signal, False)


def _matrix(rows: list[Row], place: dict[Key, int], d_model: int) -> Sparse:
    entries = [((r, place[at]), w) for r, row in enumerate(rows) for at, w in row.items()]
    return Sparse.of((len(rows), d_model), entries)
